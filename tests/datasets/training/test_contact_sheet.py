"""Contact sheets are written, or it is said why not."""

import sys
from pathlib import Path

import cv2
import pytest

from datasets.faces import registry
from datasets.training import contact_sheet


def test_sheet_of_crops_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Crops stand side by side with their names."""
    out = tmp_path / "crops.png"
    monkeypatch.setattr(sys, "argv", ["sheet", "crops", str(out), "--count", "3"])
    contact_sheet.main()
    image = cv2.imread(str(out))
    assert image is not None
    assert image.shape[0] > 136


@pytest.mark.parametrize(
    ("arguments", "reported"),
    [
        (["stills", "sheet.foo"], "end it in .png"),
        (["stills", "nowhere/sheet.png"], "make it first"),
        (["stills", "sheet.png", "--count", "0"], "at least one"),
    ],
)
def test_sheet_says_what_is_wrong_before_it_draws(
    arguments: list[str],
    reported: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A wrong name costs a second, not a sheet."""
    monkeypatch.setattr(sys, "argv", ["sheet", *arguments])
    with pytest.raises(SystemExit) as ended:
        contact_sheet.main()
    assert ended.value.code == 2
    assert reported in capsys.readouterr().err


def test_decks_says_that_there_is_no_such_deck(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message names those that there are."""
    with pytest.raises(SystemExit):
        registry.main(["--sheet", str(tmp_path / "sheet.png"), "nope"])
    assert "no deck 'nope'; there are: harbour" in capsys.readouterr().err
