// The chosen alert or table: what was expected, what was seen, and the pictures.

import { cardFace } from "/cards.js";
import { framesOf, player } from "/clip.js";
import { clockTime, make, titleOf } from "/live.js";
import { REMEDIES } from "/desk_actions.js";
import { faultName, word } from "/words.js";

export const slotName = (slot) => slot ? slot[0] + slot.slice(1).toLowerCase().replace("_", " ") : "–";

export function faces(cards) {
  const box = make("span", "hands");
  box.append(...cards.map(cardFace));
  return box;
}

function facts(rows) {
  const list = make("dl", "facts");
  for (const [name, value] of rows) {
    if (value === null || value === undefined || value === "") continue;
    const shown = make("dd");
    shown.append(value);
    list.append(make("dt", "", name), shown);
  }
  return list;
}

const stateName = (state) => word(`state.${state}`);
const percent = (share) => typeof share === "number" ? `${(100 * share).toFixed(share > 0.999 ? 3 : 1)} %` : null;

export function alertFacts(name, table, alert) {
  const severity = make("span", `severity ${alert.severity}`, word(`severity.${alert.severity}`));
  const where = `${titleOf(table, name)} · ${word("shoe")} ${alert.shoe} · ${word("coup")} ${alert.coup} · ${faultName(alert.code)} · ${alert.id}`;
  return [
    severity, make("p", "title", alert.text), make("p", "where", where),
    facts([
      [word("desk.state"), stateName(alert.state)], [word("desk.raised"), clockTime(alert.raised_at)],
      [word("desk.acknowledged_by"), alert.acknowledged_by ? `${alert.acknowledged_by}, ${clockTime(alert.acknowledged_at)}` : null],
      [word("desk.expected"), (alert.expected ?? []).map(slotName).join(" / ") || word("desk.no_card")], [word("desk.observed"), alert.observed ? slotName(alert.observed) : null],
      [word("desk.card"), alert.card ? faces([alert.card]) : null], [word("desk.confidence"), percent(alert.confidence)],
      [word("desk.odds"), typeof alert.odds === "number" ? word("desk.times", { n: Number(alert.odds.toPrecision(3)).toLocaleString() }) : null],
      [word("desk.second"), alert.second ? faces([alert.second]) : null],
      ["Face", alert.exposed === null || alert.exposed === undefined ? null : alert.exposed ? "exposed" : "face down"],
      ["Check card", alert.check_card ? "no fault under the second-best reading" : null],
      ["Put right in time", alert.in_time === null ? null : alert.in_time ? "yes" : "no"],
      [word("desk.remedy"), alert.remedy ? `${alert.remedy}: ${REMEDIES[alert.remedy] ?? ""}` : null],
      [word("desk.changed_by"), alert.by ? `${alert.by} (${alert.role ?? ""})` : null], [word("desk.comment"), alert.reason],
    ]),
    pictures(name, alert.evidence ?? []),
  ];
}

export function tableFacts(name, table, coup) {
  const { live, shoe, status } = table;
  return [
    make("p", "title", titleOf(table, name)),
    facts([
      ["Status", `${status?.state ?? "unknown"}${status?.why ? `: ${status.why}` : ""}`], ["Rules", status?.profile?.split(" ")[0]],
      ["Shoe", shoe?.shoe], ["Cards out", shoe?.cards_out], ["Burned", shoe?.burned], ["Coup", coup],
      ["Punto", live ? faces(live.punto.cards) : null], ["Banco", live ? faces(live.banco.cards) : null],
    ]),
  ];
}

export function pictures(table, topics) {
  const box = make("div", "pictures");
  for (const topic of topics) {
    const address = `/api/media/${encodeURIComponent(table)}/${topic.split("/").slice(-2).map(encodeURIComponent).join("/")}`;
    box.append(topic.includes("clip/") ? clip(address) : still(address));
  }
  return box;
}

function still(address) {
  const image = make("img");
  image.src = address;
  image.alt = "The table at that time";
  image.addEventListener("error", () => image.replaceWith(make("p", "empty", "The picture is not kept at this desk.")));
  return image;
}

function clip(address) {
  const box = make("div", "", "Loading the clip");
  fetch(address).then(async (answer) => {
    const frames = answer.ok ? framesOf(await answer.arrayBuffer()) : [];
    box.replaceChildren(frames.length ? player(frames, "Before and after the alert") : make("p", "empty", "The clip is not kept at this desk."));
  }).catch(() => { box.textContent = "The clip cannot be loaded."; });
  return box;
}
