// The words of a page in the language that was asked for; each language is a file in /words.

const FALLBACK = "en";
let words = {};
let english = {};
let asked = "";
let known = "";
let renamed = [];

const KEY = "shoe-reader-language";
const STIRRED_MS = 5000; // guests' screens show the menu for so long after a pointer or a key
const inAddress = new URLSearchParams(location.search).get("lang") ?? "";

// What the address asks for goes before what somebody chose in this browser.
export const wanted = inAddress || chosen();

function chosen() {
  try {
    return localStorage.getItem(KEY) ?? "";
  } catch {
    return ""; // a browser that stores nothing
  }
}

async function fetched(language) {
  if (!/^[a-z]{2}(-[A-Z][a-z]{3})?$/.test(language)) return {};
  const answer = await fetch(`/words/${language}.json`);
  return answer.ok ? answer.json() : {};
}

// Load a language once, and put its words on the page: as text, as a label, as a hint in a field.
export async function useLanguage(language) {
  if (asked === language) return;
  asked = language;
  english = await fetched(FALLBACK);
  words = { ...english, ...(language === FALLBACK ? {} : await fetched(language)) };
  // Signs that are written before their font has come may stay boxes.
  await document.fonts.load("1em Signs", Object.values(words).join("")).catch(() => []);
  document.documentElement.lang = known = language;
  for (const node of document.querySelectorAll("[data-word]")) node.textContent = word(node.dataset.word);
  for (const node of document.querySelectorAll("[data-label]")) node.setAttribute(node.alt ? "alt" : "aria-label", word(node.dataset.label));
  for (const node of document.querySelectorAll("[data-hint]")) node.placeholder = word(node.dataset.hint);
  for (const menu of document.querySelectorAll("#languages")) menu.value = language;
  // A language that the address asks for stays while people go from page to page.
  if (inAddress) for (const link of document.querySelectorAll("nav a[href^='/'], header > a[href^='/']")) link.search = `?lang=${inAddress}`;
}

// For pages that hear of no table: the language of the first board.
export async function useBoardsLanguage() {
  const { language, languages } = await (await fetch("/words/house.json")).json();
  offer(languages);
  return useLanguage(wanted || language);
}

// A menu of the languages by their own names: beside the log-out, or in a corner.
function offer(languages) {
  if (document.getElementById("languages")) return;
  const menu = document.createElement("select");
  menu.id = "languages";
  menu.dataset.label = "languages";
  menu.ariaLabel = "Language"; // until the words are there
  for (const [code, name] of Object.entries(languages)) menu.add(Object.assign(new Option(name, code), { lang: code }));
  menu.addEventListener("change", () => {
    const address = new URL(location.href);
    try {
      localStorage.setItem(KEY, menu.value);
      address.searchParams.delete("lang");
    } catch {
      address.searchParams.set("lang", menu.value);
    }
    history.replaceState(null, "", address);
    location.reload();
  });
  const leave = document.querySelector("header #leave");
  if (leave) return leave.before(menu);
  document.body.append(menu);
  let rest;
  const stir = () => {
    clearTimeout(rest);
    menu.classList.add("stirred");
    rest = setTimeout(() => menu.classList.remove("stirred"), STIRRED_MS);
  };
  for (const kind of ["pointermove", "pointerdown", "keydown"]) addEventListener(kind, stir);
}

// The language that is on the page now.
export const languageInUse = () => known;

// Hands and bets by the names that the house's guests know: Punto and Banco, or Player and Banker.
export function callSides(names) {
  renamed = names === "player-banker" ? ["punto", "banco", "egalite"] : [];
  for (const node of document.querySelectorAll("[data-word]")) node.textContent = word(node.dataset.word);
}

// A text with those names; each language has both.
export const named = (text) => renamed.reduce((all, side) => all.replaceAll(words[`side.${side}`], words[`guest.${side}`]), text);

export function word(key, values = {}) {
  const text = renamed.length && words[`guest.${key}`] ? words[`guest.${key}`] : named(words[key] ?? key);
  return text.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");
}

const has = (key) => key in words;
// A word of a group (`state`, `result`), or another text, the name itself, where the group does not know it.
export const wordOf = (group, name, other = name ?? "") => (has(`${group}.${name}`) ? word(`${group}.${name}`) : other);

// The name of a fault in the language of the page; people never see its code.
export const faultName = (code) => words[`fault.${code}`] ?? "";
export const faultNames = () => Object.entries(words).filter(([key]) => key.startsWith("fault.")).map(([key, name]) => [key.slice(6), name]);

// What a server says in English, where it is one of the fixed texts; otherwise as it came.
export function translated(text, groups = ["reply"]) {
  const found = Object.keys(english).find((key) => english[key] === text && groups.includes(key.split(".")[0]));
  return found ? word(found) : text;
}

// Readers write alerts in English: in another language the fault is named, and where it is.
export function alertWords(alert) {
  if (known === FALLBACK || !faultName(alert.code)) return inSigns(alert.text) || faultName(alert.code);
  return [faultName(alert.code), alert.slot ? slotName(alert.slot) : ""].filter(Boolean).join(" · ");
}

export function slotName(slot) {
  const [side, n] = String(slot ?? "").split("_");
  return n && has(`side.${side.toLowerCase()}`) ? `${word(`side.${side.toLowerCase()}`)} ${n}` : slot || "–";
}

export const SLOTS = ["PUNTO_1", "BANCO_1", "PUNTO_2", "BANCO_2", "PUNTO_3", "BANCO_3"];
export const RANKS = [..."A23456789TJQK"];
export const SUITS = { s: "♠", h: "♥", d: "♦", c: "♣" };
export const rankText = (rank) => (rank === "T" ? "10" : rank);

// The cards that a text of the reader names, as people know them: "Td" is 10♦.
export const inSigns = (text) => String(text ?? "").replace(/\b[A2-9TJQK][cdhs]\b/g, cardText);
// A card in a line of text.
export const cardText = (card) => (SUITS[card?.[1]] ? rankText(card[0]) + SUITS[card[1]] : card ?? "");
