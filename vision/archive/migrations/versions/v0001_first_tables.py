"""The first tables of the archive."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "1"
down_revision = None


def upgrade() -> None:
    """Create the tables."""
    for create in (
        _alert,
        _apart,
        _card,
        _command,
        _coup,
        _evidence,
        _hook,
        _look,
        _message,
        _run,
        _shoe,
        _source,
        _status,
    ):
        create()


def _alert() -> None:
    op.create_table(
        "alert",
        sa.Column("site", sa.Text(), autoincrement=False, nullable=False),
        sa.Column("table_name", sa.Text(), autoincrement=False, nullable=False),
        sa.Column("numbering", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("id", sa.Text(), autoincrement=False, nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("code", sa.Text(), nullable=False),
        sa.Column("severity", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("shoe", sa.Text(), nullable=False),
        sa.Column("coup", sa.Integer(), nullable=False),
        sa.Column("raised_at", sa.BigInteger(), nullable=False),
        sa.Column("acknowledged_at", sa.BigInteger(), nullable=True),
        sa.Column("rectified_at", sa.BigInteger(), nullable=True),
        sa.Column("closed_at", sa.BigInteger(), nullable=True),
        sa.Column("in_time", sa.Boolean(), nullable=True),
        sa.Column("remedy", sa.Text(), nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("site", "table_name", "numbering", "id"),
    )
    op.create_index(
        "alert_raised", "alert", ["raised_at", "site", "table_name", "code"], unique=False
    )


def _apart() -> None:
    op.create_table(
        "apart",
        sa.Column("site", sa.Text(), autoincrement=False, nullable=False),
        sa.Column("table_name", sa.Text(), autoincrement=False, nullable=False),
        sa.Column("boot", sa.Text(), autoincrement=False, nullable=False),
        sa.Column("seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("mark", sa.Text(), autoincrement=False, nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("topic", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("site", "table_name", "boot", "seq", "mark"),
    )


def _card() -> None:
    op.create_table(
        "card",
        sa.Column("site", sa.Text(), autoincrement=False, nullable=False),
        sa.Column("table_name", sa.Text(), autoincrement=False, nullable=False),
        sa.Column("numbering", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("shoe", sa.Text(), autoincrement=False, nullable=False),
        sa.Column("position", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("declined", sa.Boolean(), nullable=False),
        sa.Column("keyed", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("site", "table_name", "numbering", "shoe", "position"),
    )


def _command() -> None:
    op.create_table(
        "command",
        sa.Column("site", sa.Text(), autoincrement=False, nullable=False),
        sa.Column("table_name", sa.Text(), autoincrement=False, nullable=False),
        sa.Column("mark", sa.Text(), autoincrement=False, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("ref", sa.Text(), nullable=False),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("site", "table_name", "mark"),
    )
    op.create_index("command_at", "command", ["site", "table_name", "at"], unique=False)


def _coup() -> None:
    op.create_table(
        "coup",
        sa.Column("site", sa.Text(), autoincrement=False, nullable=False),
        sa.Column("table_name", sa.Text(), autoincrement=False, nullable=False),
        sa.Column("numbering", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("shoe", sa.Text(), autoincrement=False, nullable=False),
        sa.Column("coup", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("dealt_at", sa.BigInteger(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("winner", sa.Text(), nullable=True),
        sa.Column("punto_points", sa.Integer(), nullable=True),
        sa.Column("banco_points", sa.Integer(), nullable=True),
        sa.Column("cards", sa.Integer(), nullable=False),
        sa.Column("free", sa.Boolean(), nullable=False),
        sa.Column("boot", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("site", "table_name", "numbering", "shoe", "coup"),
    )
    op.create_index("coup_dealt", "coup", ["dealt_at", "site", "table_name", "state"], unique=False)
    op.create_index(
        "coup_outcome",
        "coup",
        ["site", "table_name", "boot", "winner", "cards", "state", "dealt_at"],
        unique=False,
    )


def _evidence() -> None:
    op.create_table(
        "evidence",
        sa.Column("site", sa.Text(), autoincrement=False, nullable=False),
        sa.Column("table_name", sa.Text(), autoincrement=False, nullable=False),
        sa.Column("numbering", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("topic", sa.Text(), autoincrement=False, nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("shoe", sa.Text(), nullable=False),
        sa.Column("coup", sa.Integer(), nullable=False),
        sa.Column("alert", sa.Text(), nullable=True),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("site", "table_name", "numbering", "topic"),
    )


def _hook() -> None:
    op.create_table(
        "hook",
        sa.Column("url", sa.Text(), autoincrement=False, nullable=False),
        sa.Column("arrival", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("url"),
    )


def _look() -> None:
    op.create_table(
        "look",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("tests", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.PrimaryKeyConstraint("number"),
    )


def _message() -> None:
    op.create_table(
        "message",
        sa.Column("site", sa.Text(), autoincrement=False, nullable=False),
        sa.Column("table_name", sa.Text(), autoincrement=False, nullable=False),
        sa.Column("boot", sa.Text(), autoincrement=False, nullable=False),
        sa.Column("seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("mark", sa.Text(), autoincrement=False, nullable=False),
        sa.Column("arrival", sa.BigInteger(), nullable=False),
        sa.Column("topic", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("site", "table_name", "boot", "seq", "mark"),
    )
    op.create_index("message_arrival", "message", ["arrival"], unique=True)
    op.create_index("message_at", "message", ["site", "table_name", "at"], unique=False)


def _run() -> None:
    op.create_table(
        "run",
        sa.Column("site", sa.Text(), autoincrement=False, nullable=False),
        sa.Column("table_name", sa.Text(), autoincrement=False, nullable=False),
        sa.Column("boot", sa.Text(), autoincrement=False, nullable=False),
        sa.Column("numbering", sa.Integer(), nullable=False),
        sa.Column("profile", sa.Text(), nullable=False),
        sa.Column("deck", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("site", "table_name", "boot"),
    )


def _shoe() -> None:
    op.create_table(
        "shoe",
        sa.Column("site", sa.Text(), autoincrement=False, nullable=False),
        sa.Column("table_name", sa.Text(), autoincrement=False, nullable=False),
        sa.Column("numbering", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("shoe", sa.Text(), autoincrement=False, nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("begun_at", sa.BigInteger(), nullable=False),
        sa.Column("boot", sa.Text(), nullable=False),
        sa.Column("reads", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("site", "table_name", "numbering", "shoe"),
    )
    op.create_index("shoe_begun", "shoe", ["begun_at", "site", "table_name"], unique=False)


def _source() -> None:
    op.create_table(
        "source",
        sa.Column("site", sa.Text(), autoincrement=False, nullable=False),
        sa.Column("table_name", sa.Text(), autoincrement=False, nullable=False),
        sa.Column("numbering", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("seen", sa.Text(), nullable=False),
        sa.Column("lost", sa.Text(), nullable=False),
        sa.Column("newest", sa.BigInteger(), nullable=False),
        sa.Column("term", sa.BigInteger(), nullable=False),
        sa.Column("term_from", sa.BigInteger(), nullable=False),
        sa.Column("pruned", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("site", "table_name", "numbering"),
    )


def _status() -> None:
    op.create_table(
        "status",
        sa.Column("site", sa.Text(), autoincrement=False, nullable=False),
        sa.Column("table_name", sa.Text(), autoincrement=False, nullable=False),
        sa.Column("boot", sa.Text(), autoincrement=False, nullable=False),
        sa.Column("seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("mark", sa.Text(), autoincrement=False, nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("site", "table_name", "boot", "seq", "mark"),
    )
    op.create_index("status_at", "status", ["site", "table_name", "at"], unique=False)
