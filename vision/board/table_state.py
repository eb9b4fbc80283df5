"""The state of one table as a display knows it: the newest message of each key, and nothing older.

A key is a topic, or a topic with the number of a result or answer. Pure: repeats and late messages
are dropped, and what was cleared is forgotten.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from vision.wire.form import Payload, Proves, Term

# Returns the part of a message that a display may know, None for nothing.
Reduce = Callable[[str, Payload], Payload | None]


def whole(_topic: str, payload: Payload) -> Payload:
    """Let a display know all of a message."""
    return payload


# Results of a shoe that are kept: 8 decks give at most about 100 coups.
STORED_RESULTS = 150
# Keys whose newest number is remembered, so that repeats are known; bounds the memory of a display
# that runs for months. Too few, and an old message that is sent again would count as news.
STORED_KEYS = 2000
# Numbers by which a message may be above the last one that a later `health` names: the two come on
# different ways, and a second of play has some twenty. More lets a false number stand for longer.
AHEAD = 500
# Topics whose numbers do not count: a last will has the number of the time when the reader left it
# with the broker, so it is always taken.
UNNUMBERED = ("status", "health")
# Topics of pictures, which are no JSON.
MEDIA = ("evidence/", "clip/")
# The topic that reports an event, not a state: passed on, but not kept.
PASSING = "cmd/reply"


@dataclass(frozen=True, slots=True)
class Update:
    """A message as browsers get it; `payload` is None where the topic was cleared."""

    table: str
    topic: str
    payload: Payload | None

    @property
    def key(self) -> str:
        """What it is the state of: a later message of the same key replaces it."""
        return key_of(self.topic, self.payload or {})

    @property
    def text(self) -> str:
        """The message as JSON."""
        content = {"table": self.table, "topic": self.topic, "payload": self.payload}
        return json.dumps(content, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class _Mark:
    """How new the last message of a key was; `term`: of which reader of a pair."""

    term: int
    boot: object
    seq: object
    at: str

    def outranks(self, other: _Mark, *, in_order: bool) -> bool:
        """Whether the other is no news; `in_order`: numbers and times count on its topic.

        The words of the reader of a pair that has taken over are newer than those of the other.
        """
        if self.term != other.term:
            return self.term > other.term
        if not in_order:
            return False
        # By number within a run of the reader, by time across runs.
        if self.boot != other.boot:
            return self.at > other.at
        if isinstance(self.seq, int) and isinstance(other.seq, int):
            return self.seq >= other.seq
        return False


@dataclass(slots=True)
class TableState:
    """The state of one table; `reduce` decides which part of a message is kept.

    `proves` checks the terms of its two readers; of a table with one reader no term counts.
    """

    table: str
    reduce: Reduce = whole
    proves: Proves | None = None
    outdated: int = 0  # messages of a reader that another has taken over from
    hidden: int = 0  # alerts that were forgotten because there are too many; in `health`
    _state: dict[str, Update] = field(default_factory=dict)
    _marks: dict[str, _Mark] = field(default_factory=dict)
    # Keys of answers and of alerts, the oldest first: forgotten before states.
    _passing: dict[str, None] = field(default_factory=dict)
    _alerts: dict[str, None] = field(default_factory=dict)
    _term: Term = field(default_factory=Term)

    def __iter__(self) -> Iterator[Update]:
        return iter(tuple(self._state.values()))

    def take(self, topic: str, payload: Payload | None) -> Update | None:
        """Take a message; return the update for the displays, None where it changes nothing."""
        if payload is None:
            return self._clear(topic)
        key = key_of(topic, payload)
        term, seq = (_whole(payload.get(name)) for name in ("term", "seq"))
        counted = topic != "health" and payload.get("counted") is not False
        if self.proves is None:
            term = 0
        elif not self.proves(term, str(payload.get("term_proof", ""))) or not self._term.admits(
            term, seq, counted=counted
        ):
            self.outdated += 1
            return None
        if topic == "health":
            self._forget_future(payload)
            payload = {**payload, "alerts_hidden": self.hidden}
        mark = _Mark(term, payload.get("boot"), payload.get("seq"), str(payload.get("at", "")))
        known = self._marks.get(key)
        if known is not None and known.outranks(mark, in_order=topic not in UNNUMBERED):
            return None
        reduced = self.reduce(topic, payload)
        if reduced is None:
            return None
        update = Update(self.table, topic, reduced)
        self._note(key, mark)
        if topic != PASSING:
            self._state.pop(key, None)
            self._state[key] = update
            self._forget_results(update)
        return update

    def _clear(self, topic: str) -> Update:
        if self._state.pop(topic, None) is None and topic.startswith("alert/"):
            self.hidden = max(0, self.hidden - 1)
        return Update(self.table, topic, None)

    def _note(self, key: str, mark: _Mark) -> None:
        """Remember how new a message is, as the newest of all."""
        self._drop(key)
        self._marks[key] = mark
        for keys, begins in ((self._passing, f"{PASSING}#"), (self._alerts, "alert/")):
            if key.startswith(begins):
                keys[key] = None
        self._forget_oldest()

    def _forget_future(self, health: Payload) -> None:
        """Forget how new what cannot have been published yet was: the next message replaces it.

        Its number is far above the last one that `health` names, or it is of another run and later.
        """
        boot, at, newest = health.get("boot"), str(health.get("at", "")), _whole(health.get("seq"))
        for key, mark in tuple(self._marks.items()):
            is_same = mark.boot == boot
            if _whole(mark.seq) > newest + AHEAD if is_same else mark.at > at:
                self._drop(key, with_state=False)

    def _forget_results(self, update: Update) -> None:
        """Keep the results of one shoe only, and no more of them than a display can show."""
        if update.topic == "coup/result" and update.payload is not None:
            keys = [key for key in self._state if key.startswith("coup/result#")]
            shoe = update.payload.get("shoe")
            others = [k for k in keys if (self._state[k].payload or {}).get("shoe") != shoe]
            for key in others or keys[:-STORED_RESULTS]:
                self._drop(key)

    def _forget_oldest(self) -> None:
        """Forget events before states: an alert may be open for longer than a shoe."""
        if len(self._marks) > STORED_KEYS:
            oldest = next(iter(self._passing or self._alerts), None)
            if oldest is not None:
                self.hidden += oldest in self._state and oldest in self._alerts
                self._drop(oldest)

    def _drop(self, key: str, *, with_state: bool = True) -> None:
        if with_state:
            self._state.pop(key, None)
        self._marks.pop(key, None)
        self._passing.pop(key, None)
        self._alerts.pop(key, None)


def key_of(topic: str, payload: Payload) -> str:
    """Return the key of a message: each result and each answer to an order has its own."""
    if topic == "coup/result":
        return f"{topic}#{payload.get('coup')}"
    if topic == PASSING:
        return f"{topic}#{payload.get('seq')}#{payload.get('ref')}"
    return topic


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0
