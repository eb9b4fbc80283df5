// The dealer strip: the card that is due next, the open alert in one sentence, and four buttons.

import { cardFace } from "/cards.js";
import { outcome } from "/house.js";
import { $, button, make, renderOnce, setText, titleOf, warn } from "/live.js";
import { follow, order, whoAmI } from "/session.js";
import { RANKS, SLOTS, SUITS, alertWords, cardText, rankText, slotName, languageInUse, word } from "/words.js";

let name = decodeURIComponent(location.pathname.match(/^\/dealer\/([^/]+)$/)?.[1] ?? "");
let live = null;
let coup = 0;
let keyed = { slot: "", rank: "", suit: "" };

function render() {
  name ||= live.tables.keys().next().value ?? "";
  const table = live.tables.get(name);
  warn(live.trouble(name));
  if (!table) return;
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
  if (result?.coup === running.coup && result.winner) return outcome(result);
  if (running.complete) return word("dealer.none");
  const expected = running.expected ?? [];
  if (expected.every((slot) => slot.endsWith("_3")) && expected.length) {
    const sides = expected.map((slot) => word(`side.${slot.slice(0, 5).toLowerCase()}`));
    return sides.length === 1 ? word("draws", { side: sides[0] }) : word("dealer.either");
  }
  return expected.length ? slotName(expected[0]) : "–";
}

function renderAlert(table) {
  const alerts = table.open;
  renderOnce($("alert"), JSON.stringify([languageInUse(), alerts]), () => {
    if (!alerts.length) return [];
    const [first] = alerts;
    const box = make("div", `one ${first.severity}`);
    box.append(make("span", "", alertWords(first)));
    if (first.slot && ["UNREAD", "MISREAD_RISK", "READ_CONFLICT"].includes(first.code)) {
      box.append(button("", word("dealer.key"), () => openPad(first.slot)));
    } else if (!first.acknowledged_by) {
      box.append(button("", word("dealer.seen"), () => give("ack_alert", { alert: first.id }, word("dealer.seen"))));
    }
    const parts = [box];
    if (alerts.length > 1) parts.push(make("small", "", word("dealer.more", { n: alerts.length - 1 })));
    return parts;
  });
}

async function give(what, fields, label) {
  setText("reply", `${label} …`);
  const why = await order(name, what, fields);
  setText("reply", why ? `${label}: ${why}` : `${label} ✓`);
}

// --- keying in a card ----------------------------------------------------------------------------

function openPad(slot = "") {
  keyed = { slot, rank: "", suit: "" };
  const choices = (part, values, shown) => $(`${part}s`).replaceChildren(...values.map((value) => {
    const key = button("", shown(value), () => { keyed[part] = value; mark(); });
    key.dataset.value = value;
    if (part === "suit") key.setAttribute("aria-label", word(`suit.${value}`));
    return key;
  }));
  choices("slot", SLOTS.toSorted((a, b) => b[0].localeCompare(a[0])), slotName);
  choices("rank", RANKS, rankText);
  choices("suit", Object.keys(SUITS), (suit) => SUITS[suit]);
  mark();
  $("pad").showModal();
}

function mark() {
  for (const part of ["slot", "rank", "suit"]) {
    for (const key of $(`${part}s`).children) key.setAttribute("aria-pressed", key.dataset.value === keyed[part]);
  }
  const whole = keyed.slot && keyed.rank && keyed.suit;
  $("send").disabled = !whole;
  setText("send", whole ? word("dealer.send", { place: slotName(keyed.slot), card: cardText(keyed.rank + keyed.suit) }) : "–");
}

const me = await whoAmI();
$("confirm").addEventListener("click", () => give("confirm", { coup }, word("dealer.confirm")));
$("call").addEventListener("click", () => give("call_inspector", {}, word("dealer.call")));
$("key").addEventListener("click", () => openPad());
$("cancel").addEventListener("click", () => $("pad").close());
$("send").addEventListener("click", () => {
  $("pad").close();
  give("correct_card", { coup, slot: keyed.slot, card: keyed.rank + keyed.suit }, word("dealer.key"));
});
live = follow(me, render);
live.name = name;
