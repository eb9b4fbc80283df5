// The results board: shows the state of the table, and warns when it cannot be trusted.

import { cardFace } from "/cards.js";
import { dress, limits, outcome, setting, tableNames } from "/house.js";
import { $, Live, make, renderOnce, setText, titleOf, warn } from "/live.js";
import { askedMark, beadPlate, bigRoad, columnsIn, derivedRoad } from "/roads.js";
import { tones } from "/sound.js";
import { named, useBoardsLanguage, languageInUse, translated, word } from "/words.js";

const SIDES = ["punto", "banco"];
const DERIVED = ["big_eye_boy", "small_road", "cockroach_pig"];
const LAYOUTS = {
  wide: { bead: 13, big: 28, derived: { big_eye_boy: 26, small_road: 26, cockroach_pig: 18 } },
  tall: { bead: 20, big: 28, derived: { big_eye_boy: 15, small_road: 15, cockroach_pig: 15 } },
};

const isOn = (table, key) => ["1", "true"].includes(String(setting(table, key)));

let dressed = ""; // in which language
let name = decodeURIComponent(location.pathname.match(/^\/table\/([^/]+)$/)?.[1] ?? "");

function render(live) {
  const table = live.tables.get(name);
  const trouble = live.trouble(name);
  warn(trouble);
  setText("health", word(trouble ? "stale" : "live"));
  if (!table) return;
  if (dressed !== languageInUse()) {
    dressed = languageInUse();
    dress(table);
    document.body.dataset.view = setting(table, "view") || "result";
  }
  const coup = currentCoup(table);
  renderHead(table, coup);
  for (const side of SIDES) renderHand(side, coup);
  renderVerdict(coup);
  renderRoads(table);
  renderCounts(table);
  renderOdds(table);
  renderPrevious(table, coup);
  ring(table);
}

// A shoe is named by the moment at which it began; people call it by the hour and minute of that.
const shortShoe = (shoe) => shoe?.match(/^\d{8}-(\d{4})\d{2}$/)?.[1] ?? shoe;

// A sound for a new result, where the house wants them; none for the first that the page hears of, which may be old.
let rung = null;
function ring(table) {
  const coup = table.result?.winner ? `${table.result.shoe} ${table.result.coup}` : rung;
  if (rung !== null && coup !== rung && isOn(table, "sound")) tones([[660, 0], [880, 0.18]]);
  rung = coup;
}

function renderHead(table, { live, result }) {
  setText("table", titleOf(table, name));
  document.title = $("table").textContent;
  setText("shoe", shortShoe(table.shoe?.shoe) || "–");
  $("shoe").title = table.shoe?.shoe ?? "";
  setText("coup", result?.coup ?? live?.coup ?? "–");
  const banners = [];
  if (table.shoe?.ended) banners.push("banner.ended");
  else if (table.shoe?.last_hand) banners.push("banner.last");
  else if (table.shoe?.cut_card_seen) banners.push("banner.cut");
  if ((live ?? result)?.free) banners.push("banner.free");
  setText("banner", banners.map((key) => word(key)).join(" · "));
}

// The running coup, with its result as soon as there is one; between two coups the last result.
function currentCoup({ live, result }) {
  const same = live && result && live.coup === result.coup && live.shoe === result.shoe;
  const empty = !live || cardsOf(live, "punto").length + cardsOf(live, "banco").length === 0;
  if (result && (same || empty) && (!live || live.shoe === result.shoe)) return { live: null, result };
  return { live, result: null };
}

function cardsOf(coup, side) {
  return coup?.[side]?.cards ?? [];
}

function renderHand(side, { live, result }) {
  const source = result && result.state !== "void" ? result : live;
  const cards = cardsOf(source, side);
  const box = $(`${side}-cards`);
  const before = JSON.parse(box.dataset.cards ?? "[]");
  box.dataset.cards = JSON.stringify(cards);
  box.classList.toggle("more", cards.length > 3);
  renderOnce(box, `${languageInUse()} ${box.dataset.cards}`, () => cards.map((card, i) => {
    const face = cardFace(card);
    if (before[i] !== card) face.classList.add("new");
    return face;
  }));
  setText(`${side}-points`, source?.[side]?.points ?? "");
  box.parentElement.classList.toggle("wins", result?.winner === side);
}

function renderVerdict({ live, result }) {
  const box = $("verdict");
  const details = [];
  let kind = "";
  if (result?.state === "void" || result?.state === "held") {
    kind = "pending";
    setText("verdict", word(result.state));
    if (result.state === "held" && result.why) details.push(["", word(`held.${result.why}`)]);
  } else if (result?.winner) {
    kind = result.winner;
    setText("verdict", outcome(result));
    if (result.state === "corrected") details.push(["corrected", word("corrected")]);
    details.push(...marks(result).map((text) => ["", text]));
  } else {
    setText("verdict", due(live));
  }
  if (box.className !== kind) box.className = kind;
  renderOnce($("detail"), JSON.stringify(details), () => details.map(([style, text]) => make("li", style, text)));
}

function marks(result) {
  const found = [];
  for (const side of SIDES) {
    const hand = result[side] ?? {};
    const values = { side: word(`side.${side}`), points: hand.points };
    if (hand.natural) found.push(word("natural", values));
    if (hand.pair) found.push(word("pair", values));
  }
  if (result.three_giving_eight) found.push(word("three_giving_eight"));
  return found;
}

// The next card by the tableau, once both hands have two cards.
function due(live) {
  const dealt = cardsOf(live, "punto").length + cardsOf(live, "banco").length;
  if (!dealt) return word("bets");
  if (live.complete) return word("complete");
  const sides = new Set((live.expected ?? []).filter((slot) => slot.endsWith("_3")).map((slot) => slot.slice(0, 5).toLowerCase()));
  return dealt >= 4 && sides.size === 1 ? word("draws", { side: word(`side.${[...sides][0]}`) }) : word("dealing");
}

function fitted(rows) {
  const columns = (id) => columnsIn($(id), rows);
  return { bead: columns("bead"), big: columns("big"), derived: Object.fromEntries(DERIVED.map((id) => [id, columns(id)])) };
}

function renderRoads(table) {
  const roads = table.roads ?? {};
  const rows = roads.rows ?? 6;
  const fills = document.body.dataset.view === "roads";
  const { bead, big, derived } = fills ? fitted(rows) : LAYOUTS[innerWidth < innerHeight ? "tall" : "wide"];
  const corrected = new Set([...table.results.values()].filter((one) => one.state === "corrected").map((one) => one.coup));
  const key = JSON.stringify([languageInUse(), setting(table, "names"), bead, big, derived, roads, [...corrected]]);
  renderOnce($("bead"), key, () => [beadPlate(roads.bead_plate ?? [], { rows, columns: bead, corrected, marks: isOn(table, "marks") })]);
  renderOnce($("big"), key, () => [bigRoad(roads.big_road ?? [], { rows, columns: big, leadingTies: roads.leading_ties ?? 0 })]);
  for (const road of DERIVED) {
    renderOnce($(road), key, () => [derivedRoad(road, roads[road] ?? [], { rows, columns: derived[road] })]);
  }
  renderOnce($("ask"), key, () => ["banco", "punto"].flatMap((side) => [
    make("b", side, word(`letter.${side}`)),
    ...DERIVED.map((road) => askedMark(road, roads.ask?.[side]?.[road])),
  ]));
}

function renderCounts(table) {
  const counts = table.roads?.counts ?? {};
  const side = (key) => word(`side.${key}`);
  const rows = [
    ["punto", side("punto"), counts.punto], ["banco", side("banco"), counts.banco], ["egalite", side("egalite"), counts.egalite],
    ["", word("count.pair", { side: side("punto") }), counts.punto_pair], ["", word("count.pair", { side: side("banco") }), counts.banco_pair],
    ["", word("count.naturals"), counts.natural], ["", word("col.coups"), counts.coups],
  ];
  renderOnce($("counts"), JSON.stringify(rows), () => rows.map(([style, label, count]) => {
    const item = make("div", style);
    item.append(make("dt", "", label), make("dd", "", count ?? 0));
    return item;
  }));
}

// The wagers of the house's rules, shown only while the table plays by the same rules.
function renderOdds(table) {
  const { profile, offers = [], percent, currency = "" } = table.house;
  const same = !table.status?.profile || table.status.profile === profile;
  renderOnce($("odds"), JSON.stringify([languageInUse(), same, offers, percent, currency]), () => {
    if (!same) return [make("p", "", word("odds.changed"))];
    const singles = offers.filter((offer) => !/^egalite_\d$/.test(offer.bet));
    const egalites = offers.filter((offer) => /^egalite_\d$/.test(offer.bet));
    const parts = [offerTable(singles, currency)];
    if (egalites.length) parts.push(make("h3", "", [word("odds.egalites"), limits(egalites[0], currency)].filter(Boolean).join(" · ")), egaliteList(egalites));
    if (percent) parts.push(make("p", "chance", word("double_chance", { percent: percent.join("–") })));
    return parts;
  });
}

function offerTable(offers, currency) {
  const table = make("table");
  for (const offer of offers) {
    const row = make("tr");
    const label = make("th", "", named(translated(offer.name, ["bet", "side"])));
    label.scope = "row";
    const bounds = make("td");
    bounds.append(make("small", "", limits(offer, currency)));
    row.append(label, bounds, make("td", "pays", offer.odds));
    table.append(row);
  }
  return table;
}

function egaliteList(offers) {
  const list = make("ul");
  list.id = "egalites";
  for (const offer of offers) {
    const item = make("li");
    item.append(make("b", "", offer.bet.slice(-1)), make("span", "", offer.odds));
    list.append(item);
  }
  return list;
}

// The coup before the running one, and the last correction of an earlier coup.
function renderPrevious(table, { live, result }) {
  const coup = result?.coup ?? live?.coup ?? 0;
  const earlier = [...table.results.values()].filter((one) => one.coup < coup).sort((a, b) => b.coup - a.coup);
  const lines = [];
  if (live && earlier.length) lines.push(word("previous", { coup: earlier[0].coup, result: score(earlier[0]) }));
  const changed = earlier.filter((one) => one.revision > 0).sort((a, b) => String(a.at).localeCompare(String(b.at))).pop();
  if (changed?.state === "corrected") lines.push(word("corrected.earlier", { coup: changed.coup, result: score(changed) }));
  if (changed?.state === "void") lines.push(word("voided.earlier", { coup: changed.coup }));
  setText("previous", lines.join("\n"));
}

function score(result) {
  if (result.state !== "final" && result.state !== "corrected") return outcome(result);
  return `${outcome(result)} ${result.punto?.points ?? "–"}–${result.banco?.points ?? "–"}`;
}

await useBoardsLanguage();
name ||= (await tableNames())[0];
new Live(`/events/${encodeURIComponent(name)}`, render);
