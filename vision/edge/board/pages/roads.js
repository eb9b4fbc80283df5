// Bead plate and big road, drawn from the cells that the reader publishes; nothing is computed here.

import { drawing, shape } from "/cards.js";

const COLOURS = { punto: "#1456b8", banco: "#c01f2e", egalite: "#177a3c" };
const LETTERS = { punto: "P", banco: "B", egalite: "E" };

export function beadPlate(cells, rows, columns) {
  return grid("Bead plate", cells, rows, columns, (cell, x, y) => [
    shape("circle", { cx: x, cy: y, r: 0.43, fill: COLOURS[cell.winner] }),
    letter(cell, x, y, "#fff", 0.56),
    ...pairs(cell, x, y, 0.11),
    ...(cell.natural ? [shape("path", { d: `M${x - 0.2} ${y + 0.3}h.4`, stroke: "#fff", "stroke-width": 0.07 })] : []),
  ]);
}

export function bigRoad(cells, rows, columns, leadingTies) {
  // Egalites before the first decision wait in the corner where its mark will come.
  const first = cells.length || !leadingTies ? [] : [{ col: 0, row: 0, winner: "egalite", ties: leadingTies }];
  return grid("Big road", [...cells, ...first], rows, columns, (cell, x, y) => [
    ...ties(cell.ties ?? 0, x, y),
    shape("circle", { cx: x, cy: y, r: 0.37, fill: "none", stroke: cell.winner === "egalite" ? "none" : COLOURS[cell.winner], "stroke-width": 0.12 }),
    ...(cell.winner === "egalite" ? [] : [letter(cell, x, y, COLOURS[cell.winner], 0.44)]),
    ...pairs(cell, x, y, 0.1),
  ]);
}

function grid(label, cells, rows, columns, marks) {
  const last = cells.reduce((most, cell) => Math.max(most, cell.col), -1);
  // The newest columns stay in sight; one column is kept free for the next mark.
  const from = Math.max(0, last + 2 - columns);
  const svg = drawing(columns, rows, label);
  for (let c = 0; c <= columns; c++) svg.append(rule(`M${c} 0V${rows}`));
  for (let r = 0; r <= rows; r++) svg.append(rule(`M0 ${r}H${columns}`));
  for (const cell of cells) {
    if (cell.col < from || !(cell.winner in COLOURS)) continue;
    const group = shape("g", {});
    group.append(shape("title", {}, `${cell.coup ?? ""} ${cell.winner}`));
    group.append(...marks(cell, cell.col - from + 0.5, cell.row + 0.5));
    svg.append(group);
  }
  return svg;
}

function rule(path) {
  return shape("path", { d: path, stroke: "#c9d2cc", "stroke-width": 0.03 });
}

function letter(cell, x, y, colour, size) {
  return shape("text", {
    x, y: y + size * 0.36, fill: colour, "font-size": size, "font-weight": 700, "text-anchor": "middle",
    // A halo in the ground's colour keeps the letter apart from a slash behind it.
    stroke: colour === "#fff" ? "none" : "#f4f7f2", "stroke-width": 0.14, "paint-order": "stroke",
  }, LETTERS[cell.winner]);
}

function pairs(cell, x, y, radius) {
  const dots = [];
  const edge = { r: radius, stroke: "#fff", "stroke-width": 0.04 };
  if (cell.banco_pair) dots.push(shape("circle", { ...edge, cx: x - 0.31, cy: y - 0.31, fill: COLOURS.banco }));
  if (cell.punto_pair) dots.push(shape("circle", { ...edge, cx: x + 0.31, cy: y + 0.31, fill: COLOURS.punto }));
  return dots;
}

function ties(count, x, y) {
  if (!count) return [];
  const slash = shape("path", { d: `M${x - 0.4} ${y + 0.4}L${x + 0.4} ${y - 0.4}`, stroke: COLOURS.egalite, "stroke-width": 0.11 });
  const number = shape("text", { x: x - 0.3, y: y + 0.46, fill: COLOURS.egalite, stroke: "#f4f7f2", "stroke-width": 0.12, "paint-order": "stroke", "font-size": 0.38, "font-weight": 800, "text-anchor": "middle" }, count);
  return count > 1 ? [slash, number] : [slash];
}
