"""The versions of the archive's tables, as Alembic applies them when an archive is opened."""
