"""The camera of a still: table millimetres to pixels, with tilt and lens distortion.

Everything is drawn through one `View`, so that labels are exact by construction.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .paint import Points


@dataclass(frozen=True, slots=True)
class View:
    """A pinhole over the plane z = 0: `matrix` (3, 3) mm to px, then radial distortion."""

    matrix: Points
    distortion: float
    centre: tuple[float, float]
    radius: float

    def project(self, points: Points) -> Points:
        """Return the pixels (n, 2) of points (n, 2) mm."""
        plane = np.column_stack([points, np.ones(len(points))]) @ self.matrix.T
        flat = plane[:, :2] / np.maximum(plane[:, 2:], 1e-3)
        arm = flat - self.centre
        reach = (arm**2).sum(axis=1, keepdims=True) / self.radius**2
        bent: Points = self.centre + arm * (1 + self.distortion * np.minimum(reach, 2.0))
        return bent.astype(np.float32)

    def scale_at(self, point: Points) -> float:
        """Return the pixels per mm around a point (2,) mm."""
        x, y = point
        ends = self.project(np.array([[x - 5, y], [x + 5, y], [x, y - 5], [x, y + 5]]))
        across, down = ends[1] - ends[0], ends[3] - ends[2]
        return float(np.sqrt(abs(across[0] * down[1] - across[1] * down[0])) / 10)


def view(
    rng: np.random.Generator, size: tuple[int, int], *, px_per_mm: float, tilt: float, turn: float
) -> View:
    """Return a view of (width, height) px centred on the plane's origin.

    `tilt` (radians) leans the camera back from straight down, in a random direction after `turn`
    (radians) has turned the plane; a slight shear stands for a rolling shutter.
    """
    width, height = size
    focal = max(size) * rng.uniform(0.8, 2.2)
    distance = focal / px_per_mm
    cos, sin = np.cos(turn), np.sin(turn)
    spin = np.array([[cos, -sin, 0], [sin, cos, 0], [0, 0, 1]])
    lean = np.array([[1, 0, 0], [0, np.cos(tilt), 0], [0, np.sin(tilt), 0]])
    way = rng.normal(0, 0.25) if rng.random() < 0.7 else rng.uniform(-np.pi, np.pi)
    roll = np.array([[np.cos(way), -np.sin(way), 0], [np.sin(way), np.cos(way), 0], [0, 0, 1]])
    pose = roll @ lean @ roll.T @ spin
    pose[2] *= -1
    pose[:, 2] = (0, 0, distance)
    shear = rng.normal(0, 0.012)
    lens = np.array([[focal, focal * shear, width / 2], [0, focal, height / 2], [0, 0, 1]])
    return View(lens @ pose, rng.normal(-0.01, 0.03), (width / 2, height / 2), max(size) / 2)
