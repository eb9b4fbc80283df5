// Log-in: sends name and password, a code where one is asked for, and opens the page of the role.

import { $ } from "/live.js";
import { useBoardsLanguage, translated, word } from "/words.js";

const query = new URLSearchParams(location.search);

$("form").addEventListener("submit", async (event) => {
  event.preventDefault();
  $("enter").disabled = true;
  $("why").textContent = "";
  let asksCode = false;
  try {
    const next = query.get("next") ?? "";
    const body = JSON.stringify({ name: $("name").value, password: $("password").value, code: $("code").value, next });
    const answer = await fetch("/login", { method: "POST", headers: { "Content-Type": "application/json" }, body });
    const reply = await answer.json();
    if (answer.ok) return location.assign(reply.page);
    $("why").textContent = translated(reply.why);
    asksCode = reply.ask === "code";
  } catch {
    $("why").textContent = word("reply.no_answer");
  }
  if (!asksCode) $("password").value = "";
  $("code").value = "";
  $("second").hidden = !asksCode;
  $("enter").disabled = false;
  $(asksCode ? "code" : "password").focus();
});

// After the form works: whoever is quick would send it past this script.
await useBoardsLanguage();
if (query.get("why") === "role") $("why").textContent = word("login.role");
if (query.get("why") === "ended") $("why").textContent = word("login.ended");
