"""Settings of what is kept: the log, its signing, and the evidence; part of `vision.config`."""

from __future__ import annotations

from pydantic import Field

from vision.config_types import PathText, Section


class Log(Section):
    """The append-only record of the table, and how long it is kept; see `deploy/resilience.md`."""

    path: PathText = "table.sqlite"
    keep_days: float = Field(default=400.0, ge=1, le=36_500)
    messages_days: float = Field(default=7.0, ge=0.1, le=36_500)
    max_mb: float = Field(default=20_000.0, ge=50, le=10_000_000)
    signing_key: PathText = ""
    anchors: PathText = ""
    anchor_every_s: float = Field(default=600.0, ge=1, le=86_400)


class Evidence(Section):
    """Pictures kept of every card read and every alert at warning or above.

    An empty folder is one beside the log, named after it. A clip runs from `before_s` before its
    alert to `after_s` after it.
    """

    keep: bool = True
    folder: PathText = ""
    keep_days: float = Field(default=31.0, ge=1, le=36_500)
    max_mb: float = Field(default=20_000.0, ge=500, le=10_000_000)
    before_s: float = Field(default=3.0, ge=0.5, le=30)
    after_s: float = Field(default=3.0, ge=0, le=30)
    clip_fps: float = Field(default=8.0, ge=1, le=30)
