// The actions for the chosen alert, coup or table, as orders in the name of the person who is logged in.

import { correctPanel } from "/desk_correct.js";
import { remedyWords } from "/desk_detail.js";
import { act, select, words } from "/desk_forms.js";
import { labelled, make, titleOf } from "/live.js";
import { SLOTS, slotName, word, wordOf } from "/words.js";

const REMEDIES = Array.from({ length: 12 }, (_, i) => `R${i + 1}`);
const CATEGORIES = ["dealer", "procedure", "reader", "training", "other"];

const can = (me, ...roles) => roles.includes(me.role);

// `others` are alerts of the same kind at the table, which one close can end too.
export function alertActions(table, alert, others, me) {
  if (alert.state === "closed") return [make("p", "empty", word("desk.closed"))];
  const open = alert.state !== "rectified";
  const about = alert.id;
  const [comment, reason] = words(word("desk.comment_sent"), about);
  const plain = (name, label, more = {}) => act({ table, name, label, about, fields: () => ({ alert: alert.id, ...reason() }), ...more });
  const row = make("div", "row");
  if (open && !alert.acknowledged_by) row.append(plain("ack_alert", word("desk.acknowledge"), { first: true, key: "a" }));
  row.append(plain("comment_alert", word("desk.add_comment")));
  const found = [make("h3", "", word("desk.can_do")), comment, row];
  if (open && can(me, "inspector")) {
    const [remedyBox, remedy, input] = select(word("col.remedy"), [["", "–"], ...REMEDIES.map((code) => [code, remedyWords(code)])]);
    input.required = true;
    found.push(act({ table, about, name: "rectify_alert", label: word("state.rectified"), key: "r", inputs: [remedyBox], fields: () => ({ alert: alert.id, remedy: remedy(), ...reason() }) }));
  }
  found.push(closing(table, alert, others, reason));
  return found;
}

function closing(table, alert, others, reason) {
  const [categoryBox, category, input] = select(word("col.category"), [["", "–"], ...CATEGORIES.map((one) => [one, wordOf("category", one)])]);
  const also = make("input");
  input.required = true;
  also.type = "checkbox";
  const inputs = others.length ? [categoryBox, labelled(word("desk.also", { n: others.length }), also)] : [categoryBox];
  const ids = () => [alert.id, ...(also.checked ? others : [])];
  return act({ table, about: alert.id, name: "close_alert", label: word("desk.close"), key: "c", inputs, fields: () => ids().map((id) => ({ alert: id, category: category(), ...reason() })) });
}

// `coup` has its shoe, its number, and the hands as they are published; `first` is the slot in question.
export function coupActions(name, table, coup, me, first = "") {
  if (!coup?.coup) return [];
  const number = coup.coup;
  const about = `${coup.shoe}/${number}`;
  const where = `${titleOf(table, name)}, ${word("shoe")} ${coup.shoe}, ${word("coup")} ${number}`;
  const [box, reason] = words(word("col.reason"), about);
  const plain = (order, label) => act({ table: name, name: order, label, about, fields: () => ({ coup: number, ...reason() }), vouched: () => `${where}. ${label}` });
  const title = make("h3", "", `${word("coup")} ${number}`);
  if (!can(me, "inspector")) return [title, box, plain("hold_result", word("desk.hold"))];
  const [fromBox, from] = select(word("desk.from"), SLOTS.map((one) => [one, slotName(one)]));
  const [toBox, to] = select(word("desk.to"), SLOTS.map((one) => [one, slotName(one)]));
  const row = make("div", "row");
  row.append(plain("confirm", word("dealer.confirm")), plain("result_stands", word("desk.stands")), plain("hold_result", word("desk.hold")), plain("void_coup", word("desk.void")),
    plain("burn_card", word("desk.burn")), plain("carry_card", word("desk.carry")), plain("free_hand", word("banner.free")));
  return [
    title, correctPanel({ table: name, where, coup, number, first }), box,
    act({ table: name, about, name: "move_card", label: word("desk.move"), inputs: [fromBox, toBox], fields: () => ({ coup: number, source: from(), target: to(), ...reason() }) }),
    row, act({ table: name, about, name: "undo_last", label: word("desk.undo"), fields: reason, vouched: () => `${where}. ${word("desk.undo")}` }),
  ];
}

export function shoeActions(table, me) {
  if (!can(me, "inspector")) return [];
  const input = make("input");
  Object.assign(input, { required: true, maxLength: 64, pattern: "[A-Za-z0-9._\\-]+" });
  return [make("h3", "", word("shoe")), act({ table, name: "new_shoe", label: word("desk.new_shoe"), inputs: [labelled(word("desk.shoe_id"), input)], fields: () => ({ shoe: input.value }) })];
}
