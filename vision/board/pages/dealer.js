// The dealer strip: the card that is due next, the open alert in one sentence, and four buttons.

import { cardFace } from "/cards.js";
import { $, Live, make, renderOnce, setText, titleOf } from "/live.js";
import { eventsOf, logOut, order, watchSession, whoAmI } from "/session.js";
import { alertWords, slotName, speak, spoken, wanted, word } from "/words.js";

const SLOTS = ["PUNTO_1", "PUNTO_2", "PUNTO_3", "BANCO_1", "BANCO_2", "BANCO_3"];
const SUITS = { s: "♠", h: "♥", d: "♦", c: "♣" };
const SEVERITIES = ["critical", "warning", "advisory", "info"];

let name = decodeURIComponent(location.pathname.match(/^\/dealer\/([^/]+)$/)?.[1] ?? "");
let live = null;
let coup = 0;
let keyed = { slot: "", rank: "", suit: "" };

function render() {
  name ||= live.tables.keys().next().value ?? "";
  const table = live.tables.get(name);
  const trouble = live.trouble(name);
  document.body.classList.toggle("stale", trouble !== null);
  if (trouble) setText("notice", word(...trouble));
  const language = wanted || table?.house.language || "en";
  if (!table || language !== spoken()) {
    speak(language).then(() => live.plan());
    return;
  }
  setText("table", titleOf(table, name));
  const running = shownCoup(table);
  coup = running?.coup ?? 0;
  setText("coup", coup || "–");
  setText("due", due(table));
  for (const side of ["punto", "banco"]) {
    const cards = running?.[side]?.cards ?? [];
    renderOnce($(`${side}-cards`), JSON.stringify(cards), () => cards.map(cardFace));
    setText(`${side}-points`, running?.[side]?.points ?? "");
  }
  renderAlert(table);
}

// The running coup while it has cards, else the last one.
function shownCoup({ live: running, result }) {
  const cards = running ? running.punto.cards.length + running.banco.cards.length : 0;
  return cards || !result ? running : result;
}

function due({ live: running, result }) {
  if (!running) return "–";
  if (result?.coup === running.coup && result.winner) {
    return result.winner === "egalite" ? word("ties", { points: result.egalite_points }) : word("wins", { side: word(`side.${result.winner}`) });
  }
  if (running.complete) return word("dealer.none");
  const expected = running.expected ?? [];
  if (expected.every((slot) => slot.endsWith("_3")) && expected.length) {
    const sides = expected.map((slot) => word(`side.${slot.slice(0, 5).toLowerCase()}`));
    return sides.length === 1 ? word("draws", { side: sides[0] }) : word("dealer.either");
  }
  return expected.length ? slotName(expected[0]) : "–";
}

function mine(table) {
  return table.open.sort((a, b) => SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity) || String(a.raised_at).localeCompare(String(b.raised_at)));
}

function renderAlert(table) {
  const alerts = mine(table);
  renderOnce($("alert"), JSON.stringify([spoken(), alerts]), () => {
    if (!alerts.length) return [];
    const [first] = alerts;
    const box = make("div", `one ${first.severity}`);
    box.append(make("span", "", alertWords(first)));
    if (first.slot && ["UNREAD", "MISREAD_RISK", "READ_CONFLICT"].includes(first.code)) {
      box.append(press(word("dealer.key"), () => openPad(first.slot)));
    } else if (!first.acknowledged_by) {
      box.append(press(word("dealer.seen"), () => give("ack_alert", { alert: first.id }, word("dealer.seen"))));
    }
    const parts = [box];
    if (alerts.length > 1) parts.push(make("small", "", word("dealer.more", { n: alerts.length - 1 })));
    return parts;
  });
}

function press(text, action) {
  const button = make("button", "", text);
  button.type = "button";
  button.addEventListener("click", action);
  return button;
}

async function give(what, fields, label) {
  setText("said", `${label} …`);
  const why = await order(name, what, fields);
  setText("said", why ? `${label}: ${why}` : `${label} ✓`);
}

// --- keying in a card ----------------------------------------------------------------------------

function openPad(slot = "") {
  keyed = { slot, rank: "", suit: "" };
  const choices = (part, values, shown) => $(`${part}s`).replaceChildren(...values.map((value) => {
    const button = press(shown(value), () => { keyed[part] = value; mark(); });
    button.dataset.value = value;
    if (part === "suit") button.setAttribute("aria-label", word(`suit.${value}`));
    return button;
  }));
  choices("slot", SLOTS, slotName);
  choices("rank", [..."A23456789TJQK"], (rank) => (rank === "T" ? "10" : rank));
  choices("suit", Object.keys(SUITS), (suit) => SUITS[suit]);
  mark();
  $("pad").showModal();
}

function mark() {
  for (const part of ["slot", "rank", "suit"]) {
    for (const button of $(`${part}s`).children) button.setAttribute("aria-pressed", button.dataset.value === keyed[part]);
  }
  const whole = keyed.slot && keyed.rank && keyed.suit;
  $("send").disabled = !whole;
  setText("send", whole ? word("dealer.send", { place: slotName(keyed.slot), card: (keyed.rank === "T" ? "10" : keyed.rank) + SUITS[keyed.suit] }) : "–");
}

async function begin() {
  const me = await whoAmI();
  setText("who", me.name);
  $("leave").addEventListener("click", logOut);
  $("confirm").addEventListener("click", () => give("confirm", { coup }, word("dealer.confirm")));
  $("call").addEventListener("click", () => give("call_inspector", {}, word("dealer.call")));
  $("key").addEventListener("click", () => openPad());
  $("cancel").addEventListener("click", () => $("pad").close());
  $("send").addEventListener("click", () => {
    $("pad").close();
    give("correct_card", { coup, slot: keyed.slot, card: keyed.rank + keyed.suit }, word("dealer.key"));
  });
  live = new Live(eventsOf(me), render);
  watchSession(live);
}

begin();
