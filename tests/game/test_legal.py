"""What is dealt as it should be raises nothing; a card more or less always raises something."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from tests.game.dealer import DEALT, P1, Dealer
from vision.game.cards import DECK, Card
from vision.game.coup.state import NO_SHOE
from vision.game.events import Slot, TimePassed
from vision.game.outcome import winner_of
from vision.game.outputs import ResultState
from vision.game.rules import Dealing, Rules
from vision.game.tableau import next_slot

COUPS = 8_400  # for each of three ways of dealing and four seeds
PPBB = (Slot.PUNTO_1, Slot.PUNTO_2, Slot.BANCO_1, Slot.BANCO_2)


class House(Dealer):
    """Deals whole legal coups in any manner, from a shuffled shoe."""

    rng: Random

    def shuffled(self, rng: Random) -> House:
        """Take the order of dealing and the cards from this source."""
        self.rng = rng
        self.shoe: list[Card] = []
        return self

    def draw(self) -> Card:
        """Take the next card of the shoe; another shoe is put in use before it runs short."""
        return self.shoe.pop()

    def slots(self, faces: list[Card]) -> list[Slot]:
        """Return where the next cards of the shoe go by the tableau, and draw them."""
        hands: tuple[list[int], list[int]] = ([], [])
        slots: list[Slot] = []
        while True:
            slot = next_slot(tuple(hands[0]), tuple(hands[1]), order=self.rules.deal_order)
            if slot is None:
                return slots
            face = self.draw()
            hands[slot % 2].append(face.points)
            faces.append(face)
            slots.append(slot)

    def coup(self) -> tuple[list[Slot], list[Card]]:
        """Deal one coup: the faces shown in any order that this way of dealing allows."""
        faces: list[Card] = []
        slots = self.slots(faces)
        shown_at_once = self.rules.dealing is Dealing.FACE_UP
        hidden: list[tuple[int, Slot, Card]] = []
        for place, (slot, face) in enumerate(zip(slots, faces, strict=True)):
            order = self.out()
            tucked = not shown_at_once and not slot.is_punto and place < 4
            self.lay(None if tucked else slot, order)
            if place < 4 and (not shown_at_once or self.rng.random() < 0.5):
                hidden.append((order, slot, face))
            else:
                self.read(order, face)
            if place == 3:
                self.turn(hidden)
        return slots, faces

    def turn(self, hidden: list[tuple[int, Slot, Card]]) -> None:
        """Show the cards that lie face down, Punto's first where that is the custom."""
        self.rng.shuffle(hidden)
        if self.rules.dealing is Dealing.PUNTO_FIRST:
            hidden.sort(key=lambda one: one[1] % 2)
        for order, slot, face in hidden:
            self.lay(slot, order)
            self.read(order, face)

    def shuffle(self) -> None:
        """Put a freshly shuffled shoe in use, cut so that it does not run short."""
        self.shoe = list(DECK) * self.rules.decks
        self.rng.shuffle(self.shoe)
        self.order = 0
        self.sight.begin_shoe()
        self.table = replace(self.table, shoe=NO_SHOE, coup=None, done=())
        self.outputs, self.events = [], []

    def clear(self) -> None:
        """Take the cards away in any order."""
        self.rng.shuffle(self.lying)
        super().clear()


def house(dealing: Dealing, seed: int, order: tuple[Slot, ...] = DEALT) -> House:
    """Return a house that deals so."""
    dealer = House(Rules(dealing=dealing, deal_order=order)).shuffled(Random(seed))
    dealer.shuffle()
    return dealer


def check(dealer: House, slots: list[Slot], faces: list[Card]) -> None:
    """Hold the last result against the cards dealt."""
    punto = tuple(face for slot, face in zip(slots, faces, strict=True) if slot.is_punto)
    banco = tuple(face for slot, face in zip(slots, faces, strict=True) if not slot.is_punto)
    result = dealer.result
    assert result.state is ResultState.FINAL
    assert sorted(map(str, punto)) == sorted(map(str, result.punto.cards))
    assert sorted(map(str, banco)) == sorted(map(str, result.banco.cards))
    assert result.winner is winner_of(punto, banco)
    assert result.revision == 0


def deal_many(dealer: House, coups: int) -> None:
    """Deal that many coups; each is right, and nothing is ever raised."""
    for _ in range(coups):
        if len(dealer.shoe) < 20:
            dealer.shuffle()
        slots, faces = dealer.coup()
        check(dealer, slots, faces)
        dealer.clear()
        assert dealer.raised == [], (slots, faces)


@pytest.mark.parametrize("order", [DEALT, PPBB], ids=["PBPB", "PPBB"])
@pytest.mark.parametrize("dealing", Dealing)
def test_legal_coup_raises_no_fault(dealing: Dealing, order: tuple[Slot, ...]) -> None:
    """A legal coup raises nothing, in any way of dealing and any order of reveals."""
    deal_many(house(dealing, 7, order), 700)


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("dealing", Dealing)
def test_a_hundred_thousand_legal_coups_raise_no_fault(dealing: Dealing, seed: int) -> None:
    """The same for more than a hundred thousand coups in all."""
    deal_many(house(dealing, 11 + seed), COUPS)


@pytest.mark.parametrize("dealing", Dealing)
def test_missing_card_always_raises_a_fault(dealing: Dealing) -> None:
    """A coup that lacks one of its cards raises something before the next has two cards."""
    for seed in range(150):
        dealer = house(dealing, seed)
        faces: list[Card] = []
        slots = dealer.slots(faces)
        missing = dealer.rng.randrange(len(slots))
        for place, (slot, face) in enumerate(zip(slots, faces, strict=True)):
            if place != missing:
                dealer.deal(slot, face)
        dealer.clear()
        dealer.tick(5_000)
        dealer.tell(TimePassed(dealer.now))
        dealer.out()
        assert dealer.raised, (seed, slots, missing)


@pytest.mark.parametrize("dealing", Dealing)
def test_added_card_always_raises_a_fault(dealing: Dealing) -> None:
    """A card that leaves while the hands of a finished coup lie raises something at once."""
    for seed in range(150):
        dealer = house(dealing, seed)
        dealer.coup()
        assert dealer.raised == []
        dealer.out()
        assert dealer.raised, seed


def test_cover_for_a_moment_is_no_clearing() -> None:
    """Cards that vanish under a hand and come back change nothing."""
    dealer = Dealer()
    dealer.deal(P1, "2c")
    dealer.take(1, 100)
    dealer.deal(Slot.BANCO_1, "7c")
    dealer.lay(P1, 1)
    dealer.deal(Slot.PUNTO_2, "7d")
    dealer.deal(Slot.BANCO_2, "Ah")
    assert dealer.raised == []
    assert dealer.result.state is ResultState.FINAL
