"""Continue a table from its log: the newest checkpoint, and the events after it."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from vision.audit.said import compare
from vision.config.profiles import logged_profile
from vision.errors import OutsideError
from vision.game.cards import Card
from vision.game.coup.state import Table, lay_out
from vision.game.outputs import AlertState
from vision.record.codec import event_from_json
from vision.sight.reading.resume import ExpectedCard, ResumeState
from vision.storage.log import Checkpoint, Store
from vision.wire.session import (
    TableSession,
    advance,
    new_session,
    session_from_json,
    session_to_json,
)

# Records after which a checkpoint is due where no shoe is changed: about a thousand coups, which a
# restart folds in seconds (0.1 ms each). More makes restarts slow, fewer makes the log longer.
CHECKPOINT_EVERY = 20_000

log = logging.getLogger(__name__)


def restored(store: Store, header: Mapping[str, Any]) -> TableSession:
    """Return the session as the log leaves it; its `seq` is not below that of any message there.

    OutsideError when the log was changed, or pruned and then taken up by a version that does not
    understand it.
    """
    start = new_session(header, logged_profile(header))
    try:
        session = folded(start, store.recent())
    except ValueError:
        session = _refolded(start, store)
    if store.last_seq > session.stream.seq:
        # Another version may make fewer messages of the same events; no number is used twice.
        session = replace(session, stream=session.stream._replace(seq=store.last_seq))
        store.mark(checkpoint_of(session))
    return session


def compare_messages(store: Store, header: Mapping[str, Any]) -> None:
    """Hold what would be published again against the log; OutsideError where it was not said."""
    try:
        compared = compare(header, store.origins(), store.told_again(), store.standing())
    except OutsideError as error:
        raise OutsideError(f"the log {store.path} was changed: {error}") from error
    except (ValueError, KeyError) as error:
        # What another version wrote; whether the log can be taken up is found out below.
        log.warning("%s: its messages cannot be compared with the log: %s", store.path, error)
        return
    if compared.unproven:
        log.warning(
            "%s: %d messages that are published again could not be compared with the log: their "
            "records were pruned, or another version said them",
            store.path,
            compared.unproven,
        )


def folded(
    session: TableSession, contents: Iterable[Mapping[str, Any]], *, trust: bool = True
) -> TableSession:
    """Return the session after the contents of these records; ValueError where one does not fit.

    With `trust` a checkpoint counts, without it only events do.
    """
    start = session
    for content in contents:
        if "event" in content:
            session = advance(session, event_from_json(content["event"])).session
        elif "desk" in content and trust:
            session = session_from_json(content["desk"], start)
    return session


def checkpoint_of(session: TableSession) -> Checkpoint:
    """Return the session as a checkpoint of its log."""
    return Checkpoint(session.table.clock, session.stream.seq, session_to_json(session))


def resume_state_of(table: Table) -> ResumeState:
    """Return what should lie on the table, for sight to find again."""
    coup = table.coup
    cards = () if coup is None or coup.void else coup.cards
    lying = [
        ExpectedCard(seen.order, seen.slot, seen.card)
        for seen in cards
        if seen.removed_at is None and seen.order > 0
    ]
    return ResumeState(lying, may_clear=coup is None or coup.complete or coup.void)


def moments_in_dispute(table: Table) -> tuple[int, ...]:
    """Return when (Unix ms) alerts of earlier shoes that nobody closed were raised or changed."""
    alerts = (output.alert for output in table.earlier_alerts)
    standing = (alert for alert in alerts if alert.state is not AlertState.CLOSED)
    return tuple(at for alert in standing for at in (alert.raised_at, alert.changed_at))


def _refolded(start: TableSession, store: Store) -> TableSession:
    if store.is_pruned:
        raise OutsideError(
            f"the log {store.path} is of another version of shoe-reader, and its beginning has "
            "been pruned: start it with that version (its status messages name it), or go on in a "
            "new log with shoe-reader log begin"
        )
    return folded(start, store.contents(), trust=False)


def ended_cards(table: Table) -> frozenset[int]:
    """Return the orders of the cards that count of a coup that has a result and may still lie."""
    coup = table.coup
    if coup is None or coup.result is None:
        return frozenset()
    return frozenset(card.order for card in lay_out(coup, table.rules).cards)


def read_cards(table: Table) -> list[Card]:
    """Return the faces read in this shoe so far, a face for each card."""
    counts = table.shoe.counts
    return [Card.of(index) for index, count in enumerate(counts) for _ in range(count)]
