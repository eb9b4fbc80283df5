// The results board: shows what the table's messages say, and says when they cannot be trusted.

import { cardFace } from "/cards.js";
import { beadPlate, bigRoad } from "/roads.js";

const SILENT_S = 2.5;
const SIDES = ["punto", "banco"];
const NAMES = { punto: "Punto", banco: "Banco", egalite: "Egalite" };
const WHY = { unread: "A card is not read yet", review: "Under review", view: "The table was not in sight", hold: "On hold", incomplete: "Coup not finished" };

const $ = (id) => document.getElementById(id);
const told = {};
const results = new Map();
const alerts = new Map();
let tick = null;
let heard = performance.now();
let planned = false;

function make(tag, className, text) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
}

function take({ topic, payload }) {
  if (topic.startsWith("alert")) return takeAlert(topic, payload);
  if (topic === "coup/result" && payload) {
    if (told[topic] && told[topic].shoe !== payload.shoe) results.clear();
    results.set(payload.coup, payload);
  }
  if (payload) told[topic] = payload;
  else delete told[topic];
  if (topic === "coup/result") told[topic] = results.get(Math.max(...results.keys()));
}

function takeAlert(topic, payload) {
  const id = payload?.id ?? topic.slice("alert/".length);
  if (payload) alerts.set(id, { ...alerts.get(id), ...payload });
  else if (alerts.has(id)) alerts.get(id).state = "closed";
}

// What is wrong, the worst first; empty when everything on the board can be trusted.
function trouble() {
  if ((performance.now() - heard) / 1000 > SILENT_S) return "This page lost its link to the board";
  if (!tick) return "Connecting to the board";
  if (!tick.link) return "The board lost its link to the broker";
  const status = told.status;
  if (!status) return "Waiting for the reader";
  if (status.state === "offline") return "The reader is offline";
  if (status.state === "stopped") return "The reader has stopped";
  if (status.state === "blind") return "The reader cannot see the table";
  if (tick.silent_s > SILENT_S) return `The reader is silent for ${Math.round(tick.silent_s)} s`;
  return "";
}

function render() {
  planned = false;
  renderHead();
  const coup = currentCoup();
  for (const side of SIDES) renderHand(side, coup);
  renderVerdict(coup);
  renderRoads();
  renderCounts();
  renderResults();
  renderAlerts();
}

function renderHead() {
  const words = trouble();
  document.body.classList.toggle("stale", words !== "");
  setText("notice", words);
  setText("health", words ? "Not live" : "Live");
  setText("table", tick?.title ?? "Results board");
  setText("shoe", told.shoe?.shoe ?? "–");
  setText("coup", told["coup/live"]?.coup ?? told["coup/result"]?.coup ?? "–");
  const flags = [];
  if (told.shoe?.last_hand) flags.push("Last coup of the shoe");
  else if (told.shoe?.cut_card_seen) flags.push("Cut card out");
  if (told["coup/live"]?.free) flags.push("Free hand");
  setText("flags", flags.join(" · "));
}

// The running coup, with its result as soon as there is one.
function currentCoup() {
  const live = told["coup/live"];
  const result = told["coup/result"];
  const same = live && result && live.coup === result.coup && live.shoe === result.shoe;
  const over = result && (!live || same || cardsOf(live, "punto").length + cardsOf(live, "banco").length === 0);
  return { live: over && !same ? null : live, result: over ? result : null };
}

function cardsOf(told, side) {
  return told?.[side]?.cards ?? [];
}

function renderHand(side, { live, result }) {
  const source = result && result.state !== "void" ? result : live;
  const cards = cardsOf(source, side);
  const box = $(`${side}-cards`);
  const key = JSON.stringify(cards);
  if (box.dataset.key !== key) {
    const before = box.dataset.key ? JSON.parse(box.dataset.key) : [];
    box.replaceChildren(...cards.map((card, i) => {
      const face = cardFace(card);
      if (before[i] !== card) face.classList.add("new");
      return face;
    }));
    for (let i = cards.length; i < (cards.length > 3 ? cards.length : 2); i++) box.append(make("div", "place"));
    box.dataset.key = key;
  }
  setText(`${side}-points`, source?.[side]?.points ?? "");
  box.parentElement.classList.toggle("wins", result?.winner === side);
}

function renderVerdict({ live, result }) {
  const box = $("verdict");
  box.className = "";
  const details = [];
  if (result?.state === "void") {
    box.textContent = "Coup void";
    box.className = "pending";
  } else if (result?.state === "held") {
    box.textContent = "Result held";
    box.className = "pending";
    details.push(WHY[result.why] ?? "");
  } else if (result?.winner) {
    const tie = result.winner === "egalite";
    box.textContent = tie ? `Egalite ${result.egalite_points ?? ""}` : `${NAMES[result.winner]} wins`;
    box.className = result.winner;
    details.push(...marks(result));
    if (result.state === "corrected") details.push("Corrected result");
  } else {
    box.textContent = due(live);
  }
  setText("detail", details.filter(Boolean).join("\n"));
}

function marks(result) {
  const found = [];
  for (const side of SIDES) {
    const hand = result[side] ?? {};
    if (hand.natural) found.push(`${NAMES[side]} natural ${hand.points ?? ""}`.trim());
    if (hand.pair) found.push(`${NAMES[side]} pair`);
  }
  if (result.three_giving_eight) found.push("Three giving eight");
  return found;
}

// What the tableau says comes next, once both hands have two cards.
function due(live) {
  if (!live) return "Place your bets";
  if (live.complete) return "No more cards";
  const dealt = cardsOf(live, "punto").length + cardsOf(live, "banco").length;
  if (!dealt) return "Place your bets";
  const sides = new Set((live.expected ?? []).filter((slot) => slot.endsWith("_3")).map((slot) => slot.slice(0, 5).toLowerCase()));
  return dealt >= 4 && sides.size === 1 ? `${NAMES[[...sides][0]]} draws` : "Dealing";
}

function renderRoads() {
  const roads = told.roads ?? {};
  const rows = roads.rows ?? 6;
  const portrait = innerWidth < innerHeight;
  replace("bead", beadPlate(roads.bead_plate ?? [], rows, 14));
  replace("big", bigRoad(roads.big_road ?? [], rows, portrait ? 14 : 26, roads.leading_ties ?? 0));
}

function renderCounts() {
  const counts = told.roads?.counts ?? {};
  const shown = [
    ["punto", "Punto", counts.punto], ["banco", "Banco", counts.banco], ["egalite", "Egalite", counts.egalite],
    ["", "Punto pair", counts.punto_pair], ["", "Banco pair", counts.banco_pair], ["", "Natural", counts.natural],
  ];
  $("counts").replaceChildren(...shown.map(([className, name, count]) => {
    const item = make("div", className);
    item.append(make("dt", "", name), make("dd", "", count ?? 0));
    return item;
  }));
}

function renderResults() {
  const last = [...results.values()].sort((a, b) => b.coup - a.coup).slice(0, 8);
  $("results").replaceChildren(...last.map((result) => {
    const item = make("li", result.winner ?? "pending");
    item.append(make("small", "", result.coup));
    const score = `${result.punto?.points ?? "–"}:${result.banco?.points ?? "–"}`;
    const name = result.winner ? NAMES[result.winner] : result.state;
    item.append(`${name} ${score}${result.state === "corrected" ? " ✎" : ""}`);
    return item;
  }));
}

function renderAlerts() {
  const open = [...alerts.values()].filter((alert) => alert.state !== "closed").reverse();
  $("alerts-switch").hidden = !tick?.alerts;
  $("alerts-switch").classList.toggle("open", open.length > 0);
  setText("alerts-count", open.length);
  $("alert-list").replaceChildren(...open.map((alert) => {
    const item = make("li", `${alert.severity} ${["rectified", "lapsed"].includes(alert.state) ? "done" : ""}`);
    item.append(make("b", "", alert.text ?? alert.code));
    item.append(make("small", "", `coup ${alert.coup ?? "–"} · ${alert.code} · ${alert.severity} · ${alert.state ?? "raised"}`));
    return item;
  }));
  if (!open.length) $("alert-list").append(make("li", "", "No open alert"));
}

function setText(id, text) {
  const node = $(id);
  if (node.textContent !== String(text)) node.textContent = text;
}

function replace(id, drawing) {
  const box = $(id);
  if (box.firstChild?.outerHTML !== drawing.outerHTML) box.replaceChildren(drawing);
}

function plan() {
  if (planned) return;
  planned = true;
  requestAnimationFrame(render);
}

function listen(source) {
  source.addEventListener("reset", () => {
    for (const key of Object.keys(told)) delete told[key];
    results.clear();
    alerts.clear();
  });
  source.addEventListener("told", (event) => { heard = performance.now(); take(JSON.parse(event.data)); plan(); });
  source.addEventListener("tick", (event) => { heard = performance.now(); tick = JSON.parse(event.data); plan(); });
}

$("alerts-switch").addEventListener("click", () => {
  const shown = $("alerts").hidden;
  $("alerts").hidden = !shown;
  $("alerts-switch").setAttribute("aria-pressed", String(shown));
});
addEventListener("resize", plan);
setInterval(plan, 500);
listen(new EventSource("/events"));
