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
const WORDS = { live: "Live from the camera", drawn: "Live, with what the reader makes of it", kept: "The empty layout at the calibration" };

function say(id, text, bad = false) {
  setText(id, text);
  $(id).classList.toggle("bad", bad);
}

// --- the picture -----------------------------------------------------------------------------

async function look() {
  const asked = kind;
  const { blob, why } = await picture(`${base}/picture/${asked}`);
  if (asked === kind) showPicture(blob, why);
  setTimeout(look, kind !== "kept" && blob ? LIVE_MS : 3000);
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
  changed();
}

function changed() {
  const any = Object.keys(places.moved()).length > 0;
  $("save").disabled = $("undo").disabled = !any;
  if (any) say("said", `Not saved yet: ${Object.keys(places.moved()).join(", ")}`);
}

async function save() {
  $("save").disabled = true;
  const { body, why } = await ask(`${base}/places`, { places: places.moved(), version: places.version });
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

function showJob(job) {
  for (const button of document.querySelectorAll("[data-job]")) button.disabled = job.running !== (button.dataset.job === "stop");
  if (job.name === "check") renderOnce($("check"), JSON.stringify(job.lines), () => sorted(job.lines).map(checkLine));
  if (job.name !== "enrol") return;
  const seen = job.lines.findLast((line) => line.startsWith("seen "));
  setText("progress", seen ?? (job.running ? "Loading the models …" : ""));
  const missing = (seen?.match(/missing: ([^;]*)/)?.[1] ?? "").split(" ").filter((face) => /^[2-9TJQKA][shdc]$/.test(face));
  $("deck").hidden = !missing.length;
  renderOnce($("deck"), missing.join(), () => missing.map(cardFace));
  const lines = job.lines.filter((line) => !line.startsWith("seen "));
  if (!job.running && job.code) lines.push(`ended with exit code ${job.code}`);
  renderOnce($("enrol"), JSON.stringify(lines), () => lines.map((line) => make("li", "", line)));
}

// Faults first, notes last, so that what must be done is seen without scrolling.
const sorted = (lines) => ["FAULT", "", "note"].flatMap((kind) => lines.filter((line) => (line.match(/^(FAULT|note)/)?.[0] ?? "") === kind));

function checkLine(line) {
  const [, kind, rest] = line.match(/^(ok|FAULT|note) +(.*)$/) ?? [null, "", line];
  const item = make("li", kind);
  item.append(make("b", "", kind), make("span", "", rest));
  return item;
}

async function follow() {
  const job = await get(`${base}/job`);
  if (job) showJob(job);
  setTimeout(follow, JOB_MS);
}

async function begin() {
  const me = await whoAmI();
  setText("who", `${me.name}, ${me.role}`);
  setText("table", `Set up table ${table}`);
  document.title = `Set up table ${table}`;
  $("leave").addEventListener("click", logOut);
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
