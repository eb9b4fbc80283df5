// Forms of the desk: a button that gives an order, with the fields that it takes.

import { labelled, make, options } from "/live.js";
import { order } from "/session.js";
import { word } from "/words.js";

// Say what came of an order: in the panel that it was given in, or beside the chosen alert.
export function report(text, good = false, near = null) {
  const box = near?.closest(".panel")?.querySelector(".reply") ?? document.getElementById("reply");
  box.textContent = text;
  box.classList.toggle("good", good);
}

const fieldsOf = (box) => [...box.querySelectorAll("input[data-key], select[data-key]")];

// Draw a box again, and put back what somebody has typed or chosen there, as long as the field is about the same.
export function keepTyped(box, draw) {
  box.oninput = ({ target }) => { target.dataset.typed = "yes"; };
  const typed = new Map(fieldsOf(box).filter((field) => field.dataset.typed).map((field) => [field.dataset.key, field]));
  draw();
  for (const field of fieldsOf(box)) {
    const before = typed.get(field.dataset.key);
    if (!before || before === field) continue;
    if (field.type === "checkbox") field.checked = before.checked;
    else field.value = before.value;
    field.dataset.typed = "yes";
    if (field === document.activeElement && before.selectionStart !== null) field.setSelectionRange?.(before.selectionStart, before.selectionEnd);
    field.dispatchEvent(new Event("change")); // as if it had been chosen here: what hangs on it follows
  }
}

// A form whose button gives an order; `fields` returns the fields of the order, or of several, when it is pressed.
// `about` is what the order is about, as an alert or a coup; `vouched` says in words what a second person vouches for.
export function act({ table, name, label, inputs = [], fields, about = "", vouched = () => label, first = false, key = "" }) {
  const form = make("form", "act");
  for (const [index, field] of inputs.flatMap((input) => [...input.querySelectorAll("input, select")]).entries()) field.dataset.key = [about, name, index].join("|");
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
    report(`${label} …`, false, form);
    let why = "";
    const sent = fieldsOf(document).filter((field) => field.dataset.key === shared(about)).map((field) => field.value);
    for (const each of [fields()].flat()) why ||= await order(table, name, each, what);
    report(`${label}: ${why || word("desk.done")}`, !why, form);
    button.disabled = false;
    // The words went with the order, and are not to go with the next.
    for (const field of why ? [] : fieldsOf(document)) if (field.dataset.key === shared(about) && sent.includes(field.value)) field.value = "";
    if (!why) form.dispatchEvent(new CustomEvent("done", { bubbles: true }));
  });
  return form;
}

const shared = (about) => `${about}|words`; // of the field of words that several forms send

// Each of these returns the labelled box, what reads it, and the field itself; `about` as in `act`.
export function words(text, about = "") {
  const input = make("input");
  input.dataset.key = shared(about);
  input.maxLength = 200;
  return [labelled(text, input, "wide"), () => (input.value.trim() ? { reason: input.value.trim() } : {}), input];
}

export function select(text, choices) {
  const input = make("select");
  input.append(...options(choices));
  return [labelled(text, input), () => input.value, input];
}
