// Questions to the archive: a table, a plot of it, and what must be said beside it.

import { $, make, setText } from "/live.js";
import { ask, logOut, whoAmI } from "/session.js";
import { plotOf } from "/plot.js";

let kinds = {};
let asked = 0;

function fill(select, names, chosen) {
  select.replaceChildren(...names.map((name) => {
    const option = make("option", "", name);
    option.value = name;
    option.selected = name === chosen;
    return option;
  }));
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
  if (body) draw(body);
}

function draw(answer) {
  setText("title", answer.title);
  const heading = make("tr");
  const isNumber = Object.fromEntries(answer.columns.map((name) => [name, answer.rows.some((row) => typeof row[name] === "number")]));
  heading.append(...answer.columns.map((name) => {
    const cell = make("th", isNumber[name] ? "number" : "", name.replaceAll("_", " "));
    cell.scope = "col";
    return cell;
  }));
  const rows = answer.rows.map((row) => {
    const line = make("tr");
    line.append(...answer.columns.map((name) => make("td", isNumber[name] ? "number" : name === "alarm" ? "alarm" : "", row[name] ?? "–")));
    return line;
  });
  $("figures").replaceChildren(heading, ...rows);
  $("plot").replaceChildren(...plotOf(answer));
  $("notes").replaceChildren(...answer.notes.map((note) => make("li", "", note)));
}

async function begin() {
  const me = await whoAmI();
  setText("who", `${me.name}, ${me.role}`);
  $("leave").addEventListener("click", logOut);
  const { body, why } = await ask("/api/reports");
  if (!body) {
    setText("why", why);
    return;
  }
  kinds = body;
  const [kind, words] = location.hash.slice(1).split("?");
  const given = new URLSearchParams(words);
  fill($("kind"), Object.keys(kinds), kind in kinds ? kind : "misdeals");
  fill($("by"), kinds[$("kind").value], given.get("by"));
  for (const name of ["table", "since", "until"]) $(name).value = given.get(name) ?? "";
  $("kind").addEventListener("change", () => { fill($("by"), kinds[$("kind").value]); show(); });
  $("by").addEventListener("change", show);
  $("form").addEventListener("submit", (event) => { event.preventDefault(); show(); });
  show();
}

begin();
