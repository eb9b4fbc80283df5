"""The first tables of the archive, as the program has them: no version before was released.

The first change after a release writes these tables out here, as they were then.
"""

from __future__ import annotations

from alembic import op

from vision.floor.archive.tables import metadata

revision = "1"
down_revision = None


def upgrade() -> None:
    """Create the tables."""
    metadata.create_all(op.get_bind())
