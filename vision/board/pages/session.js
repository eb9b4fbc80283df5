// The session of who is logged in, and requests to the server; every change carries the session's token.

import { forgetSecond, secondPerson } from "/second.js";
import { speakAsBoards, spoken, translated, word } from "/words.js";

let me = null;

function leave(why) {
  location.assign(`/login?why=${why}&next=${encodeURIComponent(location.pathname)}`);
}

// Who is logged in; the words of the page are there then too.
export async function whoAmI() {
  if (!spoken()) await speakAsBoards();
  const answer = await fetch("/me");
  if (answer.status === 401) leave("ended");
  me = await answer.json();
  return me;
}

export async function get(path) {
  const answer = await fetch(path);
  if (answer.status === 401) leave("ended");
  return answer.ok ? answer.json() : null;
}

// Ask the server, or change something when fields are given; returns its answer, or why there is none.
export async function ask(path, fields) {
  try {
    const answer = await (fields ? send(path, fields) : fetch(path));
    if (answer.status === 401) leave("ended");
    const body = await answer.json();
    return answer.ok ? { body, why: "" } : { body: null, why: translated(body.why) };
  } catch {
    return { body: null, why: word("said.no_answer") };
  }
}

// Fetch a picture; returns it, or why there is none.
export async function picture(path) {
  try {
    const answer = await fetch(path);
    if (answer.status === 401) leave("ended");
    return answer.ok ? { blob: await answer.blob(), why: "" } : { blob: null, why: translated((await answer.json()).why) };
  } catch {
    return { blob: null, why: word("said.no_answer") };
  }
}

// Fetch a file and have the browser save it; returns why it failed, "" when it did not.
export async function download(path, name) {
  const answer = await fetch(path);
  if (answer.status === 401) leave("ended");
  if (!answer.ok) return translated((await answer.json()).why);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await answer.blob());
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
  return "";
}

function send(path, fields) {
  return fetch(path, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Shoe-Reader": me?.csrf ?? "" },
    body: JSON.stringify(fields),
  });
}

async function post(path, fields) {
  const answer = await send(path, fields);
  if (answer.status === 401) leave("ended");
  return answer.json();
}

// Give an order to a table, with a second person where it needs one; returns why it was refused, "" when it was accepted.
// `what` says in words what the second person vouches for.
export async function order(table, name, fields = {}, what = "") {
  try {
    const path = `/api/order/${encodeURIComponent(table)}/${name}`;
    let said = await post(path, fields);
    while (said.ask) {
      const second = await secondPerson(said.why, said.ask, what);
      if (!second) return word("said.nobody");
      said = await post(path, { ...fields, second });
    }
    forgetSecond();
    return said.accepted ? "" : translated(said.why) || word("said.refused");
  } catch {
    return word("said.no_answer");
  }
}

export async function logOut() {
  await post("/logout", {});
  location.assign("/login");
}

// The stream of a person: tabs share it, and nobody hears what another one who was logged in here may.
export const eventsOf = ({ name, role }) => `/api/events?of=${encodeURIComponent(`${role} ${name}`)}`;

// A stream that was refused: then the session has ended.
export function watchSession(live) {
  live.refused = whoAmI;
}
