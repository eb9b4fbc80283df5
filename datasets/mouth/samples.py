"""Training samples for the watcher of the mouth: three patches each, and what to say of the last.

A sample is the mouth at rest, the mouth a few frames ago, and the mouth now, as the watcher stacks
them; they are cut from plays at shoes, both drawn at random, and from films of the simulator.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ..render.paint import Image
from .answers import Answer
from .filmed import film_samples
from .plays import Play
from .shoes import Kind, Rng, Shoe, shine

# Samples taken of one play: the shoe takes as long to draw as twenty of its pictures, and with
# more of each, plays are learnt by heart.
PER_PLAY = 8
# How much oftener an instant of a phase (none could say, at rest, partly, wholly out) is taken than
# it lasts: most of a play is rest.
_ODDS = {-1: 0.6, 0: 0.5, 1: 4.0, 2: 3.0}
# And how much oftener one in which the cut card shows, or two cards leave as one: few plays have
# them, and with 3 % of the samples two together were never learnt.
_CUT, _TWO = 4.0, 12.0
# Share of the samples that are cut from films: the simulator has few shoes and many manners.
_FILMED = 0.35


def mixed(seed: int, *, split: str = "train") -> Iterator[tuple[Image, NDArray[np.float32]]]:
    """Yield samples of plays and of films for ever, as `samples` does."""
    rng = np.random.default_rng(seed)
    played, filmed = samples(seed, split=split), film_samples(seed, split=split)
    while True:
        yield next(filmed if rng.random() < _FILMED else played)


def samples(seed: int, *, split: str = "train") -> Iterator[tuple[Image, NDArray[np.float32]]]:
    """Yield samples for ever: (3 HEIGHT x WIDTH x 3, BGR; rest, before, now), and 5 answers.

    The answers are those of `Answer`, in its order: -1 or nan where nobody could say.
    """
    rng = np.random.default_rng([{"train": 1, "test": 2}[split], 8, seed])
    while True:
        shoe = Shoe(rng, split)
        play = Play(shoe, rng)
        times = np.sort(rng.uniform(0.15, play.length, 80))
        answers = [play.answer(float(time)) for time in times]
        odds = np.array([_odds(answer) for answer in answers])
        for chosen in rng.choice(len(times), PER_PLAY, replace=False, p=odds / odds.sum()):
            yield picture(rng, play, float(times[chosen])), label(answers[chosen])


def _odds(answer: Answer) -> float:
    two, cut = answer.together == 1, answer.kind == int(Kind.CUT)
    return (
        _ODDS[answer.phase]
        * (1.5 if answer.hand else 1.0)
        * (_CUT if cut else 1.0)
        * (_TWO if two else 1.0)
    )


def label(answer: Answer) -> NDArray[np.float32]:
    """Return an answer as numbers."""
    return np.array(
        [answer.phase, answer.shift, answer.kind, answer.hand, answer.together], np.float32
    )


def picture(rng: Rng, play: Play, time: float) -> Image:
    """Return the three patches of an instant of a play, one above the other."""
    quiet = float(rng.choice([0.1, 0.1, play.length - 0.05]))
    if rng.random() < 0.1:
        quiet = float(rng.uniform(0.1, play.length))  # the rest was learnt at a wrong moment
    before = time - float(rng.uniform(0.045, 0.125))
    # The light has changed since the rest was learnt, or the camera was pushed a little.
    light = float(np.exp(rng.normal(0, 0.15))) if rng.random() < 0.3 else 1.0
    far = 1 if rng.random() < 0.8 else 3
    shift = rng.integers(-far, far + 1, 2) if rng.random() < 0.15 else (0, 0)
    shutter = float(rng.uniform(0.002, 0.016))
    patches = []
    for at, lamp in ((quiet, 1.0), (before, light), (time, light)):
        seen = play.moment(at)
        drawn = play.shoe.draw(seen, smear=play.speed(at) * shutter, light=lamp)
        patches.append(play.shoe.camera(drawn, rng))
    patches[0] = np.roll(patches[0], shift, (0, 1))
    if rng.random() < 0.05:  # the camera shakes
        patches[1] = np.roll(patches[1], rng.integers(-1, 2, 2), (0, 1))
    if rng.random() < 0.1:
        state = rng.bit_generator.state
        for patch in patches:
            rng.bit_generator.state = state
            shine(rng, patch)
    return np.concatenate(patches)
