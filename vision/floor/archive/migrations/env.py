"""Run by Alembic: bring the tables of the connection that it is given to the wanted version."""

from __future__ import annotations

from alembic import context

from vision.floor.archive.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,  # SQLite changes a column by making the table anew
)
with context.begin_transaction():
    context.run_migrations()
