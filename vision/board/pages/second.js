// The second person: asks for one who vouches for an order that cannot be undone by one person alone.

import { button, labelled, make } from "/live.js";
import { translated, word } from "/words.js";

let box = null;

function field(text, attributes) {
  const input = Object.assign(make("input"), attributes);
  return [labelled(text, input), input];
}

function build() {
  const dialog = make("dialog", "second");
  const form = make("form");
  const title = make("h2", "", word("second.title"));
  const why = make("p", "why");
  why.setAttribute("role", "alert");
  const [nameBox, name] = field(word("login.name"), { required: true, maxLength: 64, autocomplete: "off" });
  const [passwordBox, password] = field(word("login.password"), { required: true, maxLength: 200, type: "password", autocomplete: "off" });
  const [codeBox, code] = field(word("login.code"), { maxLength: 40, autocomplete: "off" });
  const row = make("div", "row");
  row.append(make("button", "first", word("second.vouch")), button("", word("dealer.cancel"), () => dialog.close()));
  const what = make("p", "what");
  form.append(title, what, why, nameBox, passwordBox, codeBox, row);
  dialog.append(form);
  title.id = "second-title";
  dialog.setAttribute("aria-labelledby", title.id);
  document.body.append(dialog);
  return { dialog, form, what, why, name, password, codeBox, code };
}

// Returns name, password and code of the second person, or null where nobody vouches.
// They read what they vouch for.
export function secondPerson(why, asks, what) {
  box ??= build();
  box.what.textContent = what;
  box.why.textContent = translated(why);
  box.codeBox.hidden = asks !== "code";
  box.code.value = "";
  if (asks !== "code") box.password.value = "";
  return new Promise((done) => {
    let given = null;
    box.form.onsubmit = (event) => {
      event.preventDefault();
      given = { name: box.name.value, password: box.password.value, code: box.code.value };
      box.dialog.close();
    };
    box.dialog.onclose = () => {
      if (!given) box.name.value = box.password.value = "";
      done(given);
    };
    box.dialog.showModal();
    (asks === "code" ? box.code : box.name).focus();
  });
}

// Forget who vouched, once the order is answered.
export function forgetSecond() {
  if (box) box.name.value = box.password.value = box.code.value = "";
}
