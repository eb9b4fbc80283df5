// What answers for an alert: both hands with the place in question, and its pictures, each enlarged at a click or key.

import { cardFace } from "/cards.js";
import { framesOf, player } from "/clip.js";
import { button, clockTime, make } from "/live.js";
import { get } from "/session.js";
import { slotName, word } from "/words.js";

const SIDES = ["punto", "banco"];
const PLACES = [1, 2, 3];

// --- the hands -----------------------------------------------------------------------------------

// Marks of places: where a card is due, where one lies that was not, and what is in question.
function marksOf(alert) {
  const marks = {};
  if (alert.slot) marks[alert.slot] = "asked";
  if (alert.observed && !(alert.expected ?? []).includes(alert.observed) && !marks[alert.observed]) marks[alert.observed] = "asked";
  if (alert.code.startsWith("OVER_") && alert.observed) marks[alert.observed] = "not_due";
  for (const slot of alert.expected ?? []) if (slot !== alert.observed) marks[slot] = "due";
  return marks;
}

// Both hands of a result or a running coup; `alert` has what is marked in them, if any.
export function hands(coup, alert) {
  const marks = alert ? marksOf(alert) : {};
  const box = make("div", "both");
  box.append(...SIDES.map((side) => hand(side, coup?.[side] ?? { cards: [] }, marks)));
  if (alert?.code === "SWITCH" && alert.card && alert.second) box.append(changed(alert));
  return box;
}

function hand(side, { cards, points }, marks) {
  const box = make("div", `hand ${side}`);
  box.append(make("b", "", `${word(`side.${side}`)} ${points ?? "–"}`));
  const row = make("div", "places");
  for (const number of PLACES) {
    const slot = `${side.toUpperCase()}_${number}`;
    const has = number <= cards.length;
    const mark = marks[slot] === "due" && has ? "asked" : marks[slot];
    if (!has && !mark) continue;
    const place = make("span", `place ${mark ?? ""}`);
    place.append(has ? cardFace(cards[number - 1]) : make("span", "nothing"));
    if (mark) place.append(make("small", "", word(`place.${mark}`)));
    row.append(place);
  }
  box.append(row);
  return box;
}

function changed(alert) {
  const box = make("div", "hand");
  const row = make("div", "places");
  for (const [card, key] of [[alert.card, "place.was"], [alert.second, "place.now"]]) {
    const place = make("span", "place");
    place.append(cardFace(card), make("small", "", word(key)));
    row.append(place);
  }
  box.append(make("b", "", slotName(alert.slot)), row);
  return box;
}

// --- the pictures --------------------------------------------------------------------------------

export const coupStored = (table, shoe, coup) => get(`/api/history/${[table, shoe, coup].map(encodeURIComponent).join("/")}`);
const addressOf = (table, topic) => `/api/media/${encodeURIComponent(table)}/${topic.split("/").slice(-2).map(encodeURIComponent).join("/")}`;

// Topic, words and time of the pictures of an alert: the cards as they lay, the moment, the film around it; of a changed card, before and after.
export async function alertPictures(table, alert) {
  const stored = Number.isInteger(alert.coup) && alert.coup ? await coupStored(table, alert.shoe, alert.coup) : null;
  const cards = (stored?.pictures ?? []).filter((one) => !one.alert && one.kind === "still");
  const shown = [];
  const before = alert.code === "SWITCH" ? cards.find((one) => one.order === alert.order) : cards.at(-1);
  if (before) shown.push([before.topic, word(alert.code === "SWITCH" ? "picture.before" : "picture.lying"), before.at]);
  for (const topic of alert.evidence ?? []) {
    const key = topic.includes("clip/") ? "desk.clip" : alert.code === "SWITCH" ? "picture.after" : "picture.moment";
    shown.push([topic, word(key), alert.raised_at]);
  }
  return shown;
}

// Figures of topics, each with its words and its time.
export function pictures(table, shown) {
  return shown.map(([topic, words, at]) => {
    const figure = make("figure");
    const caption = make("figcaption", "", [words, at ? clockTime(at) : ""].filter(Boolean).join(", "));
    figure.append(topic.includes("clip/") ? clip(addressOf(table, topic)) : still(addressOf(table, topic), caption.textContent), caption);
    return figure;
  });
}

function still(address, words) {
  const larger = button("enlarge", "", () => enlarge(larger.closest("figure")));
  const image = Object.assign(make("img"), { alt: words });
  image.addEventListener("error", () => larger.replaceWith(make("p", "empty", word("desk.no_picture"))));
  image.src = address;
  larger.append(image);
  return larger;
}

function clip(address) {
  const box = make("div", "", word("setup.loading"));
  fetch(address).then(async (answer) => {
    const frames = answer.ok ? framesOf(await answer.arrayBuffer()) : [];
    if (!frames.length) return box.replaceChildren(make("p", "empty", word("desk.no_clip")));
    const larger = button("enlarge larger", word("picture.enlarge"), () => enlarge(larger.closest("figure")));
    const film = player(frames, word("desk.clip"));
    film.append(larger);
    box.replaceChildren(film);
  }).catch(() => { box.textContent = word("desk.clip_failed"); });
  return box;
}

let large = null;
let shown = null; // what is enlarged: the figure, its place on the page, and who had the focus

// The figure fills the window; arrows go to the next one, Escape or a click goes back.
function enlarge(figure) {
  large ??= build();
  const had = shown?.had ?? document.activeElement;
  putBack();
  const home = document.createComment("enlarged");
  figure.before(home);
  shown = { figure, home, had };
  large.replaceChildren(figure);
  large.setAttribute("aria-label", figure.querySelector("figcaption").textContent);
  if (!large.open) large.showModal();
}

function putBack() {
  shown?.home.replaceWith(shown.figure);
  shown = null;
}

function build() {
  const dialog = document.body.appendChild(make("dialog", "large"));
  // A picture closes itself; the player of a film has buttons of its own.
  dialog.addEventListener("click", (event) => {
    if (event.target !== dialog && !event.target.closest(".enlarge")) return;
    event.stopPropagation();
    dialog.close();
  }, { capture: true });
  dialog.addEventListener("keydown", ({ key, target }) => {
    const next = shown?.home[{ ArrowLeft: "previousElementSibling", ArrowRight: "nextElementSibling" }[key]];
    if (next && !target.matches("input")) enlarge(next);
    if (key === " " && !target.matches("button, input")) dialog.querySelector(".player button")?.click();
  });
  dialog.addEventListener("close", () => {
    const had = shown?.had;
    putBack();
    had?.focus();
  });
  return dialog;
}
