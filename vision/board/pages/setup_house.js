// The house's rules of one table: which sheet, how cards are dealt, and what guests are shown as limits.

import { $, options, setText } from "/live.js";
import { ask } from "/session.js";
import { word, wordOf } from "/words.js";

const FIELDS = ["profile", "dealing", "least", "greatest", "currency"];
const url = `/api/setup/${location.pathname.split("/").pop()}/house`;

function show(rules, asked) {
  asked(rules.asked);
  $("profile").replaceChildren(...options(Object.entries(rules.profiles).map(([name, line]) => [name, `${name}. ${line}`])));
  $("dealing").replaceChildren(...options(rules.dealings.map((name) => [name, wordOf("dealing", name)])));
  for (const field of FIELDS) $(field).value = rules[field] ?? "";
}

async function save(event, asked) {
  event.preventDefault();
  const given = Object.fromEntries(FIELDS.map((field) => [field, $(field).type === "number" && $(field).value ? Number($(field).value) : $(field).value]));
  const { body, why } = await ask(url, given);
  if (body) show(body, asked);
  setText("house-saved", why || word("setup.house_saved"));
}

// Calls `asked` with whether the table file names its rules.
export async function beginHouse(asked) {
  const { body } = await ask(url);
  if (!body) return;
  show(body, asked);
  $("house").addEventListener("submit", (event) => save(event, asked));
}
