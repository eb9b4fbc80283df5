// The keys of the desk: each does what its button does; none acts while somebody types.

import { $, button, make } from "/live.js";
import { word } from "/words.js";

const press = (selector) => document.querySelector(selector)?.click();

// Where somebody goes to by a key is in sight.
function go(selector) {
  const node = [...document.querySelectorAll(selector)].find((one) => one.checkVisibility());
  node?.focus();
  node?.scrollIntoView({ block: "nearest" });
}

function to(view) {
  location.hash = `#${view}`;
  // Its page is drawn first; what can be chosen there has the focus then.
  setTimeout(() => go(`#${view} a, #${view} select, #${view} button`), 300);
}

const TYPING = "input:not([type=range]):not([type=checkbox]), select, textarea";
const OWN = "button, a, summary, input"; // what has a meaning of its own for space and Enter
let shown = null;

// `step` goes on in the queue by so many alerts.
export function watchKeys(step) {
  const keys = {
    j: ["keys.next", () => step(1)],
    k: ["keys.previous", () => step(-1)],
    Enter: ["keys.detail", () => go("#actions button, #actions select")],
    a: ["desk.acknowledge", () => press("#actions [data-order=ack_alert]")],
    r: ["state.rectified", () => go("#actions form:has([data-order=rectify_alert]) select")],
    e: ["desk.correct", () => go("form.correct select")],
    c: ["desk.close", () => go("#actions form:has([data-order=close_alert]) select")],
    m: ["col.comment", () => go("#actions > label input")],
    v: ["keys.picture", () => press("#evidence .enlarge")],
    " ": ["keys.clip", () => press(".player button")],
    1: ["desk.alerts", () => to("alerts")],
    2: ["desk.shoes", () => to("history")],
    3: ["desk.search", () => to("search")],
    4: ["desk.floor", () => press("nav a[href^='/floor']")],
    5: ["desk.reports", () => press("nav a[href^='/reports']")],
    "?": ["keys.list", () => show(keys)],
  };
  addEventListener("keydown", (event) => {
    const { key, target } = event;
    if (event.ctrlKey || event.altKey || event.metaKey || document.querySelector("dialog[open]")) return;
    if (target.matches?.(TYPING)) {
      if (key === "Escape") target.blur();
      return;
    }
    if (!(key in keys) || ((key === " " || key === "Enter") && target.matches?.(OWN))) return;
    event.preventDefault();
    keys[key][1]();
  });
  $("keys").addEventListener("click", () => show(keys));
}

function show(keys) {
  shown ??= document.body.appendChild(make("dialog", "second"));
  const list = make("dl", "facts");
  for (const [key, [name]] of Object.entries(keys)) {
    const term = make("dt");
    term.append(make("kbd", "", key === " " ? word("accept.space") : key));
    const row = make("div");
    row.append(term, make("dd", "", word(name)));
    list.append(row);
  }
  const title = make("h2", "", word("keys.title"));
  title.id = "keys-title";
  shown.setAttribute("aria-labelledby", title.id);
  shown.replaceChildren(title, list, button("first", word("desk.close"), () => shown.close()));
  shown.showModal();
}
