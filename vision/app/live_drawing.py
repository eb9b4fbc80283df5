"""Draw on live pictures what the reader makes of them, for the set-up page: nothing is recorded."""

from __future__ import annotations

from collections.abc import Callable

from vision.app.pipeline import SightPipeline
from vision.config.profiles import load_profile
from vision.config.table import TableConfig, path_of
from vision.inference.load import Runtime, open_models
from vision.sight.drawing import Drawing
from vision.sight.geometry.frame import Frame, Image


def live_drawing(config: TableConfig) -> Callable[[Frame], Image]:
    """Return what draws on the frames of a table, in order of time.

    ConfigurationError where models, deck or profile cannot be opened, or, later, a frame has not
    the size that the table was calibrated with.
    """
    models = open_models(
        **config.models.paths(),
        threads=config.models.threads,
        runtime=Runtime(config.models.provider),
        deck=path_of(config.deck.path),
    )
    pipeline = SightPipeline(config, models, decks=load_profile(config.profile).rules.decks)
    pipeline.keep_view()
    drawing = Drawing(config.view.table_view())

    def draw(frame: Frame) -> Image:
        pipeline.see(frame)
        return drawing(frame, pipeline.view)

    return draw
