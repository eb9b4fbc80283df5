// Card faces drawn for a distance: one large index and one large suit.

import { rankText, word, wordOf } from "/words.js";

const SVG = "http://www.w3.org/2000/svg";
const SUITS = {
  s: ["#16181d", "M50 4C60 22 88 40 88 62a20 20 0 0 1-33 15c1 9 4 14 10 19H35c6-5 9-10 10-19a20 20 0 0 1-33-15C12 40 40 22 50 4Z"],
  h: ["#c8102e", "M50 94C38 76 8 58 8 32a22 22 0 0 1 42-9 22 22 0 0 1 42 9c0 26-30 44-42 62Z"],
  d: ["#c8102e", "M50 3C60 22 74 38 88 50 74 62 60 78 50 97 40 78 26 62 12 50 26 38 40 22 50 3Z"],
  c: ["#16181d", "M50 4a21 21 0 0 1 17 33 21 21 0 1 1-12 37c1 10 4 16 10 22H35c6-6 9-12 10-22a21 21 0 1 1-12-37A21 21 0 0 1 50 4Z"],
};

export function shape(name, attributes, text) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text !== undefined) node.textContent = text;
  return node;
}

export function drawing(width, height, label) {
  const svg = shape("svg", { viewBox: `0 0 ${width} ${height}`, role: "img" });
  svg.append(shape("title", {}, label));
  return svg;
}

// A face such as "Td"; anything else is a card that is out but not shown.
export function cardFace(text) {
  const suit = typeof text === "string" ? SUITS[text.slice(-1)] : undefined;
  if (!suit) return cardBack();
  const rank = text.slice(0, -1);
  const svg = drawing(63, 88, word("card.of", { rank: wordOf("rank", rank, rankText(rank)), suit: word(`suit.${text.slice(-1)}`) }));
  svg.append(shape("rect", { width: 63, height: 88, rx: 5, fill: "#fffefa" }));
  const figure = rankText(rank);
  const index = shape("text", {
    x: 31.5, y: 41, fill: suit[0], "font-size": 46, "font-weight": 700, "text-anchor": "middle",
  }, figure);
  if (figure === "10") { index.setAttribute("textLength", 50); index.setAttribute("lengthAdjust", "spacingAndGlyphs"); }
  svg.append(index, shape("path", { d: suit[1], fill: suit[0], transform: "translate(14.5 50) scale(.34)" }));
  return svg;
}

function cardBack() {
  const svg = drawing(63, 88, word("card.hidden"));
  svg.append(shape("rect", { width: 63, height: 88, rx: 5, fill: "#fffefa" }));
  svg.append(shape("rect", { x: 4, y: 4, width: 55, height: 80, rx: 3, fill: "#36506b" }));
  for (let i = 0; i < 7; i++) {
    svg.append(shape("path", { d: `M4 ${14 + 10 * i}H59`, stroke: "#6d88a5", "stroke-width": 2 }));
  }
  return svg;
}
