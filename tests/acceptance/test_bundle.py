"""Films of the table: what people see of them, and what leaves the house for improvers."""

from __future__ import annotations

import io
import json
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from datasets.dealing.film_truth import read_truth
from models.evaluate import bundle as forms
from models.evaluate.photographs import names_of, pictures
from tests.acceptance.logs import HEIGHT, WIDTH, write_log
from tests.acceptance.people import FIRST, SECOND, Person, logged_in, served
from tests.mqtt.mqtt_tools import free_port
from vision.acceptance.answers import Dealt
from vision.acceptance.coups import LogBook, ReadCoup, Terms
from vision.acceptance.pictures import Film, Pictures
from vision.acceptance.report import Report
from vision.audit.continuity import audit_from
from vision.audit.verify import Trust
from vision.cli import main
from vision.config.table import load
from vision.errors import ConfigurationError, OutsideError

FPS = 2  # of the film: enough to tell one coup from the next
COUPS = 3
STEP = 4  # of grey a second: what the encoder changes is less


def write_film(path: Path, seconds: float) -> None:
    """Write a film whose grey value counts its seconds, white all over beyond the layout."""
    with av.open(str(path), "w") as film:
        stream = film.add_stream("libx264", rate=Fraction(FPS), options={"g": "4"})
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        for number in range(round(FPS * seconds)):
            image = np.full((HEIGHT, WIDTH, 3), 255, np.uint8)
            image[100:620, 100:1180] = (number // FPS) * STEP + 20
            film.mux(stream.encode(av.VideoFrame.from_ndarray(image, format="bgr24")))
        film.mux(stream.encode())


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Record a short shoe and film it; give the folder."""
    folder = tmp_path_factory.mktemp("filmed")
    write_log(folder, COUPS)
    book = LogBook(folder / "table.sqlite")
    book.renew()
    until = max(coup.until for coup in book.ends.values())
    write_film(folder / "film.mp4", (until - book.runs[0].at) / 1000 + 2)
    return folder


def opened(folder: Path, *films: str) -> tuple[LogBook, Pictures]:
    """Open a log and its pictures."""
    book = LogBook(folder / "table.sqlite")
    book.renew()
    return book, Pictures(load(folder / "table.toml"), book, [folder / name for name in films])


def test_film_shows_a_coup_and_all_since_the_one_before(house: Path) -> None:
    """The picture is of a moment at which the cards lay; the clip begins where the last ended."""
    book, shown = opened(house, "film.mp4")
    film, coup = shown.films[0], book.coups["s1/2"]
    assert film.began == book.runs[0].at
    at, image = next(film.frames(coup.shown - 1000, film.ended))
    assert abs(at - coup.shown + 1000) <= 1000 / FPS
    second = (int(image[300, 600, 0]) - 20) / STEP
    assert abs(second - (at - film.began) // 1000) < 2
    assert shown.count(coup) == 3
    assert shown.clip(coup).count(b"00dc") > (coup.until - coup.since) / 1000 * FPS * 0.8
    assert coup.since == book.coups["s1/1"].until
    assert [each.key for each in book.asked(Terms(0, 0.0, "film"))] == [
        "s1/1", "s1/2", "s1/3", "s1/end1"
    ]  # fmt: skip
    assert len(book.asked(Terms(0, 0.0))) == COUPS


def test_clip_of_the_report_is_a_film_that_browsers_play(house: Path) -> None:
    """H.264 in MP4, as long as that of the page; and the report names the film."""
    book, shown = opened(house, "film.mp4")
    coup = book.coups["s1/2"]
    with av.open(io.BytesIO(shown.mp4(coup)), "r") as clip:
        assert clip.streams.video[0].codec_context.name == "h264"
        frames = len(list(clip.decode(video=0)))
    assert frames == shown.clip(coup).count(b"00dc") // 2
    found, _ = audit_from(book.path, None, Trust())
    period = Report(book, found, Trust(), shown.films).period()
    assert period[1:] == [
        "shoes s1", f"film film.mp4, {period[0].partition(' to ')[0]} to {period[2][-20:]}"
    ]  # fmt: skip


def test_nobody_beyond_the_layout_is_shown(house: Path) -> None:
    """What is white in the film beyond the table is black in every picture made of it."""
    _, shown = opened(house, "film.mp4")
    film = shown.films[0]
    _, image = next(film.frames(film.began, film.ended))
    covered = shown.crop.covered(image)
    assert covered.shape == image.shape
    assert covered[5, 5].tolist() == [0, 0, 0] != image[5, 5].tolist()
    assert (covered[300, 600] == image[300, 600]).all()


def test_films_that_overlap_are_refused_in_words(house: Path) -> None:
    """Which of them shows a coup nobody could say."""
    (house / "copy.mp4").write_bytes((house / "film.mp4").read_bytes())
    with pytest.raises(ConfigurationError, match="name films of one camera after"):
        opened(house, "film.mp4", "copy.mp4")
    (house / "none.mp4").write_bytes(b"no film")
    with pytest.raises(OutsideError, match="cannot be read as a film"):
        opened(house, "none.mp4")


def test_film_that_is_named_after_its_beginning_begins_then(house: Path) -> None:
    """As recorders name them."""
    named = house / "table-7-20231114-221320.mp4"
    named.write_bytes((house / "film.mp4").read_bytes())
    assert Film.open(named, 5).began == 1_700_000_000_000


def test_picture_of_a_coup_that_nobody_kept_is_reported(house: Path) -> None:
    """Evidence has its days."""
    _, shown = opened(house)
    coup = ReadCoup("s9", "1", 0, 0, 0, {})
    assert shown.count(coup) == 0
    with pytest.raises(OutsideError, match="no longer kept"):
        shown.picture(coup, 0)


def test_bundle_needs_the_house_and_is_read_as_films_with_truth(
    house: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An inspector lets it, by name; then the evaluations read it as they read any film."""
    words = [str(house / "table.toml"), "--log", str(house / "table.sqlite"),
             "--film", str(house / "film.mp4")]  # fmt: skip
    book, _ = opened(house)
    truth = {coup: (_said(book, coup),) for coup in book.coups}
    truth["s1/end1"] = (Dealt(),)
    out = house / "bundle"
    assert main(["accept", "export", *words, "--out", str(out)]) == 2
    assert "no inspector has let" in capsys.readouterr().err
    with served(*words, "--share", "1", "--http-port", str(free_port())) as (url, _):
        for name in (FIRST, SECOND):
            Person(name).answer_all(url, truth)
        with logged_in(url, FIRST) as client:
            assert client.post("api/accept/allow", json={}).status_code == 200
    assert main(["accept", "export", *words, "--out", str(out)]) == 0
    reported = json.loads((out / "bundle.json").read_text("utf-8"))
    assert (reported["allowed_by"], [film["name"] for film in reported["films"]]) == (
        FIRST,
        ["film"],
    )
    forms.main([str(out)])
    folder = out / "films" / "film"
    film = read_truth(folder / "truth.json")
    assert [[str(card.card) for card in coup.cards] for coup in film.coups] == [
        _order(book, f"s1/{number}") for number in range(1, COUPS + 1)
    ]
    for coup in film.coups:
        assert coup.start < coup.end
        assert all(c.out < c.placed <= c.face < c.removed <= coup.end for c in coup.cards)
    assert load(folder / "table.toml").view.slots_mm == load(house / "table.toml").view.slots_mm
    with av.open(str(folder / "deal.mp4")) as opened_film:
        image = next(opened_film.decode(video=0)).to_ndarray(format="bgr24")
        assert image.shape == (HEIGHT, WIDTH, 3)
        assert image[5, 5].max() < 10
    source = out / "photographs" / "measure" / "house-7"
    assert len(pictures(source)) == COUPS
    for path in pictures(source):
        name = path.stem.replace("-", "/")
        assert sorted(names_of(source / "labels", {"image": str(path)})) == sorted(
            _order(book, name)
        )
    assert main(["accept", "export", *words, "--out", str(out)]) == 2


def _said(book: LogBook, coup: str) -> Dealt:
    result = book.coups[coup].result
    assert result is not None
    return Dealt(result.punto.cards, result.banco.cards)


def _order(book: LogBook, coup: str) -> list[str]:
    """Return the cards of a coup as they left the shoe."""
    return [str(card.card) for card in book.coups[coup].cards]
