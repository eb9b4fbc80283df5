// Logging in: sends name and password, and goes where the role belongs.

import { $ } from "/live.js";

const PAGES = /^\/(desk|dealer|setup)(\/[A-Za-z0-9._-]+)?$/;
const query = new URLSearchParams(location.search);
if (query.get("why") === "role") $("why").textContent = "That page is not for your role. Log in as somebody else.";
if (query.get("why") === "ended") $("why").textContent = "Your session has ended. Log in again.";

$("form").addEventListener("submit", async (event) => {
  event.preventDefault();
  $("enter").disabled = true;
  $("why").textContent = "";
  try {
    const body = JSON.stringify({ name: $("name").value, password: $("password").value });
    const answer = await fetch("/login", { method: "POST", headers: { "Content-Type": "application/json" }, body });
    const said = await answer.json();
    if (answer.ok) return location.assign(PAGES.test(query.get("next") ?? "") ? query.get("next") : `/${said.home}`);
    $("why").textContent = said.why;
  } catch {
    $("why").textContent = "The board does not answer. Try again.";
  }
  $("password").value = "";
  $("enter").disabled = false;
});
