"""Card by card to the whole of a coup: what tests deal, as sight says it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from vision.game.events import (
    Allegation,
    CardFound,
    CardOut,
    CardPlaced,
    CardRead,
    CardRemoved,
    CardWithdrawn,
    CoupSeen,
    Event,
    Life,
    Noticed,
    SeenCard,
)
from vision.game.rules import Rules

SURE = 1_000.0


@dataclass
class OpenCoup:
    """A coup as it is dealt."""

    number: int
    cards: list[SeenCard] = field(default_factory=list)
    alleged: dict[str, Allegation] = field(default_factory=dict)
    doubts: dict[int, str] = field(default_factory=dict)
    gone_at: int | None = None
    told: CoupSeen | None = None


class Snapshots:
    """Turns what becomes of single cards into `CoupSeen`."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.begin_shoe()

    def begin_shoe(self) -> None:
        """Begin with the first coup of a shoe."""
        self.coups: list[OpenCoup] = []
        self.withdrawn: list[int] = []

    def take(self, event: Event) -> Iterator[Event]:
        """Yield what the event is as a whole: the coups that it changes."""
        match event:
            case CardOut() | CardFound():
                self._out(event)
            case CardPlaced():
                self._placed(event)
            case CardRead():
                self._read(event)
            case CardRemoved():
                self._end(event.order, Life.REMOVED, event.at)
            case CardWithdrawn():
                self._withdraw(event.order)
            case Noticed() if event.code not in ("LIGHT", "LINK", "CAMERA_MOVED", "READING_POOR"):
                self._noticed(event)
            case _:
                yield event
                return
        for coup in self.coups[-2:]:
            seen = self._seen(coup, event.at)
            if coup.told is None or replace(seen, at=coup.told.at) != coup.told:
                coup.told = seen
                yield seen

    def _seen(self, coup: OpenCoup, at: int) -> CoupSeen:
        numbers = sorted(card.order for card in coup.cards)
        numbers = [n - sum(w < n for w in self.withdrawn) for n in numbers]
        named = dict(zip((card.order for card in coup.cards), numbers, strict=True))
        return CoupSeen(
            at,
            coup.number,
            tuple(replace(card, order=named[card.order]) for card in coup.cards),
            tuple(
                replace(a, order=named.get(a.order or 0, a.order)) for a in coup.alleged.values()
            ),
            doubt=" ".join(coup.doubts.values()),
        )

    def _out(self, event: CardOut | CardFound) -> None:
        card = SeenCard(event.order, event.at, Life.OUT)
        coup = self.coups[-1] if self.coups else None
        if coup is None or self._is_over(coup, event.at):
            coup = OpenCoup(len(self.coups) + 1)
            self.coups.append(coup)
        coup.gone_at = None
        coup.cards.append(card)

    def _is_over(self, coup: OpenCoup, at: int) -> bool:
        cards = [card for card in coup.cards if card.life is not Life.RETURNED]
        if coup.gone_at is None or not cards:
            return False
        return len(cards) > 3 or at >= coup.gone_at + self.rules.removed_after_ms

    def _find(self, order: int) -> tuple[OpenCoup, int] | None:
        for coup in reversed(self.coups):
            for index, card in enumerate(coup.cards):
                if card.order == order:
                    return coup, index
        return None

    def _change(self, order: int, **facts: object) -> OpenCoup | None:
        found = self._find(order)
        if found is None:
            return None
        coup, index = found
        coup.cards[index] = replace(coup.cards[index], **facts)  # type: ignore[arg-type]
        return coup

    def _placed(self, event: CardPlaced) -> None:
        found = self._find(event.order)
        if found is None:
            self._out(CardOut(event.at, event.order))
            found = self._find(event.order)
        if found is None:
            return
        coup, index = found
        card = replace(coup.cards[index], life=Life.LYING)
        card = card if event.slot is None else replace(card, slot=event.slot)
        coup.cards[index] = card
        coup.gone_at = None
        if self._is_first(coup, index):
            begun = OpenCoup(len(self.coups) + 1, coup.cards[index:])
            coup.cards = coup.cards[:index]
            self.coups.append(begun)
            if coup.gone_at is not None and card.out_at < coup.gone_at:
                begun.alleged["EARLY_DEAL:"] = Allegation("EARLY_DEAL", card.order, SURE)

    def _is_first(self, coup: OpenCoup, index: int) -> bool:
        if index == 0 or coup.cards[index].slot is not self.rules.deal_order[0]:
            return False
        before = coup.cards[:index]
        if coup.number > 1 and not any(c.slot is not None or c.card is not None for c in before):
            return False
        return all(c.life is not Life.LYING for c in before)

    def _read(self, event: CardRead) -> None:
        found = self._find(event.order)
        if found is None:
            self._out(CardOut(event.at, event.order))
            found = self._find(event.order)
        if found is None:
            return
        coup, index = found
        card = coup.cards[index]
        if event.card is None:
            coup.cards[index] = replace(card, declined=card.card is None, face_up=True)
        elif f"SWITCH:{event.order}" in coup.alleged and card.card is not None:
            coup.cards[index] = replace(card, switched=event.card)
        else:
            coup.cards[index] = replace(
                card,
                card=event.card,
                confidence=float(event.confidence),
                second=event.second,
                face_up=True,
            )

    def _end(self, order: int, life: Life, at: int) -> None:
        coup = self._change(order, life=life)
        if coup is None:
            return
        gone = all(card.life is not Life.LYING for card in coup.cards)
        coup.gone_at = (coup.gone_at or at) if gone else None

    def _withdraw(self, order: int) -> None:
        found = self._find(order)
        if found is not None:
            del found[0].cards[found[1]]
            self.withdrawn.append(order)

    def _noticed(self, event: Noticed) -> None:
        found = self._find(event.order or 0)
        coup = found[0] if found else self.coups[-1] if self.coups else None
        if coup is None:
            return
        key = f"{event.code}:{event.order or ''}"
        if event.code == "REVIEW":
            coup.doubts.pop(event.order or 0, None)
            if not event.over:
                coup.doubts[event.order or 0] = event.detail or "sight is unsure"
            return
        coup.alleged.pop(key, None)
        if not event.over:
            coup.alleged[key] = Allegation(event.code, event.order, SURE)
        if event.code == "RETURNED_TO_SHOE" and event.order:
            self._end(event.order, Life.RETURNED, event.at)
