// The set-up of one table: its areas on the live picture, to be dragged; check; enrolment.

import { cardFace } from "/cards.js";
import { $, make, renderOnce, setText } from "/live.js";
import { ask, get, picture, whoAmI } from "/session.js";
import { beginHouse } from "/setup_house.js";
import { Places, areaName } from "/setup_places.js";
import { languageInUse, translated, word, wordOf } from "/words.js";

// Milliseconds between two live pictures, and between two questions how the command is doing.
const LIVE_MS = 700;
const JOB_MS = 1000;
// Where a drift is to be taken over: the numbers of CAMERA_MOVED.
let moved = new URLSearchParams(location.search).get("moved") ?? "";
const table = decodeURIComponent(location.pathname.split("/").pop());
const base = `/api/setup/${encodeURIComponent(table)}`;
let places = null;
let kind = "live";
let shown = "";
let job = { name: "", running: false, code: null, lines: [] };
let gauges = [];
const done = { house: false, check: false, run: false, enrol: false };
// Where the lines of a command go, and what the page says while it has the camera.
const OUT = { check: "check", run: "coups", enrol: "enrol" };
const KINDS = ["live", "drawn", "stored"];
// The card of each place, and which places may do without.
const LAID = { PUNTO_1: "As", PUNTO_2: "2s", PUNTO_3: "3s", DISCARD: "Kc", BANCO_1: "Ah", BANCO_2: "2h", BANCO_3: "3h", MOUTH: "Kd" };
const OPTIONAL = ["PUNTO_3", "BANCO_3", "DISCARD"];
const without = new Set();
let laying = false;

function report(id, text, bad = false) {
  setText(id, text);
  $(id).classList.toggle("bad", bad);
}

// --- the picture -----------------------------------------------------------------------------

async function look() {
  // A camera on a cable serves one program at a time; the reader draws what it sees.
  if (job.running && kind === "live") {
    report("seen", word("setup.camera_busy"));
    return setTimeout(look, LIVE_MS);
  }
  const asked = kind;
  const { body: blob, why } = await picture(`${base}/picture/${laying ? "whole" : asked}`);
  if (asked === kind) showPicture(blob, why);
  if (blob && kind === "live") measure();
  setTimeout(look, kind !== "stored" && blob ? LIVE_MS : 3000);
}

async function measure() {
  const { body } = await ask(`${base}/gauges`);
  if (!body) return;
  gauges = body;
  $("gauges").replaceChildren(...body.flatMap(gauge));
  guide();
}

function gauge({ name: measured, value, least, most, full, good, cure }) {
  const name = translated(measured, ["gauge"]);
  const bar = make("meter");
  Object.assign(bar, { min: 0, max: full, low: least, high: Math.min(most, full), optimum: (least + Math.min(most, full)) / 2, value, title: name });
  bar.setAttribute("aria-label", name);
  const words = make("dd", good ? "" : "bad", `${Number(value.toPrecision(2)).toLocaleString(languageInUse())}${good ? "" : `; ${translated(cure, ["gauge"])}`}`);
  words.prepend(bar);
  return [make("dt", "", name), words];
}

function showPicture(blob, why) {
  $("picture").classList.toggle("none", !blob);
  if (!blob) return report("seen", why, true);
  const old = shown;
  shown = URL.createObjectURL(blob);
  $("picture").src = shown;
  if (old) URL.revokeObjectURL(old);
  report("seen", $(kind).textContent);
}

function choose(wanted) {
  kind = wanted;
  for (const name of KINDS) $(name).setAttribute("aria-pressed", name === kind);
  // The drawing has a strip below the picture, and the areas drawn in: none can be dragged there.
  $("places").toggleAttribute("hidden", kind === "drawn");
  report("seen", word("setup.loading"));
  if (kind === "stored") picture(`${base}/picture/stored`).then(({ body: blob, why }) => kind === "stored" && showPicture(blob, why));
}

// --- the places ------------------------------------------------------------------------------

async function load() {
  const { body, why } = await ask(`${base}/places${moved && `?moved=${encodeURIComponent(moved)}`}`);
  if (why) return report("saved", why, true);
  places = new Places($("places"), body, changed);
  setText("how", word(places.measured ? "setup.measured" : "setup.measure"));
  changed();
  if (moved) places.propose({}, body.proposed);
  guide();
}

function changed() {
  const names = Object.keys(moved ? places.was : places.ways);
  const any = names.length > 0;
  $("save").disabled = !any;
  $("undo").disabled = !any;
  if (any) report("saved", word("setup.not_saved", { names: names.map(areaName).join(", ") }));
}

// --- the laid cards --------------------------------------------------------------------------

function lay(on) {
  laying = on;
  $("lay").setAttribute("aria-pressed", on);
  $("laying").hidden = !on;
  $("save").parentElement.hidden = on; // one button saves at a time
  $("keep").disabled = true;
  if (on) {
    choose("live");
    showLaid({});
    $("measured").replaceChildren(make("li", "", word("setup.models")));
    measureCards();
  } else {
    places.propose({}, {});
    $("measured").replaceChildren();
  }
}

async function measureCards() {
  if (!laying) return;
  const asked = new URLSearchParams([...without].map((name) => ["without", name]));
  if ($("size").value) asked.set("size", $("size").value);
  const { body, why } = await ask(`${base}/cards?${asked}`);
  if (!laying) return;
  if (body) {
    showLaid(body.seen);
    places.propose(body.seen, body.places);
    $("keep").disabled = body.faults.length > 0 || !body.at_rest;
    const wait = body.faults.length || body.at_rest ? [] : [word("setup.moving")];
    const fits = body.faults.length ? [] : [word("setup.fits", { mm: body.misfit_mm.toLocaleString(languageInUse()) })];
    const lines = [...body.faults.map((line) => `FAULT ${line}`), ...body.notes, ...fits, ...wait];
    renderOnce($("measured"), JSON.stringify(lines), () => lines.map(checkLine));
  } else $("measured").replaceChildren(checkLine(`FAULT ${why}`));
  setTimeout(measureCards, LIVE_MS);
}

function showLaid(seen) {
  renderOnce($("laid"), JSON.stringify([Object.keys(seen), [...without]]), () => Object.entries(LAID).map(([name, card]) => {
    const may = OPTIONAL.includes(name);
    const tile = make(may ? "button" : "div", name in seen ? "lies" : "");
    tile.append(without.has(name) ? make("span", "", "–") : cardFace(card), make("span", "", areaName(name)));
    if (may) {
      tile.type = "button";
      tile.setAttribute("aria-pressed", without.has(name));
      tile.addEventListener("click", () => { without.delete(name) || without.add(name); showLaid(seen); });
    }
    return tile;
  }));
}

async function keep() {
  $("keep").disabled = true;
  const { body, why } = await ask(`${base}/places`, { laid: true });
  if (why) return report("saved", why, true);
  lay(false);
  await load();
  report("saved", word("setup.saved", { file: body.stored ?? places.file }));
}

// --- the next step -----------------------------------------------------------------------------

function guide() {
  // Where the cards were measured the light is good enough, whatever the bars say.
  const bright = places?.measured || (gauges.length > 0 && gauges.every((one) => one.good));
  const ready = [bright, places?.measured, done.house, done.check, done.run, done.enrol];
  const next = ready.indexOf(false);
  [...$("steps").children].forEach((step, i) => {
    step.classList.toggle("done", ready[i]);
    if (i === next) step.setAttribute("aria-current", "step");
    else step.removeAttribute("aria-current");
  });
  const busy = job.running ? wordOf("busy", job.name) : "";
  setText("next", busy || (next < 0 ? word("setup.ready", { command: `shoe-reader run ${places?.file}` }) : word("setup.next", { step: word(`step.${next}`) })));
}

async function save() {
  $("save").disabled = true;
  const { body, why } = await ask(`${base}/places`, { ways: places.ways, moved, version: places.version });
  if (why) { $("save").disabled = false; return report("saved", why, true); }
  moved = "";
  await load();
  report("saved", word("setup.saved", { file: body.stored }));
}

// --- what runs -------------------------------------------------------------------------------

async function run(name) {
  if (laying) lay(false);
  const { body, why } = await ask(`${base}/job/${name}`, {});
  if (why) return setText("progress", why);
  showJob(body);
  if (name === "run") choose("drawn");
}

function showJob(now) {
  job = now;
  $("drawn").disabled = !(job.running && job.name === "run");
  if (kind === "drawn" && $("drawn").disabled) choose("live");
  for (const button of document.querySelectorAll("[data-job]")) button.disabled = job.running !== (button.dataset.job === "stop");
  if (!(job.name in OUT)) return guide();
  const seen = job.lines.findLast((line) => line.startsWith("seen "));
  const lines = job.lines.filter((line) => !line.startsWith("seen "));
  if (!job.running && job.code && job.name !== "check") lines.push(`FAULT ended with exit code ${job.code}`);
  renderOnce($(OUT[job.name]), JSON.stringify(lines), () => (job.name === "check" ? checked(lines) : lines.slice(-8).map(checkLine)));
  if (job.name === "check") done.check = !job.running && job.code === 0;
  if (job.name === "run") done.run = job.lines.some((line) => /^coup .*(Punto|Banco|Egalite) /.test(line));
  if (job.name === "enrol") showDeck(seen);
  guide();
}

function showDeck(seen) {
  done.enrol = !job.running && job.code === 0;
  $("progress").lang = seen ? "en" : languageInUse(); // a command's own line
  setText("progress", seen ?? (job.running ? word("setup.models") : ""));
  const missing = (seen?.match(/missing: ([^;]*)/)?.[1] ?? "").split(" ").filter((face) => /^[2-9TJQKA][shdc]$/.test(face));
  $("deck").hidden = !missing.length;
  renderOnce($("deck"), missing.join(), () => missing.map(cardFace));
}

// Faults first, notes folded, so that what must be done is seen without scrolling.
function checked(lines) {
  const of = (kind) => lines.filter((line) => (line.match(/^(FAULT|note)/)?.[0] ?? "") === kind).map(checkLine);
  const [last, folded, list, notes] = [make("li"), make("details"), make("ul"), of("note")];
  list.append(...notes);
  folded.append(make("summary", "", word("setup.notes", { n: notes.length })), list);
  last.append(folded);
  return [...of("FAULT"), ...of(""), ...(notes.length ? [last] : [])];
}

function checkLine(line) {
  const [, kind, rest] = line.match(/^(ok|FAULT|note) +(.*)$/) ?? [null, "", line];
  const item = make("li", kind);
  item.lang = "en";
  item.append(...(kind ? [make("b", "", word(`outcome.${kind}`))] : []), make("span", "", rest));
  return item;
}

async function follow() {
  const now = await get(`${base}/job`);
  if (now) showJob(now);
  setTimeout(follow, JOB_MS);
}

async function begin() {
  await whoAmI();
  setText("table", word("setup.title", { name: table }));
  document.title = word("setup.title", { name: table });
  $("board").href = `/table/${encodeURIComponent(table)}`;
  for (const name of KINDS) $(name).addEventListener("click", () => choose(name));
  for (const button of document.querySelectorAll("[data-job]")) button.addEventListener("click", () => run(button.dataset.job));
  $("save").addEventListener("click", save);
  $("lay").addEventListener("click", () => lay(!laying));
  $("keep").addEventListener("click", keep);
  $("undo").addEventListener("click", async () => { moved = ""; await load(); report("saved", ""); });
  beginHouse((asked) => { done.house = asked; guide(); });
  await load();
  if (!places) return;
  look();
  follow();
}

begin();
