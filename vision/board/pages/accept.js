// Saying what was dealt, by keys alone: the pictures of a coup, what is typed of it, the next one.

import { cardFace } from "/cards.js";
import { framesOf, player } from "/clip.js";
import { $, make, setText } from "/live.js";
import { ask, logOut, whoAmI } from "/session.js";

const RANKS = "A23456789TJQK";
const SUITS = "cdhs";
const MOST = 4; // cards of a hand, with one too many
const AGAIN_MS = 5000; // between questions for more, while others answer
const SHOWN = ["punto", "banco", ""]; // the pictures of a coup: each hand, the whole layout

let task = null;
let me = null;
let picture = 0;
let said = null;
let listed = false;
let busy = false;

const nothing = () => ({ before: [], punto: [], banco: [], side: "punto", rank: "", none: false, incidents: new Set() });
const path = (coup) => `/api/accept/${coup.split("/").map(encodeURIComponent).join("/")}`;
const source = (coup, number, hand) => `${path(coup)}/${number}${hand ? `?hand=${hand}` : ""}`;

function text() {
  const codes = [...said.incidents].sort().join(" ");
  const hands = said.none ? "/" : `${said.punto.join(" ")} / ${said.banco.join(" ")}`;
  return [...said.before, codes ? `${hands} ! ${codes}` : hands].join(" ; ");
}

// What an own answer was, to be changed.
function typed(answer) {
  const parts = answer.split(" ; ");
  const [hands, codes] = parts.pop().split("!");
  const [punto, banco] = hands.split("/").map((hand) => hand.trim().split(" ").filter(Boolean));
  const none = !punto.length && !banco.length;
  return { ...nothing(), before: parts, punto, banco, none, incidents: new Set((codes ?? "").trim().split(" ").filter(Boolean)) };
}

function draw() {
  for (const side of ["punto", "banco"]) {
    const now = said.side === side && !said.none;
    $(`${side}-name`).parentElement.classList.toggle("now", now);
    const cards = said[side].map((card) => card === "?" ? make("span", "unseen", "?") : cardFace(card));
    if (now && said[side].length < MOST) cards.push(make("span", "open", said.rank || "_"));
    $(`${side}-typed`).replaceChildren(...cards);
  }
  const before = said.before.map((coup) => make("li", "", `before it: ${coup}`));
  const none = said.none ? [make("li", "", task.end ? "nothing more was dealt" : "nothing was dealt here")] : [];
  $("tags").replaceChildren(...before, ...none, ...[...said.incidents].map((code) => make("li", "", task.incidents[code])));
  $("list").hidden = !listed;
  $("keys").hidden = $("whole").hidden = listed;
  $("told").classList.toggle("wide", listed);
  $("incidents").replaceChildren(...Object.entries(task.incidents).map(([code, words], i) => {
    const line = make("li", said.incidents.has(code) ? "on" : "");
    line.append(make("kbd", "", String.fromCharCode(65 + i)), ` ${words}`);
    return line;
  }));
}

function show() {
  if (!task.pictures) setText("said", "No picture is kept of this coup; type ? for each card that you cannot see.");
  for (const hand of SHOWN) {
    const image = $(hand || "table");
    image.hidden = !task.pictures;
    if (task.pictures) image.src = source(task.coup, picture, hand);
  }
}

async function load(again = "") {
  const { body, why } = await ask(`/api/accept${again ? `?again=${encodeURIComponent(again)}` : ""}`);
  if (!body) return setText("said", why);
  task = body;
  picture = 0;
  listed = false;
  said = task.yours ? typed(task.yours) : nothing();
  $("clip").replaceChildren();
  $("coup").hidden = !task.coup;
  $("none").hidden = Boolean(task.coup);
  setText("place", task.coup ? `${task.done + 1} · coup ${task.coup} · ${task.open} of ${task.all} still open` : `${task.all} coups`);
  if (!task.coup) return rest();
  setText("said", task.yours ? "Your answer; what you type now replaces it, and both stay in the log." : task.end ? "After the last coup: was anything more dealt? V shows the film, N says nothing was." : "");
  show();
  draw();
  if (task.ahead) for (const hand of SHOWN) new Image().src = source(task.ahead, 0, hand);
}

// Nothing is due: say so, and ask again, for a third answer may be needed later.
function rest() {
  setText("none-words", task.open ? "Nothing more for you at the moment." : "Every coup has its answers.");
  setText("none-more", task.open ? `${task.open} coups wait for another person.` : "shoe-reader accept report makes the report.");
  $("allow").hidden = me.role !== "inspector" || Boolean(task.open);
  setTimeout(() => { if (!$("none").hidden) load(); }, AGAIN_MS);
}

async function send() {
  if (!said.none && (!said.punto.length || !said.banco.length)) return setText("said", "Type both hands, or N where nothing was dealt.");
  if (said.rank) return setText("said", "A suit is missing: C D H S.");
  const { body, why } = await ask("/api/accept", { coup: task.coup, answer: text() });
  if (!body) return setText("said", `Not kept: ${why}`);
  await load();
}

async function clip() {
  const coup = task.coup;
  setText("said", "Loading the clip");
  const answer = await fetch(`${path(coup)}/clip`);
  const frames = answer.ok ? framesOf(await answer.arrayBuffer()) : [];
  if (coup !== task.coup) return;
  setText("said", frames.length ? "" : "There is no clip of this coup.");
  if (!frames.length) return;
  $("table").hidden = true;
  $("clip").replaceChildren(player(frames, "From the end of the last coup"));
  $("clip").querySelector("button").click();
}

function add(card) {
  if (said[said.side].length >= MOST) return setText("said", "A hand has four cards at most.");
  said[said.side].push(card);
  said.none = false;
  said.rank = "";
}

function card(key) {
  if (said.rank && SUITS.includes(key.toLowerCase())) return add(said.rank + key.toLowerCase());
  const rank = key === "0" ? "T" : key.toUpperCase();
  if (RANKS.includes(rank)) said.rank = rank;
}

function erase() {
  if (said.rank) said.rank = "";
  else if (said.none) said.none = false;
  else if (said[said.side].length) said[said.side].pop();
  else if (said.side === "banco") said.side = "punto";
}

function extra() {
  if (!said.punto.length || !said.banco.length) return setText("said", "Type the cards of the coup that was dealt before this one, then +.");
  const before = text();
  said = { ...nothing(), before: before.split(" ; ") };
  setText("said", "Now the coup that the picture shows.");
}

const KEYS = {
  "?": () => add("?"), " ": () => { said.side = said.side === "punto" ? "banco" : "punto"; said.rank = ""; },
  Backspace: erase, Escape: () => { said = nothing(); }, i: () => { listed = true; }, "+": extra, v: () => { clip(); },
  n: () => { said = { ...nothing(), before: said.before, none: true }; },
  ArrowLeft: () => { picture = Math.max(0, picture - 1); show(); },
  ArrowRight: () => { picture = Math.min(task.pictures - 1, picture + 1); show(); },
  b: () => {
    const at = task.mine.indexOf(task.coup);
    const before = task.mine.at(at < 0 ? -1 : Math.max(0, at - 1));
    if (before) return load(before);
  },
};

function mark(key) {
  const code = Object.keys(task.incidents)[key.toUpperCase().charCodeAt(0) - 65];
  if (["Enter", "Escape", " "].includes(key)) listed = false;
  else if (key.length === 1 && code) said.incidents[said.incidents.has(code) ? "delete" : "add"](code);
}

async function press(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || !task?.coup) return;
  if (event.target.closest("button, input") && ["Enter", " ", "ArrowLeft", "ArrowRight"].includes(event.key)) return;
  if (busy) return event.preventDefault(); // what is typed while an answer is on its way is of no coup
  event.preventDefault();
  busy = true;
  try {
    if (listed) mark(event.key);
    else if (event.key === "Enter") return await send();
    else if (said.rank && SUITS.includes(event.key.toLowerCase())) card(event.key);
    else if (KEYS[event.key] ?? KEYS[event.key.toLowerCase()]) await (KEYS[event.key] ?? KEYS[event.key.toLowerCase()])();
    else if (event.key.length === 1) card(event.key);
    if (task.coup) draw();
  } finally {
    busy = false;
  }
}

async function allow() {
  const button = $("allow");
  if (!button.dataset.asked) {
    button.dataset.asked = "yes";
    button.textContent = "Pictures of the layout leave the house: press again to let them";
    return;
  }
  const { body, why } = await ask("/api/accept/allow", {});
  setText("allowed", body ? "It is in the log, with your name." : why);
}

me = await whoAmI();
setText("who", `${me.name}, ${me.role}`);
$("leave").addEventListener("click", logOut);
$("allow").addEventListener("click", allow);
addEventListener("keydown", press);
load();
