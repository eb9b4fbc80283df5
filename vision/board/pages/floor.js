// The floor: every table as it stands, worst first; usable with a hundred.

import { $, SEVERITIES, age, clockTime, make, put, renderOnce, setText, titleOf, warn } from "/live.js";
import { follow, whoAmI } from "/session.js";
import { alertWords, faultName, languageInUse, word, wordOf } from "/words.js";

// From worst to best; what a table is ranked by first.
const GRADES = ["critical", "warning", "away", "held", "advisory", "info", "good"];
const gradeWord = (grade) => word(SEVERITIES.includes(grade) ? `severity.${grade}` : `grade.${grade}`);
const byName = new Intl.Collator([], { numeric: true }).compare;

let live = null;
const tiles = new Map();

// What a table is in, and what is reported of it.
function stateOf(name, table) {
  const { open } = table;
  const trouble = live.trouble(name);
  const held = table.result?.state === "held";
  const grades = [open[0]?.severity ?? "good", trouble ? "away" : "good", held ? "held" : "good"];
  const grade = grades.reduce((a, b) => (GRADES.indexOf(a) <= GRADES.indexOf(b) ? a : b));
  return { name, title: titleOf(table, name), grade, open, trouble, coup: coupOf(table) };
}

function coupOf(table) {
  const coup = table.live?.coup ?? table.result?.coup;
  const last = table.result;
  const won = last?.winner ? word(`side.${last.winner}`) : wordOf("result", last?.state);
  return [table.shoe?.shoe ? `${word("shoe")} ${table.shoe.shoe}` : "", coup ? `${word("coup")} ${coup}` : "", won].filter(Boolean).join(" · ");
}

function wordsOf(state) {
  const alert = state.open[0];
  if (alert) return alertWords(alert);
  return state.trouble ? word(...state.trouble) : "";
}

function tileOf(name) {
  if (!tiles.has(name)) {
    const item = make("li", "tile");
    const link = make("a");
    link.href = `/desk#table/${encodeURIComponent(name)}`;
    const parts = { title: make("b"), grade: make("span", "grade"), since: make("span", "since"), words: make("span", "words"), coup: make("small") };
    link.append(...Object.values(parts));
    item.append(link);
    tiles.set(name, { item, parts });
  }
  return tiles.get(name);
}

function show(state) {
  const { item, parts } = tileOf(state.name);
  const more = state.open.length > 1 ? ` ${word("dealer.more", { n: state.open.length - 1 })}` : "";
  if (item.className !== `tile ${state.grade}`) item.className = `tile ${state.grade}`;
  put(parts.title, state.title);
  put(parts.grade, gradeWord(state.grade));
  put(parts.since, state.open[0] ? `${age(state.open[0].raised_at)}${more}` : "");
  put(parts.words, wordsOf(state));
  put(parts.coup, state.coup);
  return item;
}

function fits(state, sought) {
  if ($("only").checked && state.grade === "good") return false;
  return !sought || `${state.title} ${state.name} ${wordsOf(state)} ${state.open.map((a) => faultName(a.code))}`.toLowerCase().includes(sought);
}

function render() {
  warn(live.lost);
  setText("clock", clockTime(Date.now()));
  const states = [...live.tables].map(([name, table]) => stateOf(name, table));
  states.sort((a, b) => GRADES.indexOf(a.grade) - GRADES.indexOf(b.grade) || byName(a.name, b.name));
  renderCounts(states);
  const sought = $("find").value.trim().toLowerCase();
  const items = states.filter((state) => fits(state, sought)).map(show);
  $("none").hidden = items.length > 0 || !states.length;
  place($("floor"), items);
}

// Move only what stands elsewhere: a page that is drawn again loses the place of keyboard and reader.
function place(list, items) {
  const shown = new Set(items);
  for (const node of [...list.children]) if (!shown.has(node)) node.remove();
  items.forEach((item, number) => {
    if (list.children[number] !== item) list.insertBefore(item, list.children[number] ?? null);
  });
}

function renderCounts(states) {
  const words = GRADES.map((grade) => [grade, states.filter((state) => state.grade === grade).length]).filter(([, n]) => n);
  renderOnce($("counts"), `${languageInUse()} ${words.join()}`, () => words.map(([grade, n]) => make("li", grade, `${gradeWord(grade)} ${n}`)));
}

live = follow(await whoAmI(), render);
for (const id of ["find", "only"]) $(id).addEventListener("input", () => live.plan());
