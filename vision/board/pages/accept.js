// Saying what was dealt, by keys alone: the pictures of a coup, what is typed of it, the next one.

import { cardFace } from "/cards.js";
import { framesOf, player } from "/clip.js";
import { $, make, setText } from "/live.js";
import { ask, whoAmI } from "/session.js";
import { RANKS, SUITS, faultName, inSigns, word, wordOf } from "/words.js";

const MOST = 4; // cards of a hand, with one too many
const AGAIN_MS = 5000; // between questions for more, while others answer
const SHOWN = ["punto", "banco", ""]; // the pictures of a coup: each hand, the whole layout
const COMMAND = "shoe-reader accept report";

let task = null;
let me = null;
let picture = 0;
let draft = null;
let listed = false;
let busy = false;

const nothing = () => ({ before: [], punto: [], banco: [], side: "punto", rank: "", none: false, incidents: new Set() });
const path = (coup) => `/api/accept/${coup.split("/").map(encodeURIComponent).join("/")}`;
const source = (coup, number, hand) => `${path(coup)}/${number}${hand ? `?hand=${hand}` : ""}`;

function text() {
  const codes = [...draft.incidents].sort().join(" ");
  const hands = draft.none ? "/" : `${draft.punto.join(" ")} / ${draft.banco.join(" ")}`;
  return [...draft.before, codes ? `${hands} ! ${codes}` : hands].join(" ; ");
}

// As the report names it; what is no fault of the dealer has words of its own.
const incidentName = (code) => wordOf("incident", code, faultName(code));

// A coup dealt before this one, as people read it: suits as signs, incidents by their names.
function coupWords(coup) {
  const [hands, codes] = coup.split("!").map((part) => part.trim());
  return [inSigns(hands), ...(codes ? codes.split(" ").map(incidentName) : [])].join(" · ");
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
    const now = draft.side === side && !draft.none;
    $(`${side}-name`).parentElement.classList.toggle("now", now);
    const cards = draft[side].map((card) => card === "?" ? make("span", "unseen", "?") : cardFace(card));
    if (now && draft[side].length < MOST) cards.push(make("span", "open", draft.rank || "_"));
    $(`${side}-typed`).replaceChildren(...cards);
  }
  const before = draft.before.map((coup) => make("li", "", word("accept.before", { coup: coupWords(coup) })));
  const none = draft.none ? [make("li", "", word(task.end ? "accept.no_more" : "accept.nothing"))] : [];
  $("tags").replaceChildren(...before, ...none, ...[...draft.incidents].map((code) => make("li", "", incidentName(code))));
  $("list").hidden = !listed;
  $("keys").hidden = $("whole").hidden = listed;
  $("answer").classList.toggle("wide", listed);
  $("incidents").replaceChildren(...task.incidents.map((code, i) => {
    const line = make("li", draft.incidents.has(code) ? "on" : "");
    line.append(make("kbd", "", String.fromCharCode(65 + i)), ` ${incidentName(code)}`);
    return line;
  }));
}

function show() {
  if (!task.pictures) setText("reply", word("accept.no_pictures"));
  for (const hand of SHOWN) {
    const image = $(hand || "table");
    image.hidden = !task.pictures;
    if (task.pictures) image.src = source(task.coup, picture, hand);
  }
}

async function load(again = "") {
  const { body, why } = await ask(`/api/accept${again ? `?again=${encodeURIComponent(again)}` : ""}`);
  if (!body) return setText("reply", why);
  task = body;
  picture = 0;
  listed = false;
  draft = task.yours ? typed(task.yours) : nothing();
  $("clip").replaceChildren();
  $("coup").hidden = !task.coup;
  $("none").hidden = Boolean(task.coup);
  setText("place", task.coup ? word("accept.place", { ...task, n: task.done + 1 }) : word("accept.coups", { n: task.all }));
  if (!task.coup) return rest();
  setText("reply", task.yours ? word("accept.yours") : task.end ? word("accept.at_end") : "");
  show();
  draw();
  if (task.ahead) for (const hand of SHOWN) new Image().src = source(task.ahead, 0, hand);
}

// Nothing is due: say so, and ask again, for a third answer may be needed later.
function rest() {
  setText("none-words", word(task.complete ? "accept.complete" : "accept.rest"));
  setText("none-more", task.complete ? word("accept.report", { command: COMMAND }) : word("accept.others"));
  $("allow").hidden = me.role !== "inspector" || !task.complete;
  setTimeout(() => { if (!$("none").hidden) load(); }, AGAIN_MS);
}

async function send() {
  if (!draft.none && (!draft.punto.length || !draft.banco.length)) return setText("reply", word("accept.both"));
  if (draft.rank) return setText("reply", word("accept.suit_missing"));
  const { body, why } = await ask("/api/accept", { coup: task.coup, answer: text() });
  if (!body) return setText("reply", word("accept.not_kept", { why }));
  await load();
}

async function clip() {
  const coup = task.coup;
  setText("reply", word("setup.loading"));
  const answer = await fetch(`${path(coup)}/clip`);
  const frames = answer.ok ? framesOf(await answer.arrayBuffer()) : [];
  if (coup !== task.coup) return;
  setText("reply", frames.length ? "" : word("accept.no_clip"));
  if (!frames.length) return;
  $("table").hidden = true;
  $("clip").replaceChildren(player(frames, word("accept.film")));
  $("clip").querySelector("button").click();
}

function add(card) {
  if (draft[draft.side].length >= MOST) return setText("reply", word("accept.most"));
  draft[draft.side].push(card);
  draft.none = false;
  draft.rank = "";
}

function card(key) {
  if (draft.rank && key.toLowerCase() in SUITS) return add(draft.rank + key.toLowerCase());
  const rank = key === "0" ? "T" : key.toUpperCase();
  if (RANKS.includes(rank)) draft.rank = rank;
}

function erase() {
  if (draft.rank) draft.rank = "";
  else if (draft.none) draft.none = false;
  else if (draft[draft.side].length) draft[draft.side].pop();
  else if (draft.side === "banco") draft.side = "punto";
}

function extra() {
  if (!draft.punto.length || !draft.banco.length) return setText("reply", word("accept.extra_first"));
  const before = text();
  draft = { ...nothing(), before: before.split(" ; ") };
  setText("reply", word("accept.now_this"));
}

const KEYS = {
  "?": () => add("?"), " ": () => { draft.side = draft.side === "punto" ? "banco" : "punto"; draft.rank = ""; },
  Backspace: erase, Escape: () => { draft = nothing(); }, i: () => { listed = true; }, "+": extra, v: () => { clip(); },
  n: () => { draft = { ...nothing(), before: draft.before, none: true }; },
  ArrowLeft: () => { picture = Math.max(0, picture - 1); show(); },
  ArrowRight: () => { picture = Math.min(task.pictures - 1, picture + 1); show(); },
  b: () => {
    const at = task.mine.indexOf(task.coup);
    const before = task.mine.at(at < 0 ? -1 : Math.max(0, at - 1));
    if (before) return load(before);
  },
};

function mark(key) {
  const code = task.incidents[key.toUpperCase().charCodeAt(0) - 65];
  if (["Enter", "Escape", " "].includes(key)) listed = false;
  else if (key.length === 1 && code) draft.incidents[draft.incidents.has(code) ? "delete" : "add"](code);
}

async function press(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || !task?.coup || event.target.closest("select")) return;
  if (event.target.closest("button, input") && ["Enter", " ", "ArrowLeft", "ArrowRight"].includes(event.key)) return;
  if (busy) return event.preventDefault(); // what is typed while an answer is on its way is of no coup
  event.preventDefault();
  busy = true;
  try {
    if (listed) mark(event.key);
    else if (event.key === "Enter") return await send();
    else if (draft.rank && event.key.toLowerCase() in SUITS) card(event.key);
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
    button.textContent = word("accept.sure");
    return;
  }
  const { body, why } = await ask("/api/accept/allow", {});
  setText("allowed", body ? word("accept.allowed") : why);
}

me = await whoAmI();
for (const side of ["punto", "banco"]) $(side).alt = word("accept.cards_of", { side: word(`side.${side}`) });
$("allow").addEventListener("click", allow);
addEventListener("keydown", press);
load();
