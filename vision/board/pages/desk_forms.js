// Forms of the desk: a button that gives an order, with the fields that it takes.

import { labelled, make, options } from "/live.js";
import { order } from "/session.js";
import { word } from "/words.js";

// Say what came of an order: in the panel that it was given in, or beside the chosen alert.
export function say(text, good = false, near = null) {
  const box = near?.closest(".panel")?.querySelector(".said") ?? document.getElementById("said");
  box.textContent = text;
  box.classList.toggle("good", good);
}

// A form whose button gives an order; `fields` returns the fields of the order, or of several, when it is pressed.
// `vouched` says in words what a second person vouches for.
export function act({ table, name, label, inputs = [], fields, vouched = () => label, first = false, key = "" }) {
  const form = make("form", "act");
  const button = make("button", first ? "first" : "", label);
  button.dataset.order = name;
  if (key) {
    button.setAttribute("aria-keyshortcuts", key);
    button.append(make("kbd", "", key));
  }
  form.append(...inputs, button);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const what = vouched();
    button.disabled = true;
    say(`${label} …`, false, form);
    let why = "";
    for (const each of [fields()].flat()) why ||= await order(table, name, each, what);
    say(`${label}: ${why || word("desk.done")}`, !why, form);
    button.disabled = false;
    if (!why) form.dispatchEvent(new CustomEvent("done", { bubbles: true }));
  });
  return form;
}

// Each of these returns the labelled box, what reads it, and the field itself.
export function words(text) {
  const input = make("input");
  input.maxLength = 200;
  return [labelled(text, input, "wide"), () => (input.value.trim() ? { reason: input.value.trim() } : {}), input];
}

export function select(text, choices) {
  const input = make("select");
  input.append(...options(choices));
  return [labelled(text, input), () => input.value, input];
}
