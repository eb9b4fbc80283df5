// The set-up of one table: its areas on the live picture, to be dragged; check; enrolment.

import { cardFace } from "/cards.js";
import { $, make, renderOnce, setText } from "/live.js";
import { ask, get, logOut, picture, whoAmI } from "/session.js";
import { Places } from "/setup_places.js";

// Milliseconds between two live pictures, and between two questions how the command is doing.
const LIVE_MS = 700;
const JOB_MS = 1000;
const table = decodeURIComponent(location.pathname.split("/").pop());
const base = `/api/setup/${encodeURIComponent(table)}`;
let places = null;
let kind = "live";
let shown = "";
let job = { name: "", running: false, code: null, lines: [] };
let gauges = [];
const done = { check: false, run: false, enrol: false };
// Where the lines of a command go, and what the page says while it has the camera.
const OUT = { sheet: "measured", play: "measured", check: "check", run: "coups", enrol: "enrol" };
const BUSY = {
  sheet: "Move the sheet to ten positions; let it lie for a second and take your hand away",
  play: "Deal three coups: two hands of two cards, third cards, then clear the table",
  check: "Checking …",
  run: "Deal a coup; press Stop when its result is shown",
  enrol: "Show the faces and the back",
};
const WORDS = { live: "Live from the camera", drawn: "Live, with what the reader makes of it", kept: "The empty layout at the calibration" };

function say(id, text, bad = false) {
  setText(id, text);
  $(id).classList.toggle("bad", bad);
}

// --- the picture -----------------------------------------------------------------------------

async function look() {
  // A camera on a cable serves one program at a time.
  if (job.running && kind !== "kept") {
    say("seen", "The camera is with the command that runs");
    return setTimeout(look, LIVE_MS);
  }
  const asked = kind;
  const { blob, why } = await picture(`${base}/picture/${asked}`);
  if (asked === kind) showPicture(blob, why);
  if (blob && kind === "live") measure();
  setTimeout(look, kind !== "kept" && blob ? LIVE_MS : 3000);
}

async function measure() {
  const { body } = await ask(`${base}/gauges`);
  if (!body) return;
  gauges = body;
  $("gauges").replaceChildren(...body.flatMap(gauge));
  guide();
}

function gauge({ name, value, least, most, full, good, cure }) {
  const bar = make("meter");
  Object.assign(bar, { min: 0, max: full, low: least, high: Math.min(most, full), optimum: (least + Math.min(most, full)) / 2, value, title: name });
  bar.setAttribute("aria-label", name);
  const words = make("dd", good ? "" : "bad", `${Number(value.toPrecision(2))}${good ? "" : `; ${cure}`}`);
  words.prepend(bar);
  return [make("dt", "", name), words];
}

function showPicture(blob, why) {
  $("picture").classList.toggle("none", !blob);
  if (!blob) return say("seen", why, true);
  const old = shown;
  shown = URL.createObjectURL(blob);
  $("picture").src = shown;
  if (old) URL.revokeObjectURL(old);
  say("seen", WORDS[kind]);
}

function choose(wanted) {
  kind = wanted;
  for (const name in WORDS) $(name).setAttribute("aria-pressed", name === kind);
  // The drawing has a strip below the picture, and the areas drawn in: none can be dragged there.
  $("places").toggleAttribute("hidden", kind === "drawn");
  say("seen", "Loading …");
  if (kind === "kept") picture(`${base}/picture/kept`).then(({ blob, why }) => kind === "kept" && showPicture(blob, why));
}

// --- the places ------------------------------------------------------------------------------

async function load() {
  const { body, why } = await ask(`${base}/places`);
  if (why) return say("said", why, true);
  places = new Places($("places"), body, changed);
  setText("how", !body.template ? "Measured. Measure again when camera or lens was touched."
    : "LAYOUT" in body.places ? "Print the sheet (shoe-reader calibrate --sheet sheet.pdf) and measure with it, or deal three coups. Or lay a card on each slot, and drag the corners of the dashed frame until each area lies on its card; then save."
    : "The table is measured. Drag each area onto its print, then save.");
  changed();
  guide();
}

function changed() {
  const any = Object.keys(places.moved()).length > 0;
  $("save").disabled = !any && !places.template;
  $("undo").disabled = !any;
  if (any) say("said", `Not saved yet: ${Object.keys(places.moved()).join(", ")}`);
}

// --- the next step -----------------------------------------------------------------------------

function guide() {
  const ready = [gauges.length > 0 && gauges.every((one) => one.good), !places.template, done.check, done.run, done.enrol];
  const words = ["Adjust camera, light and lens until every bar is green", "Measure the table, put the areas into place and save", "Check the table", "Read the first coup", "Enrol the house deck"];
  const next = ready.indexOf(false);
  [...$("steps").children].forEach((step, i) => {
    step.classList.toggle("done", ready[i]);
    if (i === next) step.setAttribute("aria-current", "step");
    else step.removeAttribute("aria-current");
  });
  const busy = job.running ? BUSY[job.name] : "";
  setText("next", busy || (next < 0 ? `Ready: shoe-reader run ${places.file}` : `Next: ${words[next]}`));
}

async function save() {
  $("save").disabled = true;
  const { body, why } = await ask(`${base}/places`, { places: places.template ? places.now : places.moved(), version: places.version });
  if (why) { $("save").disabled = false; return say("said", why, true); }
  await load();
  say("said", `Saved; the old file is kept as ${body.kept}. The reader uses the new file from its next start.`);
}

// --- what runs -------------------------------------------------------------------------------

async function run(name) {
  const { body, why } = await ask(`${base}/job/${name}`, {});
  if (why) return setText("progress", why);
  showJob(body);
}

function showJob(now) {
  const ended = job.running && !now.running;
  job = now;
  for (const button of document.querySelectorAll("[data-job]")) button.disabled = job.running !== (button.dataset.job === "stop");
  if (!(job.name in OUT)) return guide();
  const seen = job.lines.findLast((line) => line.startsWith("seen "));
  const lines = job.lines.filter((line) => !line.startsWith("seen "));
  if (!job.running && job.code && job.name !== "check") lines.push(`FAULT ended with exit code ${job.code}`);
  renderOnce($(OUT[job.name]), JSON.stringify(lines), () => (job.name === "check" ? checked(lines) : lines.slice(-8).map(checkLine)));
  if (job.name === "check") done.check = !job.running && job.code === 0;
  if (job.name === "run") done.run = job.lines.some((line) => /^coup .*(Punto|Banco|Egalite) /.test(line));
  if (job.name === "enrol") showDeck(seen);
  if (ended && OUT[job.name] === "measured") load();
  guide();
}

function showDeck(seen) {
  done.enrol = !job.running && job.code === 0;
  setText("progress", seen ?? (job.running ? "Loading the models …" : ""));
  const missing = (seen?.match(/missing: ([^;]*)/)?.[1] ?? "").split(" ").filter((face) => /^[2-9TJQKA][shdc]$/.test(face));
  $("deck").hidden = !missing.length;
  renderOnce($("deck"), missing.join(), () => missing.map(cardFace));
}

// Faults first, notes folded, so that what must be done is seen without scrolling.
function checked(lines) {
  const of = (kind) => lines.filter((line) => (line.match(/^(FAULT|note)/)?.[0] ?? "") === kind).map(checkLine);
  const [last, folded, list, notes] = [make("li"), make("details"), make("ul"), of("note")];
  list.append(...notes);
  folded.append(make("summary", "", `${notes.length} notes`), list);
  last.append(folded);
  return [...of("FAULT"), ...of(""), ...(notes.length ? [last] : [])];
}

function checkLine(line) {
  const [, kind, rest] = line.match(/^(ok|FAULT|note) +(.*)$/) ?? [null, "", line];
  const item = make("li", kind);
  item.append(...(kind ? [make("b", "", kind)] : []), make("span", "", rest));
  return item;
}

async function follow() {
  const now = await get(`${base}/job`);
  if (now) showJob(now);
  setTimeout(follow, JOB_MS);
}

async function begin() {
  const me = await whoAmI();
  setText("who", `${me.name}, ${me.role}`);
  setText("table", `Set up table ${table}`);
  document.title = `Set up table ${table}`;
  $("leave").addEventListener("click", logOut);
  $("board").href = `/table/${encodeURIComponent(table)}`;
  for (const name in WORDS) $(name).addEventListener("click", () => choose(name));
  for (const button of document.querySelectorAll("[data-job]")) button.addEventListener("click", () => run(button.dataset.job));
  $("save").addEventListener("click", save);
  $("undo").addEventListener("click", async () => { await load(); say("said", ""); });
  await load();
  if (!places) return;
  look();
  follow();
}

begin();
