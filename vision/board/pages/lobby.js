// All tables of a house for its guests: limits, roads, last result; each leads to its board.

import { dress, limits, outcome, tableNames } from "/house.js";
import { $, Live, make, renderOnce, titleOf } from "/live.js";
import { bigRoad, columnsIn } from "/roads.js";
import { useBoardsLanguage, languageInUse, word } from "/words.js";

let dressed = "";

function render(live) {
  const tables = [...live.tables];
  if (!tables.length) return;
  if (dressed !== languageInUse()) dress(tables[0][1]);
  dressed = languageInUse();
  // As many columns as make tiles about as wide as high, so that all of them are on the screen.
  const across = Math.max(1, Math.min(tables.length, Math.round(Math.sqrt((tables.length * innerWidth) / innerHeight / 1.6))));
  $("tables").style.setProperty("--across", across);
  $("tables").style.setProperty("--down", Math.ceil(tables.length / across));
  renderOnce($("tables"), tables.map(([name]) => name).join(), () => tables.map(([name]) => tile(name)));
  for (const [name, table] of tables) fill(document.getElementById(`at-${name}`), name, table, live.trouble(name));
}

function tile(name) {
  const item = make("li");
  const link = make("a");
  link.id = `at-${name}`;
  link.href = `/table/${encodeURIComponent(name)}${location.search}`;
  item.append(link);
  return item;
}

function fill(box, name, table, trouble) {
  const { result, roads } = table;
  const last = result ? outcome(result) : "";
  const score = result?.winner ? `${result.punto?.points ?? "–"}–${result.banco?.points ?? "–"}` : "";
  box.classList.toggle("away", trouble !== null);
  renderOnce(box, JSON.stringify([languageInUse(), trouble?.[0], last, score]), () => {
    const head = make("p", "head");
    head.append(make("b", "", titleOf(table, name)), make("span", "limits", limitsOf(table)));
    const foot = make("p", "foot");
    foot.append(make("b", result?.winner ?? "", trouble ? word(...trouble) : last), make("span", "", trouble ? "" : score));
    return [head, make("div", "road"), foot];
  });
  const road = box.querySelector(".road");
  const rows = roads?.rows ?? 6;
  const columns = columnsIn(road, rows);
  renderOnce(road, JSON.stringify([columns, roads]), () => [bigRoad(roads?.big_road ?? [], { rows, columns, leadingTies: roads?.leading_ties ?? 0 })]);
}

// Of the even chances; nothing where the house has set none.
function limitsOf({ house, status }) {
  const offer = house.offers?.find(({ bet }) => bet === "punto");
  return offer && (!status?.profile || status.profile === house.profile) ? limits(offer, house.currency) : "";
}

await useBoardsLanguage();
new Live(`/events/${(await tableNames()).map(encodeURIComponent).join(",")}`, render);
