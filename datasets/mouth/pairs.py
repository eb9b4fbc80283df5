"""Training pairs for what tells the cut card from others: what a mouth shows, and a card before.

A pair is one instant as the watcher sees it (rest, some frames ago, now), and another one of the
same shoe in which a card left that is known to be no cut card. They are cut from plays at shoes
drawn at random, and from films of the simulator.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ..render.paint import Image
from .answers import Answer
from .filmed import films
from .plays import Play
from .samples import picture
from .shoes import Kind, Rng, Shoe

# Of one shoe: cards before that are shown, plays that are compared with them, and instants of each.
BEFORE, PLAYS, PER_PLAY = 4, 4, 4
# Shares of the plays in which an arm reaches over the mouth, and of the others in which the cut
# card is the next to leave.
ARMS, CUTS = 0.4, 0.7
# Instants of a play from which those of a pair are chosen, and plays that are tried until one shows
# a card that leaves.
INSTANTS, TRIES = 60, 8
# Share of the pairs that are cut from films: the simulator has few shoes and many manners. Of one
# film are taken so many samples at most, and pairs made.
FILMED, FROM_FILM, PER_FILM = 0.4, 400, 60
# In a film the cut card may be in sight so many samples before and after one that shows it.
NEAR = 25
Sample = tuple[Image, int]  # three patches one above the other; 1 the cut card, 0 none, -1 unsure


def pairs(seed: int, *, split: str = "train") -> Iterator[tuple[Image, NDArray[np.float32]]]:
    """Yield pairs for ever: (6 HEIGHT x WIDTH x 3, BGR), and 1 if the first shows the cut card."""
    rng = np.random.default_rng([{"train": 1, "test": 2}[split], 10, seed])
    played, filmed = _of_plays(rng, split), _of_films(seed, rng, split)
    while True:
        one, before, is_cut = next(filmed if rng.random() < FILMED else played)
        yield np.concatenate([one, before]), np.array([is_cut], np.float32)


def shows_cut(answer: Answer, *, some_cut: bool, limb: bool) -> int:
    """Return 1 if it is the cut card that is seen to leave, 0 if none is, -1 if nobody could say.

    `some_cut`: whether the cut card is anywhere in the picture; `limb`: whether an arm or a hand.
    """
    if answer.phase > 0:
        return int(answer.kind == Kind.CUT) if answer.kind >= 0 else -1
    # An arm over the mouth, or a card that hardly shows: no cut card unless one is there.
    return -1 if some_cut or not limb else 0


def _of_plays(rng: Rng, split: str) -> Iterator[tuple[Image, Image, int]]:
    while True:
        shoe = Shoe(rng, split)
        before = [each for _ in range(BEFORE) if (each := _card_before(shoe, rng)) is not None]
        for _ in range(PLAYS if before else 0):
            reaches = bool(rng.random() < ARMS)
            first = Kind.CUT if not reaches and rng.random() < CUTS else None
            play = Play(shoe, rng, first=first, reaches=reaches)
            for time, is_cut in _instants(play, rng):
                yield picture(rng, play, time), _any(rng, before), is_cut


def _card_before(shoe: Shoe, rng: Rng) -> Image | None:
    """Return an instant in which a back leaves, as far out as any; None if none was drawn."""
    for _ in range(TRIES):
        play = Play(shoe, rng, first=Kind.BACK)
        times = rng.uniform(0.15, play.length, INSTANTS)
        answers = [(play.answer(float(time)), float(time)) for time in times]
        phases = [answer.phase for answer, _ in answers if answer.kind == Kind.BACK]
        most = max(phases, default=0)
        if most > 0:
            best = [t for answer, t in answers if answer.kind == Kind.BACK and answer.phase == most]
            return picture(rng, play, best[int(rng.integers(len(best)))])
    return None


def _instants(play: Play, rng: Rng) -> Iterator[tuple[float, int]]:
    """Yield instants of a play in which something is out, or near: at random, both kinds alike."""
    found: list[list[float]] = [[], []]
    for time in rng.uniform(0.15, play.length, INSTANTS):
        moment = play.moment(float(time))
        cut = moment.rest is Kind.CUT or any(card.kind is Kind.CUT for card in moment.cards)
        limb = bool(moment.hands)
        is_cut = shows_cut(play.answer(float(time)), some_cut=cut, limb=limb)
        if is_cut >= 0:
            found[is_cut].append(float(time))
    for is_cut, times in enumerate(found):
        for time in times[:PER_PLAY]:
            yield time, is_cut


def _of_films(seed: int, rng: Rng, split: str) -> Iterator[tuple[Image, Image, int]]:
    for film in films(seed, split=split, cuts=1.0):
        samples = [(each, Answer(*label)) for each, label in itertools.islice(film, FROM_FILM)]
        backs = [(each, answer.phase) for each, answer in samples if answer.kind == Kind.BACK]
        most = max((phase for _, phase in backs), default=0)
        before = [each for each, phase in backs if phase == most > 0]
        cuts = [number for number, (_, answer) in enumerate(samples) if answer.kind == Kind.CUT]
        kinds: list[list[Image]] = [[], []]
        for number, (each, answer) in enumerate(samples):
            some_cut = any(abs(number - cut) <= NEAR for cut in cuts)
            limb = bool(answer.hand) or answer.phase < 0
            is_cut = shows_cut(answer, some_cut=some_cut, limb=limb)
            if is_cut >= 0:
                kinds[is_cut].append(each)
        for _ in range(PER_FILM if before and all(kinds) else 0):
            is_cut = int(rng.random() < 1 / 2)
            yield _any(rng, kinds[is_cut]), _any(rng, before), is_cut


def _any(rng: Rng, images: Sequence[Image]) -> Image:
    return images[int(rng.integers(len(images)))]
