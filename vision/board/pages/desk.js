// The surveillance desk: all tables at a glance, the queue of alerts, and the chosen alert or table.

import { alertActions, coupActions, shoeActions } from "/desk_actions.js";
import { alertFacts, tableFacts } from "/desk_detail.js";
import { alertPictures, coupStored, pictures } from "/desk_evidence.js";
import { keepTyped, report } from "/desk_forms.js";
import { openHistory, openSearch } from "/desk_history.js";
import { watchKeys } from "/desk_keys.js";
import { $, SEVERITIES, age, button, byGravity, clockTime, make, put, renderOnce, setText, titleOf, warn } from "/live.js";
import { follow, whoAmI } from "/session.js";
import { watchSound } from "/sound.js";
import { alertWords, slotName, word, wordOf } from "/words.js";

let me = null;
let chosen = { table: "", alert: "" };
let sound = null;
let live = null;
let routed = "";

function render() {
  warn(live.lost);
  setText("clock", clockTime(Date.now()));
  // Shoes and search list the tables, which are not known before the server's first event. One shoe's
  // page lists none: drawn again it would close what is open in it.
  const tables = [...live.tables.keys()].join();
  if (tables !== routed) {
    const draws = !routed || !showsShoe();
    routed = tables;
    $("search").replaceChildren();
    if (draws) route();
  }
  chooseFirst();
  renderTables();
  renderQueue();
  renderDetail();
}

// The first open alert is shown without a click; it stays until it is closed, or a person chooses another.
function chooseFirst() {
  const alert = live.tables.get(chosen.table)?.alerts.get(chosen.alert);
  const looking = chosen.table && (!chosen.alert || (alert && alert.state !== "closed"));
  if (looking || typing()) return;
  const [first] = queued();
  if (first) chosen = { table: first.table, alert: first.alert.id };
}

const typing = () => [...$("actions").querySelectorAll("input:not([type=checkbox])")].some((input) => input.value);

// What is open, the gravest first.
function queued() {
  return ranked().filter(({ table, alert }) => live.tables.get(table).open.includes(alert));
}

function renderTables() {
  const rows = [...live.tables].map(([name, table]) => ({
    name, title: titleOf(table, name), trouble: live.trouble(name), open: table.open.length,
    shoe: table.shoe?.shoe ?? "–", coup: table.live?.coup ?? table.result?.coup ?? "–",
    state: coupState(table), health: healthWords(table.topics.health), chosen: chosen.table === name && !chosen.alert,
  }));
  renderOnce($("tables"), JSON.stringify(rows), () => rows.map((row) => {
    const box = button(`table ${row.trouble ? "trouble" : ""}`, "", () => choose(row.name, ""));
    box.dataset.key = row.name;
    box.setAttribute("aria-pressed", row.chosen);
    box.append(make("b", "", row.title), make("span", "state", row.trouble ? word("stale") : word("live")));
    if (row.trouble) box.append(make("small", "", word(...row.trouble)));
    box.append(make("small", "", `${word("shoe")} ${row.shoe} · ${word("coup")} ${row.coup} · ${row.state}`), make("small", "", row.health));
    if (row.open) box.append(make("span", "count", word("desk.open", { n: row.open })));
    return box;
  }));
}

function coupState(table) {
  const { live: running, result } = table;
  if (result && (!running || running.coup === result.coup)) return result.winner ? word(`side.${result.winner}`) : wordOf("result", result.state);
  if (!running || running.punto.cards.length + running.banco.cards.length === 0) return word("desk.between");
  return word(running.complete ? "complete" : "desk.next", { slots: running.expected.map(slotName).join(" / ") });
}

function healthWords(health) {
  if (!health) return word("desk.no_figures");
  const p99 = health.event_ms?.p99;
  return [health.alerts_hidden ? word("desk.hidden", { n: health.alerts_hidden }) : "", word("desk.fps", { n: Math.round(health.fps ?? 0) }), p99 === undefined ? "" : word("desk.p99", { n: Math.round(p99) }),
    word("desk.unread", { n: health.cards_unread ?? 0 }), word("desk.unsent", { n: health.outbox ?? 0 })].filter(Boolean).join(" · ");
}

function ranked() {
  const all = [...live.tables].flatMap(([name, table]) => [...table.alerts.values()].map((alert) => ({ table: name, alert })));
  return all.sort((a, b) => byGravity(a.alert, b.alert));
}

function renderQueue() {
  const all = ranked();
  const open = queued();
  sound.note(open.filter(({ alert }) => alert.severity === "critical").map(({ table, alert }) => `${table}/${alert.id}`));
  const done = all.filter(({ alert }) => alert.state === "rectified");
  setText("open-count", open.length);
  $("open-count").classList.toggle("some", open.length > 0);
  setText("done-count", done.length);
  fill($("queue"), open, word("desk.no_alerts"));
  fill($("done"), done, word("desk.none"));
}

function fill(list, alerts, none) {
  const key = JSON.stringify(alerts.map(({ table, alert }) => [table, alert, chosen.alert === alert.id && chosen.table === table]));
  renderOnce(list, key, () => alerts.length ? alerts.map(({ table, alert }) => alertItem(table, alert)) : [make("li", "empty", none)]);
  // The clocks run on their own; nothing else is drawn again for them.
  for (const node of list.querySelectorAll(".age")) put(node, age(node.dataset.since));
}

function alertItem(name, alert) {
  const item = make("li");
  const box = button("alert", "", () => choose(name, alert.id));
  box.dataset.key = `${name}/${alert.id}`;
  box.setAttribute("aria-pressed", chosen.alert === alert.id && chosen.table === name);
  const since = make("span", "age");
  const severity = SEVERITIES.includes(alert.severity) ? alert.severity : "info";
  since.dataset.since = alert.raised_at;
  box.append(
    make("span", `severity ${severity}`, word(`severity.${severity}`)),
    make("span", "where", `${titleOf(live.tables.get(name), name)} · ${word("shoe")} ${alert.shoe} · ${word("coup")} ${alert.coup ?? "–"} · ${clockTime(alert.raised_at)}`), since,
    make("span", "text", alertWords(alert)), make("span", "due", dueWords(alert)),
  );
  item.append(box);
  return item;
}

function dueWords(alert) {
  const seen = alert.acknowledged_by ? ` · ${word("desk.acknowledged", { by: alert.acknowledged_by })}` : "";
  if (alert.state === "rectified") return [word("state.rectified"), alert.by, wordOf("remedy", alert.remedy)].filter(Boolean).join(", ");
  if (alert.state === "lapsed") return `${word("desk.passed", { at: clockTime(alert.deadline_at) })}${seen}`;
  return `${wordOf("due", alert.deadline)}${seen}`;
}

const earlier = new Map(); // coups of earlier shoes, as the server keeps them

// The coup of an alert, or the running one: its hands as they are published.
function coupShown(table, alert) {
  const is = (one) => one && (!alert || (one.shoe === alert.shoe && one.coup === alert.coup));
  const running = table?.live ?? table?.result;
  if (!alert) return table?.results.get(running?.coup) ?? running;
  const found = [table.results.get(alert.coup), table.live].find(is);
  const key = [chosen.table, alert.shoe, alert.coup].join();
  if (!found && alert.coup && !earlier.has(key)) {
    earlier.set(key, undefined);
    coupStored(chosen.table, alert.shoe, alert.coup).then((stored) => { earlier.set(key, stored?.results.at(-1)); live.plan(); });
  }
  return found ?? earlier.get(key);
}

let proven = ""; // what the pictures on the page are of

// They come later, that of the coup perhaps after the alert, so they are asked for, ever more rarely, while the alert is open here; those of one that is
// no longer chosen, or has more by now, are not shown.
async function showPictures(proof, alert) {
  const { table } = chosen;
  proven = proof;
  let there = 0;
  for (let wait = 0; alert; wait = Math.min(4 * wait + 2000, 30000)) {
    await new Promise((done) => setTimeout(done, wait));
    const shown = proven === proof ? await alertPictures(table, alert) : [];
    if (proven !== proof) return;
    const figures = [...$("evidence").children];
    if (shown.length > there) $("evidence").replaceChildren(...pictures(table, shown));
    else if (shown.length === figures.length) figures.forEach((one, i) => { if (one.querySelector(".empty")) one.replaceWith(...pictures(table, [shown[i]])); }); // it was not there when it was asked for
    there = shown.length;
  }
}

let acted = ""; // what the actions on the page are for

// Facts are drawn again with each change, but actions only when they differ; what somebody has typed there stays.
function renderDetail() {
  const table = live.tables.get(chosen.table);
  const alert = table?.alerts.get(chosen.alert);
  const coup = coupShown(table, alert);
  const dealt = [coup?.shoe, coup?.coup, coup?.punto?.cards, coup?.banco?.cards, coup?.winner];
  const none = [make("p", "empty", word("desk.choose"))];
  const facts = JSON.stringify([chosen, dealt, alert ?? [table?.live, table?.result, table?.shoe, table?.status]]);
  renderOnce($("facts"), facts, () => !table ? none : alert ? alertFacts(chosen.table, table, alert, coup) : tableFacts(chosen.table, table, coup?.coup ?? 0));
  const proof = JSON.stringify(alert ? [chosen, alert.evidence, alert.code] : []);
  renderOnce($("evidence"), proof, () => { showPictures(proof, alert); return []; });
  const stands = JSON.stringify([chosen, Boolean(alert), coup?.coup, alert?.state, alert?.acknowledged_by]);
  if (typing() && stands === acted) return;
  acted = stands;
  const others = alert ? [...table.alerts.values()].filter((one) => one.id !== alert.id && one.code === alert.code && one.state !== "closed").map((one) => one.id) : [];
  const build = () => !table ? [] : [
    ...(alert ? alertActions(chosen.table, alert, others, me) : []),
    ...(!alert || coup?.shoe === table.shoe?.shoe ? coupActions(chosen.table, table, coup, me, alert?.slot ?? alert?.expected?.[0]) : []),
    ...(alert ? [] : shoeActions(chosen.table, me)),
  ];
  keepTyped($("actions"), () => renderOnce($("actions"), JSON.stringify([stands, dealt, others]), build));
}

// Go on in the queue by so many alerts; what is chosen is in sight.
function step(by) {
  const all = queued();
  const at = all.findIndex(({ table, alert }) => table === chosen.table && alert.id === chosen.alert);
  const next = all[Math.min(all.length - 1, Math.max(0, at + by))];
  if (!next) return;
  choose(next.table, next.alert.id);
  requestAnimationFrame(() => document.querySelector("#queue [aria-pressed=true]")?.scrollIntoView({ block: "nearest" }));
}

function choose(table, alert) {
  chosen = { table, alert };
  report("");
  location.hash = "#alerts";
  live.plan();
}

const address = () => location.hash.slice(1).split("/").map(decodeURIComponent);

function showsShoe() {
  const [view, , shoe] = address();
  return view === "history" && Boolean(shoe);
}

function route() {
  const [view, ...rest] = address();
  const name = ["history", "search"].includes(view) ? view : "alerts";
  if (view === "table") chosen = { table: rest[0] ?? "", alert: "" };
  for (const other of ["alerts", "history", "search"]) {
    $(`to-${other}`).toggleAttribute("aria-current", false);
    if (other === name) $(`to-${other}`).setAttribute("aria-current", "page");
  }
  $("alerts").hidden = $("detail").hidden = name !== "alerts";
  $("history").hidden = name !== "history";
  $("search").hidden = name !== "search";
  if (name === "history" && (routed || !showsShoe())) openHistory($("history"), live, rest, me);
  if (name === "search") openSearch($("search"), live);
}

me = await whoAmI();
sound = watchSound($("sound"));
live = follow(me, render);
addEventListener("hashchange", route);
watchKeys(step);
route();
