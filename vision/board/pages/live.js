// The connection to the board server: the state of each table, and whether it can be trusted.

import { listen } from "/stream.js";
import { word } from "/words.js";

// Seconds without an event or message after which a page calls itself not live: two ticks of the server, and half a one to spare.
const SILENT_S = 2.5;
const OPEN = ["raised", "acknowledged", "lapsed"]; // states of an alert that somebody has to do something about

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

  get open() { return [...this.alerts.values()].filter((alert) => OPEN.includes(alert.state)); }
  get status() { return this.topics.status; }
  get shoe() { return this.topics.shoe; }
  get live() { return this.topics["coup/live"]; }
  get roads() { return this.topics.roads; }
  get result() { return this.results.size ? this.results.get(Math.max(...this.results.keys())) : undefined; }
}

export class Live {
  // `changed` is called after each change, and twice a second, because silence is a change too.
  constructor(address, changed) {
    this.tables = new Map();
    this.tick = null;
    this.heard = performance.now();
    this.planned = false;
    this.changed = changed;
    this.refused = () => {};
    listen(address, (kind, data) => this.hear(kind, data));
    setInterval(() => this.plan(), 500);
    addEventListener("resize", () => this.plan());
  }

  hear(kind, data) {
    if (kind === "refused") return this.refused();
    if (kind === "tick") this.tick = data;
    if (kind === "reset") this.reset(data);
    else if (kind === "update") this.take(data);
    this.note();
  }

  reset(house) {
    this.tables = new Map(Object.entries(house).map(([name, said]) => [name, new Table(said)]));
  }

  take({ table, topic, payload }) {
    this.tables.get(table)?.take(topic, payload);
  }

  note() {
    this.heard = performance.now();
    this.plan();
  }

  plan() {
    if (this.planned) return;
    this.planned = true;
    requestAnimationFrame(() => { this.planned = false; this.changed(this); });
  }

  // What is wrong, the worst first, as the key of a word and its values; null when nothing is.
  trouble(name) {
    if ((performance.now() - this.heard) / 1000 > SILENT_S) return ["trouble.page", {}];
    if (!this.tick) return ["trouble.connecting", {}];
    if (!this.tick.link) return ["trouble.broker", {}];
    const status = this.tables.get(name)?.status;
    if (!status) return ["trouble.waiting", {}];
    if (status.state !== "online") return [`trouble.${status.state}`, {}];
    const silent = this.tick.silent_s[name] ?? 0;
    return silent > SILENT_S ? ["trouble.silent", { s: Math.round(silent) }] : null;
  }
}

export const $ = (id) => document.getElementById(id);

export function make(tag, className, text) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined && text !== null) node.textContent = text;
  return node;
}

// Change the page only where it differs, so that a quiet table costs nothing.
export function setText(id, text) {
  const node = $(id);
  if (node.textContent !== String(text)) node.textContent = text;
}

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

export function clockTime(iso) {
  const at = new Date(iso);
  return Number.isNaN(at.getTime()) ? "–" : at.toLocaleTimeString([], { hour12: false });
}
