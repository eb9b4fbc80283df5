// Bead plate, big road and derived roads, drawn from the cells that the reader publishes; nothing is computed here.

import { drawing, shape } from "/cards.js";
import { word } from "/words.js";

const PAPER = "#f4f7f2";
const COLOURS = { punto: "#0f4fae", banco: "#c01f2e", egalite: "#146c35" };
// The light red and the dark blue differ for every eye, and in grey.
const MARKS = { red: "#e5483f", blue: "#0b3f94" };

// The columns for which square cells fill the height of a road's place.
export const columnsIn = (box, rows) => Math.max(4, Math.floor((box.clientWidth * rows) / Math.max(1, box.clientHeight)));

export function beadPlate(cells, { rows, columns, corrected, marks = false }) {
  return grid(word("road.bead"), cells, { rows, columns }, (cell, x, y) => [
    shape("circle", { cx: x, cy: y, r: 0.44, fill: COLOURS[cell.winner] }),
    letter(cell, x, y, "#fff", 0.56),
    ...pairs(cell, x, y, 0.12),
    ...(cell.natural && marks ? [shape("path", { d: `M${x - 0.2} ${y + 0.3}h.4`, stroke: "#fff", "stroke-width": 0.07 })] : []),
    ...(corrected.has(cell.coup) ? [shape("path", { d: `M${x + 0.5} ${y - 0.5}h-.3l.3 .3z`, fill: "#7a4b00" })] : []),
  ]);
}

export function bigRoad(cells, { rows, columns, leadingTies }) {
  // Egalites before the first decision wait in the corner where its mark will come.
  const first = cells.length || !leadingTies ? [] : [{ col: 0, row: 0, winner: "egalite", ties: leadingTies }];
  return grid(word("road.big"), [...cells, ...first], { rows, columns }, (cell, x, y) => [
    shape("circle", { cx: x, cy: y, r: 0.37, fill: "none", stroke: cell.winner === "egalite" ? "none" : COLOURS[cell.winner], "stroke-width": 0.12 }),
    ...(cell.winner === "egalite" ? [] : [letter(cell, x, y, COLOURS[cell.winner], 0.44)]),
    ...ties(cell.ties ?? 0, x, y),
    ...pairs(cell, x, y, 0.11),
  ]);
}

export function derivedRoad(name, cells, { rows, columns }) {
  return grid(word(`road.${name}`), cells, { rows, columns }, (cell, x, y) => [derivedMark(name, cell.mark, x, y)]);
}

// The mark that each derived road would get next, as a small drawing; a dash for no mark.
export function askedMark(name, mark) {
  const svg = drawing(1, 1, `${word(`road.${name}`)}: ${word(mark ? `mark.${mark}` : "mark.none")}`);
  svg.append(mark ? derivedMark(name, mark, 0.5, 0.5) : shape("path", { d: "M.3 .5h.4", stroke: "#5d6d64", "stroke-width": 0.09 }));
  return svg;
}

function derivedMark(name, mark, x, y) {
  const colour = MARKS[mark];
  if (name === "cockroach_pig") return shape("path", { d: `M${x - 0.32} ${y + 0.32}L${x + 0.32} ${y - 0.32}`, stroke: colour, "stroke-width": 0.2, "stroke-linecap": "round" });
  const hollow = name === "big_eye_boy";
  return shape("circle", { cx: x, cy: y, r: hollow ? 0.32 : 0.4, fill: hollow ? "none" : colour, stroke: hollow ? colour : "none", "stroke-width": 0.17 });
}

function grid(label, cells, { rows, columns }, marks) {
  const last = cells.reduce((most, cell) => Math.max(most, cell.col), -1);
  // The newest columns stay in sight; one column is kept free for the next mark.
  const from = Math.max(0, last + 2 - columns);
  const svg = drawing(columns, rows, label);
  svg.append(rules(columns, rows));
  for (const cell of cells) {
    if (cell.col < from || !((cell.winner ?? "") in COLOURS || (cell.mark ?? "") in MARKS)) continue;
    const group = shape("g", {});
    group.append(...marks(cell, cell.col - from + 0.5, cell.row + 0.5));
    svg.append(group);
  }
  return svg;
}

function rules(columns, rows) {
  let path = "";
  for (let c = 0; c <= columns; c++) path += `M${c} 0V${rows}`;
  for (let r = 0; r <= rows; r++) path += `M0 ${r}H${columns}`;
  return shape("path", { d: path, stroke: "#c9d2cc", "stroke-width": 0.03 });
}

function letter(cell, x, y, colour, size) {
  return shape("text", {
    x, y: y + size * 0.36, fill: colour, "font-size": size, "font-weight": 700, "text-anchor": "middle",
  }, word(`letter.${cell.winner}`));
}

function pairs(cell, x, y, radius) {
  const dots = [];
  const edge = { r: radius, stroke: "#fff", "stroke-width": 0.05 };
  if (cell.banco_pair) dots.push(shape("circle", { ...edge, cx: x - 0.32, cy: y - 0.32, fill: COLOURS.banco }));
  if (cell.punto_pair) dots.push(shape("circle", { ...edge, cx: x + 0.32, cy: y + 0.32, fill: COLOURS.punto }));
  return dots;
}

// A stroke with an edge of paper keeps apart from the circle and the letter under it.
function ties(count, x, y) {
  if (!count) return [];
  const d = `M${x - 0.42} ${y + 0.42}L${x + 0.42} ${y - 0.42}`;
  const marks = [[PAPER, 0.2], [COLOURS.egalite, 0.11]].map(([stroke, width]) => shape("path", { d, stroke, "stroke-width": width }));
  if (count > 1) marks.push(shape("text", { x: x - 0.26, y: y + 0.47, fill: COLOURS.egalite, stroke: PAPER, "stroke-width": 0.14, "paint-order": "stroke", "font-size": 0.42, "font-weight": 800, "text-anchor": "middle" }, count));
  return marks;
}
