"""Pictures without cards: the part of a labelled photograph beside its cards."""

from pathlib import Path

import cv2
import numpy as np

from models.evaluate.card_free import beside_cards


def test_part_beside_the_cards_is_the_largest_and_holds_none_of_them(tmp_path: Path) -> None:
    """Of a photograph with a card at its left, what lies right of it; of a full one, nothing."""
    for name, box in (("left", "5 0.2 0.5 0.2 0.6"), ("full", "5 0.5 0.5 0.9 0.9")):
        for folder in ("images", "labels"):
            (tmp_path / folder).mkdir(exist_ok=True)
        image = np.zeros((300, 600, 3), np.uint8)
        image[60:240, 60:180] = 255
        cv2.imwrite(str(tmp_path / "images" / f"{name}.png"), image)
        (tmp_path / "labels" / f"{name}.txt").write_text(box, "utf-8")
    (part,) = beside_cards(tmp_path)
    assert part.shape[0] == 300
    assert part.shape[1] > 380
    assert part.max() == 0
