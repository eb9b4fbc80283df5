// A plot of an answer: a bar for each row, with the interval of its value where there is one.

import { shape } from "/cards.js";
import { word } from "/words.js";

const WIDTH = 900; // of the drawing, in its own units; the page scales it
const ROW = 22;
const LEFT = [190, 420]; // least and most room for the names of the rows
const LETTER = 7.4; // width of a letter of a name, on average
const RIGHT = 80;
const TOP = 24;
const MOST = 60; // rows drawn: more are read in the table

// Round steps of the axis: 1, 2 or 5 and zeros, four to nine of them.
function steps(top) {
  const raw = top / 6;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= raw);
  return Array.from({ length: Math.floor(top / step) + 1 }, (_, n) => Number((n * step).toPrecision(6)));
}

export function plotOf({ title, rows, plot }) {
  const [label, value, low, high] = plot;
  const drawn = rows.filter((row) => typeof row[value] === "number").slice(0, MOST);
  if (drawn.length < 2) return [];
  const top = Math.max(...drawn.map((row) => Math.max(row[value], row[high] ?? 0)), 0.001);
  const left = Math.min(LEFT[1], Math.max(LEFT[0], 16 + LETTER * Math.max(...drawn.map((row) => String(row[label]).length))));
  const x = (number) => left + (number / top) * (WIDTH - left - RIGHT);
  const height = TOP + ROW * drawn.length + 8;
  const picture = shape("svg", { class: "plot", viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-label": word("reports.plot", { title }) });
  for (const number of steps(top)) {
    picture.append(shape("line", { class: "grid", x1: x(number), x2: x(number), y1: TOP - 4, y2: height }));
    picture.append(shape("text", { class: "dim", x: x(number), y: TOP - 8, "text-anchor": "middle" }, number));
  }
  drawn.forEach((row, place) => {
    const y = TOP + ROW * place;
    picture.append(shape("text", { x: left - 8, y: y + 15, "text-anchor": "end" }, row[label]));
    picture.append(shape("rect", { x: left, y: y + 4, width: Math.max(0, x(row[value]) - left), height: ROW - 8 }));
    const end = typeof row[high] === "number" ? row[high] : row[value];
    if (typeof row[high] === "number") {
      picture.append(shape("line", { class: "whisker", x1: x(row[low]), x2: x(row[high]), y1: y + ROW / 2, y2: y + ROW / 2 }));
    }
    picture.append(shape("text", { class: "dim", x: x(end) + 6, y: y + 15 }, row[value]));
  });
  return [picture];
}
