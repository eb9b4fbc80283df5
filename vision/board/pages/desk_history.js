// Earlier coups: the shoes of each table, card by card, and a search over them.

import { REMEDIES } from "/desk_actions.js";
import { faces, pictures, slotName } from "/desk_detail.js";
import { clockTime, make, titleOf } from "/live.js";
import { download, get } from "/session.js";
import { faultName, faultNames } from "/words.js";

const day = (iso) => (iso ? `${iso.slice(0, 10)} ${clockTime(iso)}` : "–");

function listTable(heads, rows) {
  const table = make("table", "list");
  const head = make("tr");
  for (const text of heads) {
    const cell = make("th", "", text);
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
  return table;
}

function link(text, ...path) {
  const found = make("a", "", text);
  found.href = `#${path.map(encodeURIComponent).join("/")}`;
  found.style.color = "inherit";
  return found;
}

export async function openHistory(box, live, [table, shoe, coup]) {
  if (shoe) return openShoe(box, live, table, shoe, coup);
  const parts = [make("h2", "", "Shoes")];
  for (const [name, known] of live.tables) {
    const shoes = (await get(`/api/history/${encodeURIComponent(name)}`)) ?? [];
    parts.push(make("h3", "", titleOf(known, name)));
    parts.push(shoes.length ? listTable(["Shoe", "Coups", "Cards", "Alerts", "From", "To"], shoes.map((one) => [
      link(one.shoe, "history", name, one.shoe), one.coups, one.cards, one.alerts, day(one.first), day(one.last),
    ])) : make("p", "empty", "No messages from this table yet."));
  }
  box.replaceChildren(...parts);
}

async function openShoe(box, live, table, shoe, chosen) {
  const whole = await get(`/api/history/${encodeURIComponent(table)}/${encodeURIComponent(shoe)}`);
  const title = make("h2", "", `${titleOf(live.tables.get(table), table)} · shoe ${shoe}`);
  if (!whole) return box.replaceChildren(title, make("p", "empty", "This shoe is not known here."));
  box.replaceChildren(link("All shoes", "history"), title, ...whole.coups.slice().reverse().map((coup) => coupBox(table, shoe, coup, String(coup.coup) === chosen)));
}

function coupBox(table, shoe, coup, open) {
  const box = make("details");
  const last = coup.results[coup.results.length - 1];
  const words = last ? `${last.winner ?? last.state} ${last.punto.points ?? "–"}:${last.banco.points ?? "–"}` : "no result";
  const more = [last?.revision ? `revision ${last.revision}` : "", coup.alerts.length ? `alerts: ${coup.alerts.length}` : ""].filter(Boolean);
  box.append(make("summary", "", `Coup ${coup.coup}: ${words}${more.length ? ` (${more.join(", ")})` : ""}`));
  // Built when it is opened, because a shoe has hundreds of pictures.
  box.addEventListener("toggle", () => { if (box.open && box.children.length === 1) box.append(exportBox(table, shoe, coup.coup), ...coupParts(table, coup)); });
  box.open = open;
  return box;
}

// For a dispute: the part of the log, the evidence and the receipt of their verification, in one file.
function exportBox(table, shoe, coup) {
  const row = make("div", "row");
  const button = make("button", "", "Download the archive of this coup");
  const said = make("span", "where");
  said.setAttribute("role", "status");
  button.type = "button";
  button.addEventListener("click", async () => {
    said.textContent = "Verifying the log …";
    const path = [table, shoe, coup].map(encodeURIComponent).join("/");
    said.textContent = (await download(`/api/export/${path}`, `${table}-${shoe}-${coup}.zip`)) || "Downloaded";
  });
  row.append(button, said);
  return row;
}

// The changes of an alert, step by step: each is published on two topics, and shown once.
function steps(told) {
  const facts = (one) => JSON.stringify([one.state, one.text, one.by, one.acknowledged_by, one.remedy, one.reason]);
  return told.filter((one, i) => !i || facts(one) !== facts(told[i - 1]));
}

function coupParts(table, coup) {
  const parts = [];
  if (coup.results.length) {
    parts.push(make("h3", "", "Results"), listTable(["Revision", "State", "Punto", "Banco", "Winner", "By", "Reason", "Message"], coup.results.map((one) => [
      one.revision, one.state, faces(one.punto.cards), faces(one.banco.cards), one.winner ?? one.why, one.by, one.reason, `${one.seq}, ${clockTime(one.at)}`,
    ])));
  }
  if (coup.alerts.length) {
    parts.push(make("h3", "", "Alerts"), listTable(["Alert", "Fault", "Text", "State", "By", "Remedy", "Comment"], coup.alerts.flatMap((alert) => steps(alert.told).map((one) => [
      `${one.id}, ${clockTime(one.changed_at)}`, faultName(one.code), one.text, one.state, one.by || one.acknowledged_by, one.remedy ? `${one.remedy}: ${REMEDIES[one.remedy] ?? ""}` : "", one.reason,
    ]))));
    const shown = [...new Set(coup.alerts.flatMap((alert) => alert.evidence ?? []))];
    if (shown.length) parts.push(make("h3", "", "Pictures of the alerts"), pictures(table, shown));
  }
  parts.push(make("h3", "", "Cards"), listTable(["Order", "Slot", "Card", "Confidence", "Second", "Message", "Picture", "SHA-256"], coup.cards.map((card) => {
    const shown = coup.pictures.filter((one) => one.order === card.order && !one.alert).pop();
    return [
      card.order, slotName(card.slot), card.card ? faces([card.card]) : "unread", card.confidence, card.second, `${card.seq}, ${clockTime(card.at)}`,
      shown ? pictures(table, [shown.topic]) : "", shown ? make("code", "", shown.sha256) : "",
    ];
  })));
  return parts;
}

function field(label, name, attributes) {
  const box = make("label", "", label);
  const input = make(attributes.options ? "select" : "input");
  const { options = [], ...others } = attributes;
  Object.assign(input, { name, ...others });
  for (const [value, text] of options) {
    const option = make("option", "", text);
    option.value = value;
    input.append(option);
  }
  box.append(input);
  return box;
}

export function openSearch(box, live) {
  if (box.children.length) return box.querySelector("form").requestSubmit();
  const form = make("form", "act");
  const tables = [["", "all tables"], ...[...live.tables].map(([name, table]) => [name, titleOf(table, name)])];
  form.append(field("What", "kind", { options: [["alert", "alerts"], ["card", "cards"], ["", "both"]] }), field("Table", "table", { options: tables }), field("Fault", "code", { options: [["", "all faults"], ...faultNames()] }),
    field("Card", "card", { placeholder: "As, Td", size: 6, maxLength: 2 }), field("From", "since", { type: "datetime-local" }),
    field("Until", "until", { type: "datetime-local" }), make("button", "first", "Search"));
  const found = make("div");
  found.setAttribute("aria-live", "polite");
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const wanted = new URLSearchParams(new FormData(form));
    for (const key of ["since", "until"]) if (wanted.get(key)) wanted.set(key, new Date(wanted.get(key)).toISOString());
    const rows = (await get(`/api/search?${wanted}`)) ?? [];
    found.replaceChildren(make("p", "empty", rows.length ? `${rows.length} found, newest first` : "Nothing found"),
      listTable(["Time", "Table", "Shoe", "Coup", "What", "State", "By", "Remedy"], rows.map((one) => [
        day(one.at), titleOf(live.tables.get(one.table), one.table), one.shoe, link(one.coup, "history", one.table, one.shoe, String(one.coup)),
        one.kind === "alert" ? `${faultName(one.code)}: ${one.text}` : `${slotName(one.slot)}: ${one.card ?? "unread"}`, one.state, one.by, one.remedy,
      ])));
  });
  box.replaceChildren(make("h2", "", "Search"), form, found);
  // The last alerts are shown at once.
  form.requestSubmit();
}
