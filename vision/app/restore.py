"""Continue a table from its log: the last checkpoint under a signature, and the events after it.

What no signature covers is believed only as far as a reader that was killed can have left it: plain
events of its run. They are taken over, and the next run says which (`unsigned_kept`).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vision.access.command_gate import is_ordered, order_fault
from vision.errors import OutsideError
from vision.game.cards import Card
from vision.game.coup.state import DealtCard, Table, lay_out
from vision.game.events import Event, Life, Noticed, SeenCard, Started, Stopped
from vision.game.outputs import AlertState
from vision.record.chain import BrokenChainError, header_of, of_record, verified
from vision.record.codec import canonical
from vision.record.facts import OF_THE_READER, Anchored, Fact, Recorded
from vision.sight.following.follower import Resumed
from vision.storage.anchors import LogSigner, newest_in_log, newest_signature
from vision.storage.log import changed_log
from vision.storage.log_reader import (
    NEWEST,
    WHOLE,
    Rows,
    checkpoints,
    named,
    new_fold,
    orders,
    read_log,
    read_table,
    unsent_messages,
)
from vision.wire.session import TableSession

# In the transaction in which they are written; a signature by another is none.
ALWAYS_SIGNED = (Started.__name__, Stopped.__name__, Anchored.__name__)
# Records after which a checkpoint is due where no shoe is changed: about a thousand coups, which a
# restart folds in seconds (0.1 ms each). More makes restarts slow, fewer makes the log longer.
CHECKPOINT_EVERY = 20_000

log = logging.getLogger(__name__)


def unsigned_facts(unsigned: range, at: int) -> tuple[Event, ...]:
    """Return what is logged and raised of records that nobody signed."""
    if not unsigned:
        return ()
    first, last = unsigned[0], unsigned[-1]
    words = (
        f"Nobody signed records {first} to {last} when they were written: the reader was killed, "
        "or had no key. They were taken over. Compare them with what happened at the table."
    )
    fact = Recorded(at, Fact.UNSIGNED_STORED, "log", canonical({"first": first, "last": last}))
    return (fact, Noticed(at, "UNSIGNED", detail=words))


def restored(
    path: Path, header: Mapping[str, Any], signer: LogSigner | None
) -> tuple[TableSession, range]:
    """Return the session that a log comes to, folded from its last checkpoint under a signature.

    Where nobody signs, from its last checkpoint; where messages are unsent, from one before them.
    All that would be published again is held against it. With it the numbers of the records behind
    the newest signature that counts, where a run was killed or had no key. OutsideError where the
    log was changed, or where what no signature covers cannot be taken over.
    """
    signed = newest_signature(path, signer) if signer is not None else None
    try:
        session, last = _folded_from(path, header, signed, Rows(path, unsent=True))
        key = session.register.key
        if signer is not None and signed is None and key:
            raise BrokenChainError(
                0,
                f"it was signed by key {key}, and has no signature that this reader trusts; where "
                "that key was yours, name it in [log] ring",
            )
    except BrokenChainError as error:
        raise changed_log(path, error) from error
    believed_to = last if signer is None else 0 if signed is None else signed.number + 1
    return session, range(believed_to + 1, last + 1)


def believed(path: Path, signer: LogSigner | None) -> tuple[TableSession, int]:
    """Return the session that a log comes to, and the last record of which that is so.

    Where it cannot be gone on with as it stands, up to the newest signature in it. OutsideError
    where nothing of it can be believed.
    """
    try:
        header = header_of(read_log(path))
    except BrokenChainError as error:
        raise OutsideError(f"the log {path} was changed: {error}") from error
    try:
        return restored(path, header, signer)[0], NEWEST - 1
    except OutsideError as error:
        signed = None if signer is None else newest_in_log(path, signer)
        if signed is None:
            raise
        words = str(error)
    try:
        session, _ = _folded_from(path, header, signed, last=signed.number)
    except BrokenChainError as error:
        raise OutsideError(words) from error
    log.warning("%s; records after %d are not used", words, signed.number)
    return session, signed.number


def _folded_from(
    path: Path,
    header: Mapping[str, Any],
    signed: Anchored | None,
    rows: Rows | None = None,
    *,
    last: int = NEWEST,
) -> tuple[TableSession, int]:
    """Return the session up to the record `last`, and the number of the last record there is.

    `rows` are the unsent messages, which are held against it.
    """
    unsent = NEWEST if rows is None else min(unsent_messages(path), default=NEWEST)
    marks = checkpoints(path, NEWEST if signed is None else signed.number)
    begin = next((mark for mark in marks if mark.seq < unsent), WHOLE)
    fold = new_fold(header)
    covered = NEWEST if signed is None else signed.number + 1  # its own record included
    number = 0
    late: list[tuple[int, Any]] = []  # the orders that no signature covers
    for record, content in verified(read_table(path, begin.number), begin.number, begin.before):
        if record.number > last:
            break
        number = record.number
        if number > covered:
            with of_record(number):
                if record.body != canonical(content):
                    raise BrokenChainError(number, "is not written as a reader writes it")
                _check_unsigned(fold.session, content)
                late += [(number, content["order"]["fields"])] if "order" in content else []
        step = fold.take(content)
        if rows is not None:
            rows.take(content, fold.session, step.messages if step else ())
    if rows is not None:
        rows.end(fold.session)
    given = {named(fields) for fields in orders(path, 0, covered)} if late else set()
    for number_of_order, fields in late:
        if named(fields) in given:
            raise BrokenChainError(number_of_order, "holds an order that had been given already")
        given.add(named(fields))
    return fold.session, number


def _check_unsigned(session: TableSession, content: Mapping[str, Any]) -> None:
    """Refuse a record behind the last signature that a reader that was killed cannot have left.

    Checkpoints, prunings, beginnings and ends of runs, and what the reader itself knows, are signed
    as they are written, and an order bears the signature of its giver. BrokenChainError.
    """
    number, event = content["n"], content.get("event", {})
    always = event.get("is") in ALWAYS_SIGNED or event.get("kind") in OF_THE_READER
    if "event" not in content or always:
        raise BrokenChainError(number, "is of a kind that is always signed, and nobody signed it")
    if is_ordered(content):
        fault = order_fault(session, content)
        if fault:
            raise BrokenChainError(number, f"the order {fault}")


def resumed(table: Table) -> Resumed | None:
    """Return what should lie on the table, for sight to go on with; `None` where nothing does."""
    coup = table.coup
    if coup is None or coup.void or not coup.sight or coup.sight != table.shoe.sight:
        return None
    seen = {card.order: _seen(card) for card in coup.cards if card.order > 0}
    for order in coup.back:
        seen.setdefault(order, SeenCard(order, coup.started_at, Life.RETURNED))
    if not seen:
        return None
    over = coup.complete or coup.result is not None
    return Resumed(coup.sight, tuple(seen[order] for order in sorted(seen)), over)


def _seen(card: DealtCard) -> SeenCard:
    life = Life.OUT if card.placed_at is None else Life.LYING
    return SeenCard(
        card.order,
        card.out_at,
        life if card.removed_at is None else Life.REMOVED,
        card.slot,
        face_up=card.face_up,
        card=card.card,
        declined=card.marks.declined,
        confidence=card.confidence,
        second=card.second,
        switched=card.marks.switched,
    )


def moments_in_dispute(table: Table) -> tuple[int, ...]:
    """Return when (Unix ms) alerts of earlier shoes that nobody closed were raised or changed."""
    alerts = (output.alert for output in table.earlier_alerts)
    standing = (alert for alert in alerts if alert.state is not AlertState.CLOSED)
    return tuple(at for alert in standing for at in (alert.raised_at, alert.changed_at))


def ended_cards(table: Table) -> frozenset[int]:
    """Return the orders of the cards that count of a coup that has a result and may still lie."""
    coup = table.coup
    if coup is None or coup.result is None:
        return frozenset()
    return frozenset(card.order for card in lay_out(coup.cards, table.rules).cards)


def read_cards(table: Table) -> list[Card]:
    """Return the faces read in this shoe so far, a face for each card."""
    counts = table.shoe.counts
    return [Card.of(index) for index, count in enumerate(counts) for _ in range(count)]
