// Links to the board of each table, where a server has several.

import { $, make } from "/live.js";
import { speakAsBoards, word } from "/words.js";

await speakAsBoards();
const tables = await (await fetch("/tables")).json();
$("tables").replaceChildren(...tables.map(({ table, title }) => {
  const item = make("li");
  const link = make("a", "", title || word("table", { name: table }));
  link.href = `/table/${encodeURIComponent(table)}${location.search}`;
  item.append(link);
  return item;
}));
