// Earlier coups: the shoes of each table, card by card, and a search over them.

import { coupActions } from "/desk_actions.js";
import { faces, remedyWords } from "/desk_detail.js";
import { coupStored, hands, pictures } from "/desk_evidence.js";
import { button, clockTime, labelled, make, options, titleOf } from "/live.js";
import { download, get } from "/session.js";
import { alertWords, cardText, faultName, faultNames, slotName, word, wordOf } from "/words.js";

const PUBLISHED_MS = 400; // in which what an order changed has come; shorter shows the coup as it was
const day = (iso) => (iso ? `${iso.slice(0, 10)} ${clockTime(iso)}` : "–");

function listTable(heads, rows) {
  const box = make("div", "scroll");
  const table = make("table", "list");
  box.append(table);
  box.tabIndex = 0; // what is wider than the window is scrolled by keys too
  box.setAttribute("role", "region");
  box.setAttribute("aria-label", word(heads[0]));
  const head = make("tr");
  for (const name of heads) {
    const cell = make("th", "", word(name));
    cell.scope = "col";
    head.append(cell);
  }
  table.append(head);
  for (const cells of rows) {
    const row = make("tr");
    for (const cell of cells) {
      const box = make("td");
      box.append(cell ?? "");
      row.append(box);
    }
    table.append(row);
  }
  return box;
}

function link(text, ...path) {
  const found = make("a", "", text);
  found.href = `#${path.map(encodeURIComponent).join("/")}`;
  found.style.color = "inherit";
  return found;
}

export async function openHistory(box, live, [table, shoe, coup], me) {
  if (shoe) return openShoe(box, live, [table, shoe, coup], me);
  const parts = [make("h2", "", word("desk.shoes"))];
  for (const [name, known] of live.tables) {
    const shoes = (await get(`/api/history/${encodeURIComponent(name)}`)) ?? [];
    parts.push(make("h3", "", titleOf(known, name)));
    parts.push(shoes.length ? listTable(["shoe", "col.coups", "col.cards", "col.alerts", "col.from", "col.to"], shoes.map((one) => [
      link(one.shoe, "history", name, one.shoe), one.coups, one.cards, one.alerts, day(one.first), day(one.last),
    ])) : make("p", "empty", word("history.empty")));
  }
  box.replaceChildren(...parts);
}

async function openShoe(box, live, [table, shoe, chosen], me) {
  const whole = await get(`/api/history/${encodeURIComponent(table)}/${encodeURIComponent(shoe)}`);
  const title = make("h2", "", word("history.shoe", { table: titleOf(live.tables.get(table), table), shoe }));
  if (!whole) return box.replaceChildren(title, make("p", "empty", word("history.unknown")));
  box.replaceChildren(link(word("history.all"), "history"), title, ...whole.coups.slice().reverse().map((coup) => coupBox({ live, table, shoe, me }, coup, String(coup.coup) === chosen)));
  // Whoever came by a key goes on from here.
  (box.querySelector("details[open] > summary") ?? box.querySelector("summary"))?.focus();
}

const winnerOf = (result) => (result.winner ? word(`side.${result.winner}`) : wordOf("result", result.state));

// What it came to last, in words.
function summaryOf(coup) {
  const last = coup.results[coup.results.length - 1];
  const words = last ? `${winnerOf(last)} ${last.punto.points ?? "–"}:${last.banco.points ?? "–"}` : word("history.no_result");
  const more = [last?.revision ? word("history.revision", { n: last.revision }) : "", coup.alerts.length ? word("history.alerts", { n: coup.alerts.length }) : ""].filter(Boolean);
  return word("previous", { coup: coup.coup, result: `${words}${more.length ? ` (${more.join(", ")})` : ""}` });
}

function coupBox(place, coup, open) {
  const { table, shoe } = place;
  const box = make("details", "panel");
  const reply = make("p", "reply");
  reply.setAttribute("role", "status");
  const build = (now) => box.replaceChildren(make("summary", "", summaryOf(now)), reply, ...orders(place, now), exportBox(table, shoe, now.coup), ...coupParts(table, now));
  box.append(make("summary", "", summaryOf(coup)));
  // Built when it is opened, because a shoe has hundreds of pictures; and again after an order.
  box.addEventListener("toggle", () => { if (box.open && box.children.length === 1) build(coup); });
  box.addEventListener("done", () => setTimeout(async () => build(await coupStored(table, shoe, coup.coup) ?? coup), PUBLISHED_MS));
  box.open = open;
  return box;
}

// What a person may do about a coup; of a shoe that is over nothing can be changed any more.
function orders({ live, table, shoe, me }, coup) {
  const last = coup.results.at(-1);
  if (!last) return [];
  const known = live.tables.get(table);
  const panel = make("details", "orders");
  const can = known?.shoe?.shoe === shoe ? coupActions(table, known, last, me) : [make("p", "empty", word("history.over"))];
  panel.append(make("summary", "", word("desk.can_do")), ...can);
  return [hands(last), panel];
}

// For a dispute: the part of the log, the evidence and the receipt of their verification, in one file.
function exportBox(table, shoe, coup) {
  const row = make("div", "row");
  const reply = make("span", "where");
  reply.setAttribute("role", "status");
  row.append(button("", word("history.export"), async () => {
    reply.textContent = word("history.verifying");
    const path = [table, shoe, coup].map(encodeURIComponent).join("/");
    reply.textContent = (await download(`/api/export/${path}`, `${table}-${shoe}-${coup}.zip`)) || word("history.downloaded");
  }), reply);
  return row;
}

// The changes of an alert, step by step: each is published on two topics, and shown once.
function steps(messages) {
  const facts = (one) => JSON.stringify([one.state, one.text, one.by, one.acknowledged_by, one.remedy, one.reason]);
  return messages.filter((one, i) => !i || facts(one) !== facts(messages[i - 1]));
}

function coupParts(table, coup) {
  const parts = [];
  if (coup.results.length) {
    parts.push(make("h3", "", word("history.results")), listTable(["col.revision", "col.state", "side.punto", "side.banco", "col.winner", "col.by", "col.reason", "col.message"], coup.results.map((one) => [
      one.revision, wordOf("result", one.state), faces(one.punto.cards), faces(one.banco.cards), one.winner ? winnerOf(one) : wordOf("held", one.why), one.by, one.reason, `${one.seq}, ${clockTime(one.at)}`,
    ])));
  }
  if (coup.alerts.length) {
    parts.push(make("h3", "", word("desk.alerts")), listTable(["col.alert", "col.fault", "col.text", "col.state", "col.by", "col.remedy", "col.category", "col.comment"], coup.alerts.flatMap((alert) => steps(alert.steps).map((one) => [
      `${one.id}, ${clockTime(one.changed_at)}`, faultName(one.code), alertWords(one), wordOf("state", one.state), one.by || one.acknowledged_by, one.remedy ? remedyWords(one.remedy) : "", one.category ? wordOf("category", one.category) : "", one.reason,
    ]))));
    const shown = coup.alerts.flatMap((alert) => (alert.evidence ?? []).map((topic) => [topic, faultName(alert.code)]));
    if (shown.length) {
      const box = make("div", "pictures");
      box.append(...pictures(table, shown));
      parts.push(make("h3", "", word("history.pictures")), box);
    }
  }
  parts.push(make("h3", "", word("history.cards")), listTable(["col.order", "col.slot", "col.card", "col.confidence", "col.second", "col.message", "col.picture", "SHA-256"], coup.cards.map((card) => {
    const shown = coup.pictures.filter((one) => one.order === card.order && !one.alert).pop();
    return [
      card.order, slotName(card.slot), card.card ? faces([card.card]) : word("card.unread"), card.confidence, cardText(card.second), `${card.seq}, ${clockTime(card.at)}`,
      shown ? pictures(table, [[shown.topic, cardText(card.card)]])[0] : "", shown ? make("code", "", shown.sha256) : "",
    ];
  })));
  return parts;
}

function field(text, name, { choices, ...attributes }) {
  const input = Object.assign(make(choices ? "select" : "input"), { name, ...attributes });
  if (choices) input.append(...options(choices));
  return labelled(text, input);
}

// The fault, and the reader's words where the page is in the reader's language.
function foundWords(alert) {
  const more = alertWords(alert);
  return more.startsWith(faultName(alert.code)) ? more : `${faultName(alert.code)}: ${more}`;
}

export function openSearch(box, live) {
  if (box.children.length) return box.querySelector("form").requestSubmit();
  const form = make("form", "act");
  const tables = [["", word("reports.all")], ...[...live.tables].map(([name, table]) => [name, titleOf(table, name)])];
  form.append(field(word("col.what"), "kind", { choices: [["alert", word("col.alerts")], ["card", word("search.cards")], ["", word("search.both")]] }), field(word("reports.table"), "table", { choices: tables }), field(word("col.fault"), "code", { choices: [["", word("search.all_faults")], ...faultNames()] }),
    field(word("col.card"), "card", { placeholder: "As, Td", size: 6, maxLength: 2 }), field(word("reports.since"), "since", { type: "datetime-local" }),
    field(word("search.until"), "until", { type: "datetime-local" }), make("button", "first", word("search.go")));
  const found = make("div");
  found.setAttribute("aria-live", "polite");
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const wanted = new URLSearchParams(new FormData(form));
    for (const key of ["since", "until"]) if (wanted.get(key)) wanted.set(key, new Date(wanted.get(key)).toISOString());
    const rows = (await get(`/api/search?${wanted}`)) ?? [];
    found.replaceChildren(make("p", "empty", word("search.found", { n: rows.length })),
      listTable(["time", "col.table", "shoe", "coup", "col.what", "col.state", "col.by", "col.remedy", "col.category"], rows.map((one) => [
        day(one.at), titleOf(live.tables.get(one.table), one.table).replaceAll(" ", "\u00a0"), one.shoe, link(one.coup, "history", one.table, one.shoe, String(one.coup)),
        one.kind === "alert" ? foundWords(one) : `${slotName(one.slot)}: ${one.card ? cardText(one.card) : word("card.unread")}`, one.kind === "alert" ? wordOf("state", one.state) : "", one.by, one.remedy ? remedyWords(one.remedy) : "", one.category ? wordOf("category", one.category) : "",
      ])));
  });
  box.replaceChildren(make("h2", "", word("desk.search")), form, found);
  // The last alerts are shown at once.
  form.requestSubmit();
}
