"""A shoe on film at the rhythm of a real table: a coup begins every so often, and between it rests.

The acts keep their own times; `Cycle` says which instant of them a frame of the film shows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..render.paint import Image
from .film import Shot, frame_ms
from .simulate import Show
from .timeline import on_table


@dataclass(frozen=True, slots=True)
class Cycle:
    """The film of a show in which a coup begins every `every_s` seconds, after `before_s` of rest.

    A coup that lasts longer than that is followed by the next at once.
    """

    show: Show
    every_s: float
    before_s: float = 0.0

    @property
    def starts_s(self) -> tuple[float, ...]:
        """When each act begins in the film, and at last when the film ends; seconds."""
        at, starts = self.before_s, []
        for act in self.show.acts:
            starts.append(at)
            at += max(self.every_s, act.end - act.start)
        return (*starts, at)

    @property
    def frame_count(self) -> int:
        """How many frames the film has."""
        return int(self.starts_s[-1] * self.show.look.fps)

    def film_ms(self, act: int, at_ms: int) -> int:
        """Return when the film shows an instant (ms) of an act."""
        began_s = self.show.acts[act].start
        return at_ms + round(1000 * (self.starts_s[act] - began_s))

    def frames(self) -> Iterator[tuple[Image, int]]:
        """Yield the frames, uint8 (h, w, 3) BGR, with their instants in ms from the start."""
        shot, acts, fps = Shot(self.show.look), self.show.acts, self.show.look.fps
        starts, number = self.starts_s, 0
        for index in range(self.frame_count):
            at = index / fps
            while number + 1 < len(acts) and at >= starts[number + 1]:
                number += 1
            act = acts[number]
            moment = act.start + min(max(at - starts[number], 0.0), act.end - act.start)
            yield shot.frame(on_table(acts, number), act, moment), frame_ms(index, fps)
