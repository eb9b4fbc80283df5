// The session of who is logged in, and requests to the server.

import { $, Live, make, setText } from "/live.js";
import { forgetSecond, secondPerson } from "/second.js";
import { useBoardsLanguage, languageInUse, translated, word, wordOf } from "/words.js";

// Whoever logs out asks for nothing more; what is refused meanwhile does not report an end of the session.
let loggingOut = false;

function leave(why) {
  if (!loggingOut) location.assign(`/login?why=${why}&next=${encodeURIComponent(location.pathname)}`);
}

// Ask the server, or change something when fields are given.
async function call(path, fields) {
  if (loggingOut) return new Promise(() => {});
  const headers = { "Content-Type": "application/json" };
  const answer = await fetch(path, fields && { method: "POST", headers, body: JSON.stringify(fields) });
  if (answer.status === 401) leave("ended");
  return answer;
}

// Who is logged in, who is named on the page; its words are there then too.
export async function whoAmI() {
  if (!languageInUse()) await useBoardsLanguage();
  const me = await (await call("/me")).json();
  setText("who", `${me.name}, ${wordOf("role", me.role)}`);
  $("leave").onclick = logOut;
  return me;
}

// The tables that a person may see: tabs share a stream, and nobody hears what another one who was logged in here may.
// A stream that was refused: then the session has ended.
export function follow({ name, role }, changed) {
  const live = new Live(`/api/events?of=${encodeURIComponent(`${role} ${name}`)}`, changed);
  live.refused = whoAmI;
  return live;
}

// Returns what `read` makes of the answer, or why there is none.
async function answered(path, fields, read) {
  try {
    const answer = await call(path, fields);
    return answer.ok ? { body: await read(answer), why: "" } : { body: null, why: translated((await answer.json()).why) };
  } catch {
    return { body: null, why: word("reply.no_answer") };
  }
}

export const ask = (path, fields) => answered(path, fields, (answer) => answer.json());
export const get = async (path) => (await ask(path)).body;
export const picture = (path) => answered(path, undefined, (answer) => answer.blob());

// Fetch a file and have the browser save it; returns why it failed, "" when it did not.
export async function download(path, name) {
  const { body, why } = await picture(path);
  if (!body) return why;
  const link = Object.assign(make("a"), { href: URL.createObjectURL(body), download: name });
  link.click();
  URL.revokeObjectURL(link.href);
  return "";
}

// Give an order to a table, with a second person where it needs one; returns why it was refused, "" when it was accepted.
// `what` says in words what the second person vouches for.
export async function order(table, name, fields = {}, what = "") {
  try {
    const post = async (more) => (await call(`/api/order/${encodeURIComponent(table)}/${name}`, { ...fields, ...more })).json();
    let answer = await post({});
    while (answer.ask) {
      const second = await secondPerson(answer.why, answer.ask, what);
      if (!second) return word("reply.nobody");
      answer = await post({ second });
    }
    forgetSecond();
    return answer.accepted ? "" : translated(answer.why) || word("reply.refused");
  } catch {
    return word("reply.no_answer");
  }
}

async function logOut() {
  const ended = call("/logout", {});
  loggingOut = true;
  try {
    await ended;
    location.assign("/login");
  } catch {
    loggingOut = false;
  }
}
