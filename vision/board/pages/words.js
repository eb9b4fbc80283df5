// The words of a page in the language that was asked for; each language is a file in /words.

const FALLBACK = "en";
let words = {};
let english = {};
let asked = "";
let known = "";

export const wanted = new URLSearchParams(location.search).get("lang") ?? "";

async function fetched(language) {
  if (!/^[a-z]{2}$/.test(language)) return {};
  const answer = await fetch(`/words/${language}.json`);
  return answer.ok ? answer.json() : {};
}

// Load a language once, and put its words on the page.
export async function speak(language) {
  if (asked === language) return;
  asked = language;
  english = await fetched(FALLBACK);
  words = { ...english, ...(language === FALLBACK ? {} : await fetched(language)) };
  document.documentElement.lang = known = language;
  for (const node of document.querySelectorAll("[data-word]")) node.textContent = word(node.dataset.word);
}

// The language that is on the page now.
export const spoken = () => known;

// The name of a fault in the language of the page; people never see its code.
export const faultName = (code, language = "") => (language === FALLBACK ? english : words)[`fault.${code}`] ?? "";
export const faultNames = () => Object.entries(words).filter(([key]) => key.startsWith("fault.")).map(([key, name]) => [key.slice(6), name]);

export function word(key, values = {}) {
  const text = words[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");
}
