"""Engraved aces of spades: another middle each time, the deck's own indices always."""

from __future__ import annotations

import numpy as np
import pytest

from datasets.faces.designs import DESIGNS
from datasets.faces.faces import draw_face
from datasets.faces.ornate import ornate_ace

ACES = 40


@pytest.mark.parametrize("name", ["harbour", "regent", "beacon"])
def test_ornate_ace_keeps_the_indices_and_changes_the_middle(name: str) -> None:
    """Small, four-cornered and jumbo indices stay to the pixel; no two middles are alike."""
    face = draw_face("As", DESIGNS[name], 378)
    height, width = face.shape[:2]
    middles = set()
    for seed in range(ACES):
        ace = ornate_ace(face, np.random.default_rng(seed))
        changed = (ace != face).any(axis=2)
        corner = changed[: height // 6, : width // 6]
        assert not corner.any()
        assert not changed[-height // 6 :, -width // 6 :].any()
        assert changed.mean() > 0.03
        middles.add(ace.tobytes())
    assert len(middles) == ACES


def test_ornate_aces_are_filled_and_hollow_in_one_ink_and_two() -> None:
    """Some aces are nearly black in the middle, some nearly paper; some have coloured ink."""
    face = draw_face("As", DESIGNS["harbour"], 378)
    height, width = face.shape[:2]
    inner = np.s_[height // 5 : -height // 5, width // 5 : -width // 5, :3]
    aces = [ornate_ace(face, np.random.default_rng(seed))[inner].astype(int) for seed in range(60)]
    dark = [float((ace.max(axis=2) < 110).mean()) for ace in aces]
    coloured = [bool((np.ptp(ace, axis=2) > 90).mean() > 0.005) for ace in aces]
    assert min(dark) < 0.08
    assert max(dark) > 0.25
    assert 0.05 < np.mean(coloured) < 0.6
