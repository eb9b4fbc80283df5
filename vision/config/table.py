"""The settings of one table and their defaults: one TOML file, checked before anything starts.

Each class is a section of the file, and its fields are the keys with unit (`_s`, `_mm`, `_share`),
default and range. Every default stands here and nowhere else. All faults of a file are reported at
once, each with its key, what is wrong and the cure. Relative paths start from the table file's
folder. Passwords are not in the file: they are read from the environment when they are used.
"""

from __future__ import annotations

import os
import socket
import tomllib
from pathlib import Path
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, ValidationError, model_validator

from vision.config.errors import (
    UNFILLED,
    exit_faults,
    explain,
    refusal,
    view_faults,
    with_variables,
)
from vision.config.fields import (
    Hosts,
    IpText,
    NeededPath,
    NeededText,
    PathText,
    Point,
    Polygon,
    Port,
    ProfileName,
    Section,
    Slots,
    TopicLevel,
)
from vision.config.profiles import DEFAULT, WagersSection
from vision.errors import ConfigurationError
from vision.files import text_of
from vision.game.events import Slot
from vision.secrets import has_password, shown
from vision.sight.geometry.plane import POKER_MM, Frame, Homography, Lens, Points, TableView

# Bytes. A table file has a few kilobytes; this stops a wrong path (a film, a log) from being read
# into memory. Too low, and a long table file would be refused.
FILE_LIMIT = 1024 * 1024
# Millimetres of table kept around the layout: about a card's width, so that a card dealt over its
# edge can still be seen. Less cuts proof off, more shows what guests do.
MARGIN_MM = 60.0
REFUSED = (
    "a password stands in it; put the password in an environment variable, and ${NAME} in its place"
)


def path_of(text: str) -> Path | None:
    """Return the path that a key holds, `None` where the key is empty."""
    return Path(text) if text else None


class LogSection(Section):
    """The append-only record of the table, and how long it is kept; see `deploy/resilience.md`.

    `ring` is the file of public keys that counted earlier (shoe-reader log keys rotate).
    """

    path: NeededPath = "table.sqlite"
    keep_days: float = Field(default=400.0, ge=1, le=36_500)
    messages_days: float = Field(default=7.0, ge=0.1, le=36_500)
    max_mb: float = Field(default=20_000.0, ge=50, le=10_000_000)
    signing_key: PathText = ""
    ring: PathText = ""
    anchors: PathText = ""
    anchor_every_s: float = Field(default=600.0, ge=1, le=86_400)


class EvidenceSection(Section):
    """The pictures kept of every card read and of every alert of warning or above.

    Without a `folder` they lie beside the log, in a folder named after it. A clip runs from
    `before_s` before its alert to `after_s` after it. Evidence of alerts is kept for `alert_days`
    (without it: for `keep_days`).
    """

    keep: bool = True
    folder: PathText = ""
    keep_days: float = Field(default=31.0, ge=1, le=36_500)
    alert_days: float | None = Field(default=None, ge=1, le=36_500)
    max_mb: float = Field(default=20_000.0, ge=500, le=10_000_000)
    before_s: float = Field(default=3.0, ge=0.5, le=30)
    after_s: float = Field(default=3.0, ge=0, le=30)
    clip_fps: float = Field(default=8.0, ge=1, le=30)


class CameraSection(Section):
    """The source of the pictures; `width` and `height` are those of the calibration, in pixels.

    A live source counts as lost after `stall_s` without a picture, or after `frozen_s` in which all
    pictures were equal to the last bit (0: not checked). `open_s` is how long an address may take
    to answer. The certificate of an https or rtsps camera must be of an authority in `tls_ca`, a
    file; empty: one that this machine trusts.
    """

    source: NeededPath
    width: int = Field(default=1920, ge=64, le=16384)
    height: int = Field(default=1080, ge=64, le=16384)
    fps: float = Field(default=30.0, gt=0, le=240)
    stall_s: float = Field(default=1.5, ge=0.2, le=60)
    frozen_s: float = Field(default=0.8, ge=0, le=60)
    open_s: float = Field(default=2.5, ge=0.5, le=60)
    tls_ca: PathText = ""

    @model_validator(mode="before")
    @classmethod
    def _number_is_source(cls, data: object) -> object:
        if isinstance(data, dict) and type(data.get("source")) is int:
            return {**data, "source": str(data["source"])}
        return data

    @model_validator(mode="after")
    def _no_password(self) -> Self:
        if has_password(self.source):
            raise refusal(f"source: {REFUSED}")
        return self

    def check_size(self, frame: Frame) -> None:
        """Refuse a frame whose size is not that of the calibration: ConfigurationError."""
        width, height = frame.size
        if (width, height) != (self.width, self.height):
            raise ConfigurationError(
                f"the picture is {width} x {height} px, but [camera] width and height say "
                f"{self.width} x {self.height}: calibrate the view for this picture, or set the "
                "camera to the calibrated size"
            )


class LensSection(Section):
    """How the lens bends the picture, in OpenCV's terms; see `vision.sight.geometry.plane`."""

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


class ViewSection(Section):
    """Where the table lies in the picture, and where the slots, shoe mouth and discard tray are.

    `layout` is the picture of the empty layout taken at the calibration; comparing with it shows
    whether the camera has moved.
    """

    image_px: tuple[Point, Point, Point, Point]
    table_mm: tuple[Point, Point, Point, Point]
    slots_mm: Slots
    mouth_mm: Polygon
    discard_mm: Polygon | None = None
    exit_mm: Point | None = None
    card_mm: tuple[Annotated[float, Field(gt=0)], Annotated[float, Field(gt=0)]] = POKER_MM
    lens: LensSection | None = None
    layout: PathText = ""

    def plane(self) -> Homography:
        """Return the map between picture (pixels) and table (millimetres)."""
        lens = None if self.lens is None else self.lens.lens()
        return Homography.fit(self.image_px, self.table_mm, lens)

    def table_view(self) -> TableView:
        """Return the view as sight uses it: the plane, and the areas on it in millimetres."""
        return TableView(
            homography=self.plane(),
            slots={slot: np.asarray(area, np.float32) for slot, area in self.slots_mm.items()},
            mouth=np.asarray(self.mouth_mm, np.float32),
            discard=None if self.discard_mm is None else np.asarray(self.discard_mm, np.float32),
            card_mm=self.card_mm,
            exit=None if self.exit_mm is None else np.asarray(self.exit_mm, np.float32),
        )

    def outline_px(self) -> Points:
        """Return points (n x 2 pixels) whose hull holds the layout, its slots and its areas."""
        areas = [self.table_mm, *self.slots_mm.values(), self.mouth_mm, self.discard_mm or ()]
        points = np.array([point for area in areas for point in area], np.float32)
        away = points - points.mean(axis=0)
        length = np.maximum(np.linalg.norm(away, axis=1, keepdims=True), 1.0)
        return self.plane().to_px(points + away / length * MARGIN_MM)


class ModelsSection(Section):
    """The model files (empty: the packaged ones), and how much they may work.

    `threads` is the number of threads of one inference; `looks_per_s` limits how often the detector
    runs, by the time stamps of the pictures.
    """

    detector: PathText = ""
    corners: PathText = ""
    classifier: PathText = ""
    threads: int = Field(default=1, ge=1, le=64)
    looks_per_s: float = Field(default=10.0, gt=0, le=240)

    def paths(self) -> dict[str, Path | None]:
        """Return the path of each model by its name; `None` for the packaged one."""
        return {
            name: path_of(getattr(self, name)) for name in ("detector", "corners", "classifier")
        }


class DeckSection(Section):
    """The file of the house deck, written by `shoe-reader enrol`; empty: any deck is read."""

    path: PathText = ""


class ReaderSection(Section):
    """When a card counts as read, and when a fault is alleged.

    `error_bound` is the highest probability of error that a read may have; `allege_odds` is how
    many times likelier a fault that only sight can know must be than all explanations without it.
    """

    error_bound: float = Field(default=1e-5, gt=0, lt=0.5)
    allege_odds: float = Field(default=50.0, ge=1)


class WatchSection(Section):
    """When the reader reports that it sees poorly or not at all; shares run from 0 to 1.

    `moved_mm` 0 switches the check of the camera's position off; `canary_every_s` is the time from
    one self-test (a test picture run through the models) to the next.
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
    canary_every_s: float = Field(default=60.0, ge=1, le=86_400)
    models_stall_s: float = Field(default=1.5, ge=0.2, le=60)
    models_give_up_s: float = Field(default=30.0, ge=1, le=600)


class AccountSection(Section):
    """An account at the broker; where a section has none, it is that of [broker].

    `password_env` names the environment variable that holds the password.
    """

    username: str = ""
    password_env: str = ""

    def password(self) -> str:
        """Return the password from the environment, "" where no variable is named.

        ConfigurationError when the variable is not set.
        """
        if not self.password_env:
            return ""
        if self.password_env not in os.environ:
            raise ConfigurationError(
                f'password_env = "{self.password_env}": this environment variable is not set; set '
                "it to the broker's password, or remove the key if it asks for none"
            )
        return os.environ[self.password_env]


class BrokerSection(AccountSection):
    """The MQTT broker.

    `host` may be a list: the nodes of a cluster, as "broker-a.house.example" or with a port of its
    own as "broker-b.house.example:8884"; when one is lost, the next is tried.
    `tls_ca` is a file of certificates to trust, `system` for those that this machine trusts, or
    empty for no TLS; `certificate` and `key` are the client's own, if the broker asks for them (PEM
    files). A picture of more than `max_message_kb` (1000 bytes each) is not sent, and clips are
    made to fit. Without TLS no password leaves this machine, unless `insecure`.
    """

    kind: Literal["embedded", "external", "none"] = "embedded"
    host: Hosts = ("127.0.0.1",)
    port: Port = 1883
    tls_ca: PathText = ""
    insecure: bool = False
    certificate: PathText = ""
    key: PathText = ""
    max_message_kb: float = Field(default=4000.0, ge=100, le=250_000)

    @property
    def max_message(self) -> int:
        """The largest payload that is sent, in bytes."""
        return round(1000 * self.max_message_kb)


class StandbySection(AccountSection):
    """A second reader at the same table, which goes on when the first has died.

    `servers` are the nats-servers of the house's store, as "broker-a.house.example:4222"; without
    them a table has one reader. Both readers have the same section, but for `node`, the name of
    this machine (empty: its host name). `lease_s` is how long a reader that says nothing still
    counts as the one that speaks. `ring` is the file of the public keys by which the two sign their
    logs: boards, which need it, believe no term that none of them has signed.
    """

    servers: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    node: str = Field(default="", max_length=64)
    lease_s: float = Field(default=1.2, ge=0.5, le=30)
    replicas: int = Field(default=3, ge=1, le=5)
    ring: PathText = ""

    @property
    def name(self) -> str:
        """The name of this machine."""
        return self.node or socket.gethostname()


class OrdersSection(AccountSection):
    """Who may give orders: the people in the users file; without a file, nobody.

    The time stamp of an order may differ from the reader's clock by `fresh_s` seconds. The account
    is that from which `shoe-reader order` gives orders. What cannot be undone needs a second
    person: `always`, `never`, or `auto`, where the users file has two people who may vouch for it.
    """

    users: PathText = ""
    fresh_s: float = Field(default=30.0, ge=1, le=300)
    second_person: Literal["auto", "always", "never"] = "auto"


class MetricsSection(Section):
    """Where the metrics are served for Prometheus; without a port they are not served."""

    host: NeededText = "127.0.0.1"
    port: Port | None = None


class BoardSection(AccountSection):
    """Where the boards are served, and the results board's own account at the broker.

    Port 0 takes a free port; `certificate` and `key` (PEM files) switch TLS on. Behind a proxy that
    speaks TLS, `public_url` is the address that browsers use, and `proxies` are its addresses.
    """

    host: NeededText = "127.0.0.1"
    port: Port = 8080
    title: str = Field(default="", max_length=60)
    language: str = Field(default="en", pattern="^[a-z]{2}(-[A-Z][a-z]{3})?$")
    view: Literal["result", "roads"] = "result"
    names: Literal["punto-banco", "player-banker"] = "punto-banco"
    logo: PathText = ""
    ground: str = Field(default="", pattern="^(#([0-3][0-9a-f]){3})?$")
    sound: bool = False
    marks: bool = False
    certificate: PathText = ""
    key: PathText = ""
    public_url: str = Field(default="", pattern=r"^(https://[^/?#@\s]+/?)?$")
    proxies: tuple[IpText, ...] = ()

    @model_validator(mode="after")
    def _proxy_is_whole(self) -> Self:
        if bool(self.public_url) != bool(self.proxies):
            raise refusal("public_url, proxies: one is set without the other; give both or neither")
        return self

    @property
    def is_private(self) -> bool:
        """Whether what browsers send is encrypted on its way."""
        return bool(self.certificate or self.public_url)


class DeskSection(AccountSection):
    """The pages for people who log in; without a `key` they are not served.

    `key` signs the orders that the desk gives on behalf of people, who are those of [orders] users.
    An empty `passwords` means passwords.json beside the users file, whose folder is that of what is
    still to be recorded too. People of the roles in `second_factor` need a code of their telephone.
    With an `identity_header` a proxy at `identity_from` says who somebody is: no password is taken.
    """

    key: PathText = ""
    passwords: PathText = ""
    folder: PathText = ""
    second_factor: tuple[Literal["dealer", "inspector", "surveillance", "engineer"], ...] = ()
    identity_header: str = Field(default="", pattern="^[A-Za-z0-9-]*$")
    identity_from: IpText = "127.0.0.1"
    session_h: float = Field(default=12.0, gt=0, le=24)
    idle_min: float = Field(default=60.0, gt=0, le=1440)


class ArchiveSection(Section):
    """The house's archive of record, for `shoe-reader floor archive` and the reports at the desk.

    `address`: SQL, or a file of SQLite; "": no reports. `rota`: who deals.
    """

    address: str = ""
    rota: PathText = ""


class TableConfig(Section):
    """All settings of one table."""

    site: TopicLevel
    table: TopicLevel
    profile: ProfileName = DEFAULT
    dealing: Literal["face-up", "face-down", "punto-first"] = "face-up"
    wagers: WagersSection = WagersSection()
    camera: CameraSection
    view: ViewSection
    models: ModelsSection = ModelsSection()
    deck: DeckSection = DeckSection()
    reader: ReaderSection = ReaderSection()
    watch: WatchSection = WatchSection()
    broker: BrokerSection = BrokerSection()
    standby: StandbySection = StandbySection()
    orders: OrdersSection = OrdersSection()
    metrics: MetricsSection = MetricsSection()
    log: LogSection = LogSection()
    evidence: EvidenceSection = EvidenceSection()
    board: BoardSection = BoardSection()
    desk: DeskSection = DeskSection()
    archive: ArchiveSection = ArchiveSection()


# The view of a table that nobody has measured yet, for the pages on which it is measured: areas of
# a millimetre in the picture's corner.
_DOT = [[1.0, 1.0], [2.0, 1.0], [2.0, 2.0], [1.0, 2.0]]
UNMEASURED = {
    "image_px": [[1.0, 1.0], [60.0, 1.0], [60.0, 60.0], [1.0, 60.0]],
    "table_mm": [[1.0, 1.0], [60.0, 1.0], [60.0, 60.0], [1.0, 60.0]],
    "slots_mm": {slot.name: _DOT for slot in Slot},
    "mouth_mm": _DOT,
}


def load(path: Path, *, unmeasured: bool = False) -> TableConfig:
    """Read and check a table file; `unmeasured`: one without [view] is taken with `UNMEASURED`.

    ConfigurationError has a line for every faulty key: the file, the key, the fault and the cure.
    """
    try:
        if path.stat().st_size > FILE_LIMIT:
            raise ConfigurationError(f"{path}: longer than {FILE_LIMIT} bytes; is it a table file?")
        text = text_of(path)
    except FileNotFoundError:
        raise ConfigurationError(
            f"{path}: no such file; shoe-reader setup {path} makes one"
        ) from None
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be read as text: {error}") from error
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(
            f"{path}: is not valid TOML: {error}; correct that line"
        ) from error
    data = {"view": UNMEASURED, **data} if unmeasured else data
    unfilled = [f"{path}: {key}: {UNFILLED}" for key in with_variables(data)]
    if unfilled:
        raise ConfigurationError("\n".join(unfilled))
    try:
        config = TableConfig.model_validate(data, context={"folder": path.parent})
    except ValidationError as error:
        raise ConfigurationError(explain(path, error, TableConfig)) from error
    view, size = config.view, (config.camera.width, config.camera.height)
    areas = {f"view.slots_mm.{slot.name}": polygon for slot, polygon in view.slots_mm.items()}
    areas["view.mouth_mm"] = view.mouth_mm
    areas |= {} if view.discard_mm is None else {"view.discard_mm": view.discard_mm}
    lens = None if view.lens is None else view.lens.lens()
    found = [
        *view_faults(view.image_px, view.table_mm, areas, size, lens),
        *exit_faults(view.exit_mm, view.mouth_mm),
    ]
    if faults := [f"{path}: {key}: {words}" for key, words in found]:
        raise ConfigurationError("\n".join(faults))
    return config


def with_source(config: TableConfig, source: str) -> TableConfig:
    """Return the settings with another source; a relative path starts from the working folder.

    ConfigurationError when it contains a password: anybody on this machine could read it in the
    list of processes.
    """
    if has_password(source):
        raise ConfigurationError(f"--source {shown(source)}: {REFUSED}")
    camera = config.camera.model_copy(update={"source": source})
    return config.model_copy(update={"camera": camera})
