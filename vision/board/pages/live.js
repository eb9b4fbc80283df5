// The connection to the board server: the state of each table, and whether it can be trusted.

import { listen } from "/stream.js";
import { useLanguage, languageInUse, wanted, word } from "/words.js";

// Seconds without an event or message after which a page calls itself not live: two ticks of the server, and half a one to spare.
const SILENT_S = 2.5;
const OPEN = ["raised", "acknowledged", "lapsed"]; // states of an alert that somebody has to do something about
const LINK = ["trouble.page", "trouble.connecting", "trouble.broker"]; // what is wrong with the page itself, whatever the table
export const SEVERITIES = ["critical", "warning", "advisory", "info"];
const DEADLINES = ["next-card", "settlement", "next-coup", "shoe-end", "none"];

// Alerts, the gravest first.
export function byGravity(a, b) {
  const [x, y] = [a, b].map((alert) => 10 * SEVERITIES.indexOf(alert.severity) + DEADLINES.indexOf(alert.deadline));
  return x - y || String(a.raised_at).localeCompare(String(b.raised_at));
}

// The state of one table: the newest message of each topic, and all results and alerts.
class Table {
  constructor(house) {
    this.house = house;
    this.topics = {};
    this.results = new Map();
    this.alerts = new Map();
    this.cards = new Map();
  }

  take(topic, payload) {
    if (topic.startsWith("alert")) this.takeAlert(topic, payload);
    else if (topic === "card") this.takeCard(payload);
    else if (topic === "coup/result" && payload) this.takeResult(payload);
    else if (payload) this.topics[topic] = payload;
    else delete this.topics[topic];
  }

  takeResult(payload) {
    const [any] = this.results.values();
    if (any && any.shoe !== payload.shoe) this.results.clear();
    this.results.set(payload.coup, payload);
  }

  takeAlert(topic, payload) {
    const id = payload?.id ?? topic.slice("alert/".length);
    const known = this.alerts.get(id);
    // `alert` is the message of the raising; `alert/{id}` has the present state.
    if (topic === "alert" && known) return;
    if (payload) this.alerts.set(id, payload);
    else if (known) known.state = "closed";
  }

  takeCard(payload) {
    const [any] = this.cards.values();
    if (any && any.shoe !== payload.shoe) this.cards.clear();
    this.cards.set(payload.order, { ...this.cards.get(payload.order), ...payload });
  }

  get open() { return [...this.alerts.values()].filter((alert) => OPEN.includes(alert.state)).sort(byGravity); }
  get status() { return this.topics.status; }
  get shoe() { return this.topics.shoe; }
  get live() { return this.topics["coup/live"]; }
  get roads() { return this.topics.roads; }
  get result() { return this.results.size ? this.results.get(Math.max(...this.results.keys())) : undefined; }
}

export class Live {
  // `changed` is called after each change, and twice a second, because silence is a change too; in the language of the
  // table called `name`, or the first, unless another is wanted.
  constructor(address, changed) {
    this.tables = new Map();
    this.name = "";
    this.tick = null;
    this.receivedAt = performance.now();
    this.planned = false;
    this.changed = changed;
    this.refused = () => {};
    listen(address, (kind, data) => this.receive(kind, data));
    setInterval(() => this.plan(), 500);
    addEventListener("resize", () => this.plan());
  }

  receive(kind, data) {
    if (kind === "refused") return this.refused();
    if (kind === "tick") this.tick = data;
    else if (kind === "reset") this.tables = new Map(Object.entries(data).map(([name, facts]) => [name, new Table(facts)]));
    else this.tables.get(data.table)?.take(data.topic, data.payload);
    this.receivedAt = performance.now();
    this.plan();
  }

  plan() {
    if (this.planned) return;
    this.planned = true;
    requestAnimationFrame(() => {
      this.planned = false;
      const [any] = this.tables.values();
      const language = wanted || (this.tables.get(this.name) ?? any)?.house.language || languageInUse() || "en";
      if (language !== languageInUse()) useLanguage(language).then(() => this.plan());
      else this.changed(this);
    });
  }

  // What is wrong with the page itself, null when nothing is.
  get lost() {
    const trouble = this.trouble("");
    return trouble && LINK.includes(trouble[0]) ? trouble : null;
  }

  // What is wrong, the worst first, as the key of a word and its values; null when nothing is.
  trouble(name) {
    if ((performance.now() - this.receivedAt) / 1000 > SILENT_S) return ["trouble.page", {}];
    if (!this.tick) return ["trouble.connecting", {}];
    if (!this.tick.link) return ["trouble.broker", {}];
    const status = this.tables.get(name)?.status;
    if (!status) return ["trouble.waiting", {}];
    if (status.state !== "online") return [`trouble.${status.state}`, {}];
    const silent = this.tick.silent_s[name] ?? 0;
    return silent > SILENT_S ? ["trouble.silent", { s: Math.round(silent) }] : null;
  }
}

// Show what is wrong, if anything.
export function warn(trouble) {
  document.body.classList.toggle("stale", trouble !== null);
  if (trouble) setText("notice", word(...trouble));
}

export const $ = (id) => document.getElementById(id);

export function make(tag, className, text) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined && text !== null) node.textContent = text;
  return node;
}

export function button(className, text, action) {
  const node = make("button", className, text);
  node.type = "button";
  node.addEventListener("click", action);
  return node;
}

export function labelled(text, input, className = "") {
  const label = make("label", className, text);
  label.append(input);
  return label;
}

export const options = (pairs, chosen) => pairs.map(([value, text]) => new Option(text, value, value === chosen, value === chosen));

// Change the page only where it differs, so that a quiet table costs nothing.
export function put(node, text) {
  if (node.textContent !== String(text)) node.textContent = text;
}

export const setText = (id, text) => put($(id), text);

const shown = new WeakMap();

export function renderOnce(box, key, build) {
  if (shown.get(box) === key) return;
  shown.set(box, key);
  // Whoever is at it by keyboard stays at what it is about; where that is gone, in the same box.
  const had = box.contains(document.activeElement) ? document.activeElement.dataset : null;
  box.replaceChildren(...build());
  const again = had && [...box.querySelectorAll("[data-key], [data-order]")].find((node) => node.dataset.key === had.key && node.dataset.order === had.order);
  if (had) (again ?? box.querySelector("button, a") ?? box.querySelector("input, select"))?.focus();
}

export const titleOf = (table, name) => table?.house.title || word("table", { name });

export function age(iso) {
  const s = Math.max(0, Math.floor((Date.now() - new Date(iso).getTime()) / 1000));
  const parts = [Math.floor(s / 60) % 60, s % 60].map((part) => String(part).padStart(2, "0"));
  return s < 3600 ? parts.join(":") : [Math.floor(s / 3600), ...parts].join(":");
}

export function clockTime(iso) {
  const at = new Date(iso);
  return Number.isNaN(at.getTime()) ? "–" : at.toLocaleTimeString([], { hour12: false });
}
