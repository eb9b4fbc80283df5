// What all screens for guests share: the look of the house, and results and limits in words.

import { $, make } from "/live.js";
import { callSides, word } from "/words.js";

const ASKED = new URLSearchParams(location.search);
// What the address asks for, or else the table's settings.
export const setting = (table, key) => ASKED.get(key) ?? table?.house[key] ?? "";

// The names, colour and logo of the house.
export function dress(table) {
  callSides(setting(table, "names"));
  if (table.house.ground) document.documentElement.style.setProperty("--ground", table.house.ground);
  const logo = table.house.logo ? [make("img")] : [];
  for (const image of logo) Object.assign(image, { src: "/house-logo", alt: "" });
  $("logo").replaceChildren(...logo);
}

// The names of all tables, as soon as the board answers.
export async function tableNames() {
  for (;;) {
    try {
      return (await (await fetch("/tables")).json()).map(({ table }) => table);
    } catch {
      await new Promise((again) => setTimeout(again, 1000));
    }
  }
}

export function outcome(result) {
  if (result.state === "void" || !result.winner) return word(result.state === "void" ? "void" : "held");
  if (result.winner === "egalite") return word("ties", { points: result.egalite_points });
  return word("wins", { side: word(`side.${result.winner}`) });
}

// A limit that nobody set is not shown.
export function limits({ minimum, maximum }, currency = "") {
  const which = minimum && maximum ? "odds.to" : minimum ? "odds.from" : maximum ? "odds.up_to" : "";
  return which && `${word(which, { low: minimum, high: maximum })} ${currency}`.trim();
}
