// Questions to the archive: a table, a plot of it, and the notes beside it.

import { $, make, options, setText } from "/live.js";
import { ask, whoAmI } from "/session.js";
import { plotOf } from "/plot.js";
import { translated, word, wordOf } from "/words.js";

let kinds = {};
let asked = 0;

function fill(select, group, names, chosen) {
  select.replaceChildren(...options(names.map((name) => [name, wordOf(group, name)]), chosen));
  select.disabled = names.length < 2;
}

function query() {
  const fields = { by: $("by").value, table: $("table").value.trim(), since: $("since").value, until: $("until").value };
  return new URLSearchParams(Object.entries(fields).filter(([, value]) => value));
}

async function show() {
  const kind = $("kind").value;
  const fields = query();
  const mine = ++asked;
  $("answer").classList.add("waits");
  setText("why", "");
  const { body, why } = await ask(`/api/report/${kind}?${fields}`);
  if (mine !== asked) return;
  $("answer").classList.remove("waits");
  history.replaceState(null, "", `#${kind}?${fields}`);
  $("csv").href = `/api/report/${kind}?${fields}${fields.size ? "&" : ""}format=csv`;
  setText("why", why);
  if (body) draw(kind, body);
}

// Names among the values: of faults, hands and the like; a deck or a table is as the house calls it.
function valueWords(value) {
  if (typeof value !== "string") return value;
  return translated(value, ["value", "fault"]).replace(/\b(punto|banco|egalite)\b/g, (side) => word(`side.${side}`));
}

// The first note of the frequencies has numbers, where the whole archive was asked.
const noteKey = (kind, { facts }, i) => (kind === "odds" && i === 0 && !facts.tests ? "note.odds.part" : `note.${kind}.${i}`);

function draw(kind, given) {
  const by = wordOf("col", $("by").value);
  const answer = { ...given, title: word(`title.${kind}`, { by }), rows: given.rows.map((row) => ({ ...row, [given.columns[0]]: valueWords(row[given.columns[0]]) })) };
  setText("title", answer.title);
  const heading = make("tr");
  const isNumber = Object.fromEntries(answer.columns.map((name) => [name, answer.rows.some((row) => typeof row[name] === "number")]));
  heading.append(...answer.columns.map((name) => {
    const cell = make("th", isNumber[name] ? "number" : "", wordOf("col", name));
    cell.scope = "col";
    return cell;
  }));
  const rows = answer.rows.map((row) => {
    const line = make("tr");
    line.append(...answer.columns.map((name) => make("td", isNumber[name] ? "number" : name === "alarm" ? "alarm" : "", valueWords(row[name]) ?? "–")));
    return line;
  });
  $("figures").replaceChildren(heading, ...rows);
  $("plot").replaceChildren(...plotOf(answer));
  $("notes").replaceChildren(...answer.notes.map((_, i) => make("li", "", word(noteKey(kind, answer, i), answer.facts))));
}

async function begin() {
  await whoAmI();
  const { body, why } = await ask("/api/reports");
  if (!body) {
    setText("why", why);
    return;
  }
  kinds = body;
  const [kind, words] = location.hash.slice(1).split("?");
  const given = new URLSearchParams(words);
  fill($("kind"), "kind", Object.keys(kinds), kind in kinds ? kind : "misdeals");
  fill($("by"), "col", kinds[$("kind").value], given.get("by"));
  for (const name of ["table", "since", "until"]) $(name).value = given.get(name) ?? "";
  $("kind").addEventListener("change", () => { fill($("by"), "col", kinds[$("kind").value]); show(); });
  $("by").addEventListener("change", show);
  $("form").addEventListener("submit", (event) => { event.preventDefault(); show(); });
  show();
}

begin();
