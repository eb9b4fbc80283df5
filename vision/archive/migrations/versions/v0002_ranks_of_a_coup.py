"""How many cards of each rank a coup had, for the frequencies; filled from the results."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "2"
down_revision = "1"

RANKS = "a23456789tjqk"
KEY = ("site", "table_name", "numbering", "shoe", "coup")
# Rows of an archive that are read and written at a time; more only takes more memory.
AT_ONCE = 5000


def upgrade() -> None:
    """Add the columns, and count what the results that are kept say."""
    with op.batch_alter_table("coup") as coup:
        for rank in RANKS:
            column = sa.Column(f"rank_{rank}", sa.Integer(), nullable=False, server_default="0")
            coup.add_column(column)
    _fill(op.get_bind())


def downgrade() -> None:
    """Take the columns away again."""
    with op.batch_alter_table("coup") as coup:
        for rank in RANKS:
            coup.drop_column(f"rank_{rank}")


def _fill(connection: sa.Connection) -> None:
    coup = sa.table("coup", *map(sa.column, (*KEY, "boot", "seq")), *map(_rank, RANKS))
    said = sa.table("message", *map(sa.column, (*KEY[:2], "boot", "seq", "mark", "payload")))
    same = [coup.c[name] == said.c[name] for name in ("site", "table_name", "boot", "seq")]
    query = sa.select(*(coup.c[name] for name in KEY), said.c.payload).where(
        *same, said.c.mark == ""
    )
    counts: dict[str, Any] = {f"rank_{rank}": sa.bindparam(f"n_{rank}") for rank in RANKS}
    own = [coup.c[name] == sa.bindparam(f"of_{name}") for name in KEY]
    change = sa.update(coup).where(*own).values(counts)
    rows = connection.execute(query).fetchall()
    for start in range(0, len(rows), AT_ONCE):
        connection.execute(change, [_counted(row) for row in rows[start : start + AT_ONCE]])


def _rank(rank: str) -> Any:
    return sa.column(f"rank_{rank}")


def _counted(row: Any) -> dict[str, Any]:
    result = json.loads(row.payload)
    cards = (*result["punto"]["cards"], *result["banco"]["cards"])
    found = Counter(card[0].lower() for card in cards if card is not None)
    key = {f"of_{name}": getattr(row, name) for name in KEY}
    return {**key, **{f"n_{rank}": found[rank] for rank in RANKS}}
