// The chosen alert or table: what was expected, what was seen, and the pictures.

import { cardFace } from "/cards.js";
import { hands } from "/desk_evidence.js";
import { clockTime, make, titleOf } from "/live.js";
import { alertWords, faultName, inSigns, slotName, languageInUse, word, wordOf } from "/words.js";

export function faces(cards) {
  const box = make("span", "hands");
  box.append(...cards.map(cardFace));
  return box;
}

const LONG = 18; // letters or signs; a longer fact has the whole width
const SUREST = 0.99999; // of a confidence: more is not distinguished here

function facts(rows) {
  const list = make("dl", "facts");
  for (const [name, value] of rows) {
    if (value === null || value === undefined || value === "") continue;
    const shown = make("dd");
    shown.append(value);
    const row = make("div", shown.textContent.length > LONG ? "long" : "");
    row.append(make("dt", "", name), shown);
    list.append(row);
  }
  return list;
}

export const remedyWords = (code) => [code, wordOf("remedy", code)].join(" – ");

function recorded(text) {
  const shown = make("span", "", text);
  shown.lang = "en";
  return shown;
}

// Never 100 %: the reader is as sure as its figures go.
function percent(share) {
  if (typeof share !== "number") return null;
  const style = { style: "percent", maximumFractionDigits: share > 0.999 ? 3 : 1 };
  return share > SUREST ? `> ${SUREST.toLocaleString(languageInUse(), style)}` : share.toLocaleString(languageInUse(), style);
}

// `coup` has the hands as they are published; what is in question is marked in them.
export function alertFacts(name, table, alert, coup) {
  const severity = make("span", `severity ${alert.severity}`, wordOf("severity", alert.severity));
  const where = `${titleOf(table, name)} · ${word("shoe")} ${alert.shoe} · ${word("coup")} ${alert.coup} · ${clockTime(alert.raised_at)} · ${languageInUse() === "en" ? `${faultName(alert.code)} · ` : ""}${alert.id}`;
  return [
    severity, make("p", "title", alertWords(alert)), make("p", "where", where),
    ...(coup ? [hands(coup, alert)] : []),
    facts([
      [word("desk.recorded"), languageInUse() === "en" ? null : recorded(inSigns(alert.text))],
      [word("col.state"), wordOf("state", alert.state)], [word("desk.count"), alert.count > 1 ? alert.count : null],
      [word("desk.acknowledged_by"), alert.acknowledged_by ? `${alert.acknowledged_by}, ${clockTime(alert.acknowledged_at)}` : null],
      [word("desk.expected"), (alert.expected ?? []).map(slotName).join(" / ") || word("desk.no_card")], [word("desk.observed"), alert.observed ? slotName(alert.observed) : null],
      [word("col.card"), alert.card && !coup ? faces([alert.card]) : null], [word("col.confidence"), percent(alert.confidence)],
      [word("desk.odds"), typeof alert.odds === "number" ? word("desk.times", { n: Number(alert.odds.toPrecision(3)).toLocaleString(languageInUse()) }) : null],
      [word("col.second"), alert.second ? faces([alert.second]) : null],
      [word("desk.face"), alert.exposed === null || alert.exposed === undefined ? null : word(alert.exposed ? "desk.exposed" : "desk.face_down")],
      [word("desk.check_card"), alert.check_card ? word("desk.second_fits") : null],
      [word("desk.in_time"), alert.in_time === null ? null : word(alert.in_time ? "yes" : "no")],
      [word("col.remedy"), alert.remedy ? remedyWords(alert.remedy) : null],
      [word("desk.changed_by"), alert.by ? `${alert.by} (${wordOf("role", alert.role)})` : null], [word("col.comment"), alert.reason],
      [word("col.category"), alert.category ? wordOf("category", alert.category) : null],
    ]),
  ];
}

export function tableFacts(name, table, coup) {
  const { live, shoe, status } = table;
  return [
    make("p", "title", titleOf(table, name)),
    facts([
      [word("col.state"), `${wordOf("status", status?.state ?? "unknown")}${status?.why ? `: ${status.why}` : ""}`], [word("desk.rules"), status?.profile ? recorded(status.profile.split(" ")[0]) : null],
      [word("shoe"), shoe?.shoe], [word("desk.cards_out"), shoe?.cards_out], [word("desk.burned"), shoe?.burned], [word("coup"), coup],
      [word("side.punto"), live ? faces(live.punto.cards) : null], [word("side.banco"), live ? faces(live.banco.cards) : null],
    ]),
  ];
}
