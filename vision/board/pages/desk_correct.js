// Correcting a card: it begins with what was read, and says what becomes of the result before anybody orders it.

import { act, select, words } from "/desk_forms.js";
import { make } from "/live.js";
import { RANKS, SLOTS, SUITS, cardText, rankText, slotName, word } from "/words.js";

const named = (card) => (card ? cardText(card) : word("card.unread"));

// The cards by slot, `null` for one that is not read; a slot without a card is absent.
function cardsOf(coup) {
  const sides = ["punto", "banco"].flatMap((side) => (coup?.[side]?.cards ?? []).map((card, i) => [`${side.toUpperCase()}_${i + 1}`, card]));
  return Object.fromEntries(sides);
}

// Ace to nine count as they say, ten and court cards nothing.
const valueOf = (card) => "A23456789".indexOf(card[0]) + 1;
const handOf = (cards, side) => [1, 2, 3].map((n) => cards[`${side}_${n}`]).filter((card) => card !== undefined);
const pointsOf = (hand) => (hand.every(Boolean) ? hand.reduce((sum, card) => sum + valueOf(card), 0) % 10 : null);
const isPair = ([first, second]) => Boolean(first && second && first[0] === second[0]);

// What the roads have of these cards: who wins, points, pairs. Whether a card is due is the table's to say.
export function outcomeOf(cards) {
  const [punto, banco] = ["PUNTO", "BANCO"].map((side) => handOf(cards, side));
  const [ours, theirs] = [pointsOf(punto), pointsOf(banco)];
  if (ours === null || theirs === null || punto.length < 2 || banco.length < 2) return { words: word("history.no_result"), road: "" };
  const side = ours === theirs ? "egalite" : ours > theirs ? "punto" : "banco";
  const pairs = [isPair(punto) ? "punto" : "", isPair(banco) ? "banco" : ""];
  const marks = pairs.filter(Boolean).map((one) => word("pair", { side: word(`side.${one}`) }));
  const score = `${word(`side.${side}`)} ${ours}:${theirs}`;
  const natural = Math.max(ours, theirs) >= 8 && punto.length + banco.length === 4;
  return { words: [score, ...marks].join(", "), road: [side, ...pairs, natural, side === "egalite" ? ours : ""].join() };
}

// `first`: the slot in question. Nothing is ordered until the card differs and a reason is given.
export function correctPanel({ table, where, coup, number, first }) {
  const cards = cardsOf(coup);
  const lying = SLOTS.filter((slot) => slot in cards);
  const next = ["PUNTO", "BANCO"].map((side) => `${side}_${handOf(cards, side).length + 1}`).filter((slot) => SLOTS.includes(slot));
  const [slotBox, slot, slotInput] = select(word("col.slot"), [...lying, ...next].map((one) => [one, `${slotName(one)}: ${one in cards ? named(cards[one]) : word("desk.no_card")}`]));
  const [rankBox, rank, rankInput] = select(word("desk.rank"), [["", "–"], ...RANKS.map((one) => [one, rankText(one)])]);
  const [suitBox, suit, suitInput] = select(word("desk.suit"), [["", "–"], ...Object.entries(SUITS).map(([one, sign]) => [one, `${sign} ${word(`suit.${one}`)}`])]);
  const [reasonBox, reason, reasonInput] = words(word("col.reason"));
  const shown = make("output", "preview");
  for (const input of [rankInput, suitInput, reasonInput]) input.required = true;
  if (first && [...lying, ...next].includes(first)) slotInput.value = first;

  function begin() {
    [rankInput.value, suitInput.value] = cards[slot()] ?? ["", ""];
    preview();
  }

  function preview() {
    const card = rank() + suit();
    const same = card.length < 2 || cards[slot()] === card;
    const [was, is] = [cards, { ...cards, [slot()]: card }].map((one) => outcomeOf(one));
    shown.textContent = card.length < 2 ? "" : same ? word("correct.same") : [
      word("correct.card", { slot: slotName(slot()), was: slot() in cards ? named(cards[slot()]) : word("desk.no_card"), now: named(card) }),
      was.words === is.words ? word("correct.stays", { result: is.words }) : word("correct.becomes", { was: was.words, now: is.words }),
      word(was.road === is.road ? "correct.same_roads" : "correct.roads"),
    ].join(" ");
    form.querySelector("[data-order]").disabled = same;
  }

  const form = act({
    table, about: `${coup.shoe}/${number}`, name: "correct_card", label: word("desk.correct"), inputs: [slotBox, rankBox, suitBox, reasonBox, shown],
    fields: () => ({ coup: number, slot: slot(), card: rank() + suit(), ...reason() }), vouched: () => `${where}. ${shown.textContent}`,
  });
  form.classList.add("correct");
  slotInput.addEventListener("change", begin);
  for (const input of [rankInput, suitInput]) input.addEventListener("change", preview);
  begin();
  return form;
}
