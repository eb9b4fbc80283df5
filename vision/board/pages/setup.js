// For the engineer: the figures of each reader over the last minutes, and the alerts about machines.

import { drawing, shape } from "/cards.js";
import { $, button, make, renderOnce, titleOf, warn } from "/live.js";
import { follow, order, whoAmI } from "/session.js";
import { alertWords, word, wordOf } from "/words.js";

// Health messages stored of each reader: one a second, so ten minutes.
const MOST_STORED = 600;
const PLOTS = [
  ["fps", (health) => health.fps],
  ["event", (health) => health.event_ms?.p99],
  ["frame", (health) => health.frame_ms?.p99],
  ["cpu", (health) => health.cpu_share],
  ["unsent", (health) => health.outbox],
  ["unread", (health) => health.cards_unread],
  ["outages", (health) => health.outages],
];
const past = new Map();
let live = null;

function render() {
  warn(live.lost);
  for (const [name, table] of live.tables) remember(name, table.topics.health);
  const key = [...live.tables].map(([name, table]) => [name, live.trouble(name), table.status, [...table.alerts.values()], past.get(name)?.length, table.topics.health?.at]);
  renderOnce($("readers"), JSON.stringify(key), () => [...live.tables].map(([name, table]) => reader(name, table)));
}

// Names of rules and models with their hashes, as the house has them.
function own(text) {
  const line = make("p", "", text);
  line.lang = "en";
  return line;
}

function remember(name, health) {
  const latest = past.get(name) ?? [];
  past.set(name, latest);
  if (!health || latest.at(-1) === health) return;
  latest.push(health);
  if (latest.length > MOST_STORED) latest.shift();
}

function reader(name, table) {
  const trouble = live.trouble(name);
  const box = make("section", `reader ${trouble ? "trouble" : ""}`);
  const title = make("h2", "", titleOf(table, name));
  const link = make("a", "", word("setup.link"));
  link.href = `/setup/${encodeURIComponent(name)}${location.search}`;
  title.append(make("span", "", trouble ? word(...trouble) : word("live")));
  title.append(link);
  const { status } = table;
  box.append(title, make("p", "", [wordOf("status", status?.state), status?.why, status?.version && word("setup.version", { version: status.version })].filter(Boolean).join(" · ")),
    own([status?.profile, ...(status?.models ?? [])].filter(Boolean).join(" · ")));
  const alerts = table.open;
  const list = make("ul");
  for (const alert of alerts) {
    const item = make("li", "", alertWords(alert));
    if (!alert.acknowledged_by) {
      item.append(button("", word("dealer.seen"), async () => { item.title = await order(name, "ack_alert", { alert: alert.id }); }));
    }
    const [, moved] = alert.text?.match(/--moved ([-+.\de ]+)/) ?? [];
    if (moved) {
      const areas = make("a", "", word("setup.areas"));
      areas.href = `${link.href.split("?")[0]}?${new URLSearchParams({ ...Object.fromEntries(new URLSearchParams(location.search)), moved })}`;
      item.append(" ", areas);
    }
    list.append(item);
  }
  const plots = make("div", "plots");
  plots.append(...PLOTS.map(([label, value]) => plot(word(`plot.${label}`), (past.get(name) ?? []).map(value).filter((one) => typeof one === "number"))));
  if (alerts.length) box.append(list);
  box.append(plots);
  return box;
}

// Three figures where there are fewer than three before the point; never a power of ten.
const figures = (value) => Number.isInteger(value) || Math.abs(value) >= 100 ? String(Math.round(value)) : String(Number(value.toPrecision(3)));

// One quantity over time, from zero; the newest on the right.
function plot(label, values) {
  const figure = make("figure");
  const caption = make("figcaption", "", label);
  const last = values.at(-1);
  caption.append(make("b", "", last === undefined ? "–" : figures(last)));
  const svg = drawing(100, 30, word("setup.plot", { label, value: last ?? "–", n: values.length }));
  svg.setAttribute("preserveAspectRatio", "none");
  const top = Math.max(...values, 1e-9) * 1.1;
  const points = values.map((value, i) => `${values.length < 2 ? 100 : (100 * i) / (values.length - 1)},${30 - (30 * value) / top}`);
  svg.append(shape("polyline", { points: points.join(" "), fill: "none", stroke: "#78e096", "stroke-width": 1.5, "vector-effect": "non-scaling-stroke" }));
  figure.append(caption, svg);
  return figure;
}

live = follow(await whoAmI(), render);
