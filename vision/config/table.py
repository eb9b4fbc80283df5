"""The only settings: one TOML file a table, checked in full before anything starts.

Every fault in a file is reported at once, each with the key, what is wrong and the cure. Relative
paths are taken from the table file's folder. It reads no secret: passwords come from the
environment, when they are used.
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from vision.config.errors import explain, view_faults
from vision.config.fields import (
    PathText,
    Point,
    Polygon,
    Port,
    ProfileName,
    Section,
    Slots,
    TopicLevel,
)
from vision.errors import ConfigurationError
from vision.secrets import has_password, masked
from vision.sight.geometry.frame import Frame
from vision.sight.geometry.plane import Homography, Lens, TableView


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


FILE_LIMIT = 1024 * 1024
REFUSED = (
    "a password stands in it; put the password in an environment variable, and ${NAME} in its place"
)


class Camera(Section):
    """Where the pictures come from; width and height are those of the calibration, in pixels."""

    source: PathText
    width: int = Field(default=1920, ge=64, le=16384)
    height: int = Field(default=1080, ge=64, le=16384)
    fps: float = Field(default=30.0, gt=0, le=240)
    stall_s: float = Field(default=1.5, ge=0.2, le=60)
    frozen_s: float = Field(default=0.8, ge=0, le=60)
    open_s: float = Field(default=2.5, ge=0.5, le=60)

    @model_validator(mode="before")
    @classmethod
    def _number_is_source(cls, data: object) -> object:
        if isinstance(data, dict) and type(data.get("source")) is int:
            return {**data, "source": str(data["source"])}
        return data

    @model_validator(mode="after")
    def _no_password(self) -> Self:
        if has_password(self.source):
            raise PydanticCustomError("password", f"source: {REFUSED}")
        return self

    def check_size(self, frame: Frame) -> None:
        """Refuse a frame whose size is not that of the calibration: ConfigurationError."""
        height, width = frame.image.shape[:2]
        if (width, height) != (self.width, self.height):
            raise ConfigurationError(
                f"the picture is {width} x {height} px, but [camera] width and height say "
                f"{self.width} x {self.height}: calibrate the view for this picture, or set the "
                "camera to the calibrated size"
            )


class LensSection(Section):
    """How the lens bends the picture, in OpenCV's terms; see `vision.sight.geometry.lens`."""

    focal_px: float = Field(gt=0)
    centre_px: Point
    k1: float = Field(default=0.0, ge=-10, le=10)
    k2: float = Field(default=0.0, ge=-10, le=10)
    p1: float = Field(default=0.0, ge=-1, le=1)
    p2: float = Field(default=0.0, ge=-1, le=1)

    def lens(self) -> Lens | None:
        """Return the lens as sight uses it; `None` where nothing is bent."""
        bent = any((self.k1, self.k2, self.p1, self.p2))
        return Lens(**self.model_dump()) if bent else None


class View(Section):
    """Where the table lies in the picture, and the places on it.

    `layout` is the picture of the empty layout taken at the calibration: a moved camera shows.
    """

    image_px: tuple[Point, Point, Point, Point]
    table_mm: tuple[Point, Point, Point, Point]
    slots_mm: Slots
    mouth_mm: Polygon
    discard_mm: Polygon | None = None
    card_mm: tuple[Annotated[float, Field(gt=0)], Annotated[float, Field(gt=0)]] = (63.0, 88.0)
    lens: LensSection | None = None
    layout: PathText = ""

    def plane(self) -> Homography:
        """Return the map between picture and table."""
        lens = None if self.lens is None else self.lens.lens()
        return Homography.fit(self.image_px, self.table_mm, lens)

    def table_view(self) -> TableView:
        """Return the view as sight uses it: the plane, and the places in mm."""
        return TableView(
            homography=self.plane(),
            slots={slot: np.asarray(area, np.float32) for slot, area in self.slots_mm.items()},
            mouth=np.asarray(self.mouth_mm, np.float32),
            discard=None if self.discard_mm is None else np.asarray(self.discard_mm, np.float32),
            card_mm=self.card_mm,
        )


class Models(Section):
    """Model files; empty for the packaged ones.

    `threads` is what one inference may use; `looks_per_s` is how often the detector looks at most,
    in the time of the pictures.
    """

    detector: PathText = ""
    corners: PathText = ""
    classifier: PathText = ""
    threads: int = Field(default=1, ge=1, le=64)
    looks_per_s: float = Field(default=15.0, gt=0, le=240)


class EnrolledDeck(Section):
    """The house deck's file, as `shoe-reader enrol` wrote it; empty: any deck is read."""

    path: PathText = ""


class Reading(Section):
    """When a card counts as read: the probability of error that one read may have."""

    error_bound: float = Field(default=1e-5, gt=0, lt=0.5)


class WatchSection(Section):
    """From where on the reader says that it sees poorly or not at all; shares are of 1.

    `moved_mm` 0: the camera's place is not watched; `canary_every_s` counts from one test picture
    to the next.
    """

    patience_s: float = Field(default=1.5, ge=0.2, le=60)
    blurred_share: float = Field(default=0.35, ge=0, lt=1)
    covered_share: float = Field(default=0.6, gt=0, le=1)
    glare_share: float = Field(default=0.75, gt=0, le=1)
    dim_share: float = Field(default=0.5, ge=0, lt=1)
    moved_mm: float = Field(default=3.0, ge=0, le=1000)
    lost_mm: float = Field(default=20.0, gt=0, le=1000)
    moved_every_s: float = Field(default=10.0, ge=0.5, le=3600)
    abstained_share: float = Field(default=0.25, gt=0, le=1)
    confidence_drop: float = Field(default=0.2, gt=0, le=1)
    canary_every_s: float = Field(default=60.0, ge=1, le=86_400)
    models_stall_s: float = Field(default=1.5, ge=0.2, le=60)
    models_give_up_s: float = Field(default=30.0, ge=1, le=600)


class Broker(Section):
    """Where messages go.

    `password_env` names the environment variable that holds the password; `tls_ca` may be `system`
    for the authorities that this machine trusts.
    """

    kind: Literal["embedded", "external", "none"] = "embedded"
    host: str = Field(default="127.0.0.1", min_length=1)
    port: Port = 1883
    websocket_port: Port = 9001
    username: str = ""
    password_env: str = ""
    tls_ca: PathText = ""
    certificate: PathText = ""
    key: PathText = ""

    def password(self) -> str:
        """Return the password from the environment, "" where none is named; ConfigurationError."""
        if not self.password_env:
            return ""
        if self.password_env not in os.environ:
            raise ConfigurationError(
                f"broker.password_env: the environment variable {self.password_env} is not set; "
                "set it to the broker's password, or remove the key if it asks for none"
            )
        return os.environ[self.password_env]


class Orders(Section):
    """Who may give orders: the users file; without one, nobody.

    An order is good for `fresh_s` before and after the reader's clock.
    """

    users: PathText = ""
    fresh_s: float = Field(default=30.0, ge=1, le=300)


class Metrics(Section):
    """Where Prometheus may ask how the reader is doing; without a port, nowhere."""

    host: str = Field(default="127.0.0.1", min_length=1)
    port: Port | None = None


class Board(Section):
    """Where the boards are served, and who they are to the broker.

    `username` and `password_env` are the results board's own; empty for those of [broker].
    """

    host: str = Field(default="127.0.0.1", min_length=1)
    port: Port = 8080
    title: str = Field(default="", max_length=60)
    language: str = Field(default="en", pattern="^[a-z]{2}$")
    certificate: PathText = ""
    key: PathText = ""
    username: str = ""
    password_env: str = ""


class Desk(Section):
    """The pages for people who log in; without a key there are none.

    `key` is the desk's own, that may act for others; people are those of [orders] users. An empty
    `passwords` is passwords.json beside the users file. `username` and `password_env` are the
    desk's to the broker; empty for those of [broker].
    """

    key: PathText = ""
    passwords: PathText = ""
    username: str = ""
    password_env: str = ""
    session_h: float = Field(default=12.0, gt=0, le=24)
    idle_min: float = Field(default=60.0, gt=0, le=1440)


class TableConfig(Section):
    """All settings of one table."""

    site: TopicLevel
    table: TopicLevel
    profile: ProfileName = "punto-banco"
    dealing: Literal["face-up", "face-down", "punto-first"] = "face-up"
    camera: Camera
    view: View
    models: Models = Models()
    deck: EnrolledDeck = EnrolledDeck()
    reader: Reading = Reading()
    watch: WatchSection = WatchSection()
    broker: Broker = Broker()
    orders: Orders = Orders()
    metrics: Metrics = Metrics()
    log: Log = Log()
    evidence: Evidence = Evidence()
    board: Board = Board()
    desk: Desk = Desk()


def load(path: Path) -> TableConfig:
    """Read and check a table file.

    ConfigurationError names the file and, a line each, every faulty key with its cure.
    """
    try:
        if path.stat().st_size > FILE_LIMIT:
            raise ConfigurationError(f"{path}: longer than {FILE_LIMIT} bytes; is it a table file?")
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigurationError(
            f"{path}: no such file; give the table file, for example deploy/table.example.toml"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path}: cannot be read as text: {error}") from error
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{path}: is not valid TOML: {error}; mend that line") from error
    try:
        config = TableConfig.model_validate(data, context={"folder": path.parent})
    except ValidationError as error:
        raise ConfigurationError(explain(path, error, TableConfig)) from error
    view, size = config.view, (config.camera.width, config.camera.height)
    places = {f"view.slots_mm.{slot.name}": polygon for slot, polygon in view.slots_mm.items()}
    places["view.mouth_mm"] = view.mouth_mm
    if view.discard_mm is not None:
        places["view.discard_mm"] = view.discard_mm
    lens = None if view.lens is None else view.lens.lens()
    faults = view_faults(view.image_px, view.table_mm, places, size, lens)
    if faults:
        raise ConfigurationError("\n".join(f"{path}: {key}: {words}" for key, words in faults))
    return config


def with_source(config: TableConfig, source: str) -> TableConfig:
    """Return the settings with another source; a path is taken from the working folder.

    ConfigurationError when it has a password: whoever is on this machine could read it.
    """
    if has_password(source):
        raise ConfigurationError(f"--source {masked(source)}: {REFUSED}")
    camera = config.camera.model_copy(update={"source": source})
    return config.model_copy(update={"camera": camera})
