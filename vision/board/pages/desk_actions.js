// The actions for the chosen alert or table, as orders in the name of the person who is logged in.

import { remedyWords } from "/desk_detail.js";
import { make } from "/live.js";
import { order } from "/session.js";
import { slotName, word } from "/words.js";

const REMEDIES = Array.from({ length: 12 }, (_, i) => `R${i + 1}`);
const SLOTS = ["PUNTO_1", "BANCO_1", "PUNTO_2", "BANCO_2", "PUNTO_3", "BANCO_3"];
const RANKS = [..."A23456789TJQK"];
const SUITS = { s: "♠", h: "♥", d: "♦", c: "♣" };

export function say(text, good = false) {
  const box = document.getElementById("said");
  box.textContent = text;
  box.classList.toggle("good", good);
}

export function actionsOf(table, alert, coup, me) {
  return [...(alert ? alertActions(table, alert, me) : []), ...coupActions(table, coup, me), ...(alert ? [] : shoeActions(table, me))];
}

// A form whose button gives an order; `fields` returns the order's fields when it is pressed.
function act({ table, name, label, inputs = [], fields, first = false }) {
  const form = make("form", "act");
  const button = make("button", first ? "first" : "", label);
  button.dataset.order = name;
  form.append(...inputs, button);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    button.disabled = true;
    say(`${label} …`);
    const why = await order(table, name, fields());
    say(`${label}: ${why || word("desk.done")}`, !why);
    button.disabled = false;
  });
  return form;
}

function labelled(text, input, wide = false) {
  const label = make("label", wide ? "wide" : "", text);
  label.append(input);
  return label;
}

function words(text) {
  const input = make("input");
  input.maxLength = 200;
  return [labelled(text, input, true), () => (input.value.trim() ? { reason: input.value.trim() } : {})];
}

function select(text, options) {
  const input = make("select");
  for (const [value, name] of options) {
    const option = make("option", "", name);
    option.value = value;
    input.append(option);
  }
  return [labelled(text, input), () => input.value];
}

const can = (me, ...roles) => roles.includes(me.role);

function alertActions(table, alert, me) {
  if (alert.state === "closed") return [make("p", "empty", word("desk.closed"))];
  const open = alert.state !== "rectified";
  const [comment, reason] = words(word("desk.comment_sent"));
  const plain = (name, label, first = false) => act({ table, name, label, first, fields: () => ({ alert: alert.id, ...reason() }) });
  const row = make("div", "row");
  if (open && !alert.acknowledged_by) row.append(plain("ack_alert", word("desk.acknowledge"), true));
  row.append(plain("comment_alert", word("desk.add_comment")), plain("close_alert", word("desk.close")));
  const found = [make("h3", "", word("desk.can_do")), comment, row];
  if (open && can(me, "inspector")) {
    const [remedyBox, remedy] = select(word("desk.remedy"), REMEDIES.map((code) => [code, remedyWords(code)]));
    found.push(act({ table, name: "rectify_alert", label: word("state.rectified"), inputs: [remedyBox], fields: () => ({ alert: alert.id, remedy: remedy(), ...reason() }) }));
  }
  return found;
}

function coupActions(table, coup, me) {
  if (!coup) return [];
  const [box, reason] = words(word("desk.reason"));
  const plain = (name, label) => act({ table, name, label, fields: () => ({ coup, ...reason() }) });
  if (!can(me, "inspector")) return [make("h3", "", `${word("coup")} ${coup}`), box, plain("hold_result", word("desk.hold"))];
  const [slotBox, slot] = select(word("desk.slot"), SLOTS.map((one) => [one, slotName(one)]));
  const [rankBox, rank] = select(word("desk.rank"), RANKS.map((one) => [one, one === "T" ? "10" : one]));
  const [suitBox, suit] = select(word("desk.suit"), Object.entries(SUITS).map(([one, sign]) => [one, `${sign} ${word(`suit.${one}`)}`]));
  const [fromBox, from] = select(word("desk.from"), SLOTS.map((one) => [one, slotName(one)]));
  const [toBox, to] = select(word("desk.to"), SLOTS.map((one) => [one, slotName(one)]));
  const row = make("div", "row");
  row.append(plain("confirm", word("dealer.confirm")), plain("result_stands", word("desk.stands")), plain("hold_result", word("desk.hold")), plain("void_coup", word("desk.void")),
    plain("burn_card", word("desk.burn")), plain("carry_card", word("desk.carry")), plain("free_hand", word("banner.free")));
  return [
    make("h3", "", `${word("coup")} ${coup}`), box,
    act({ table, name: "correct_card", label: word("desk.correct"), inputs: [slotBox, rankBox, suitBox], fields: () => ({ coup, slot: slot(), card: rank() + suit(), ...reason() }) }),
    act({ table, name: "move_card", label: word("desk.move"), inputs: [fromBox, toBox], fields: () => ({ coup, source: from(), target: to(), ...reason() }) }),
    row, act({ table, name: "undo_last", label: word("desk.undo"), fields: reason }),
  ];
}

function shoeActions(table, me) {
  if (!can(me, "inspector")) return [];
  const input = make("input");
  Object.assign(input, { required: true, maxLength: 64, pattern: "[A-Za-z0-9._\\-]+" });
  return [make("h3", "", word("shoe")), act({ table, name: "new_shoe", label: word("desk.new_shoe"), inputs: [labelled(word("desk.shoe_id"), input)], fields: () => ({ shoe: input.value }) })];
}
