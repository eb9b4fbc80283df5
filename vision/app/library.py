"""What a program that imports `vision` calls: cards in a picture, a coup, odds, a log.

`vision/__init__.py` names these and the values that they work on.
"""

from __future__ import annotations

from functools import cache
from os import PathLike
from pathlib import Path

from vision.camera.pictures import open_picture
from vision.config.profiles import DEFAULT, load_profile, logged_profile
from vision.errors import ConfigurationError
from vision.game.cards import parse_cards
from vision.game.explain import Explanation, dealt_in_order, explain
from vision.game.odds import Edge, count, edges, full_shoe
from vision.inference.load import ModelSet, for_pictures
from vision.record.chain import verified
from vision.sight.geometry.frame import Image
from vision.sight.stills.reader import StillCard, read_still
from vision.storage.log_reader import read_log
from vision.wire.log_fold import LogFold
from vision.wire.session import TableSession, new_session

ERROR_BOUND = 0.02  # probability; as `shoe-reader read` has it: below it a card is named


def read_cards(
    picture: str | PathLike[str] | Image, *, bound: float = ERROR_BOUND
) -> tuple[StillCard, ...]:
    """Return the cards in a picture: a file, or an array of height x width x 3 (BGR, 8 bits).

    A card is named if its probability of error is at most `bound`. ConfigurationError where the
    file is not a picture.
    """
    image = open_picture(Path(picture)) if isinstance(picture, str | PathLike) else picture
    if image is None:
        raise ConfigurationError(f"{picture}: not readable as a picture; give a JPEG or PNG file")
    return read_still(_models(), image, bound=bound)


@cache
def _models() -> ModelSet:
    return for_pictures(threads=1)


def play_coup(cards: str, profile: str = DEFAULT) -> Explanation:
    """Deal cards in the order in which they left the shoe, as in `9c 3s Kd 4h`, by a house's rules.

    The answer explains each step; its `outcome` is None where the coup is wrong or not complete.
    """
    return explain(dealt_in_order(parse_cards(cards)), load_profile(profile).rules)


def house_edges(profile: str = DEFAULT) -> tuple[Edge, ...]:
    """Return the exact edge of every bet that a house offers, from a full shoe."""
    house = load_profile(profile)
    return edges(count(full_shoe(house.rules.decks), house.rules.tableau), house.betting)


def fold_log(log: str | PathLike[str]) -> TableSession:
    """Return the table as its log leaves it; BrokenChainError where the log was changed."""
    contents = (content for _, content in verified(read_log(Path(log))))
    header = next(contents)["log"]
    fold = LogFold(new_session(header, logged_profile(header)))
    for content in contents:
        fold.take(content)
    return fold.session
