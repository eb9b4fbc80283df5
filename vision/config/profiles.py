"""Find and read house rules: one of the packaged profiles by name, or a file of the house's own.

The one place that reads profile files; what they mean is `vision.game.profile.parse`.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from pathlib import Path

from vision.errors import ConfigurationError
from vision.game.profile.parse import Profile, parse_profile
from vision.game.profile.toml import ProfileError

SUFFIX = ".toml"


def profile_names() -> tuple[str, ...]:
    """Return the names of the packaged profiles, sorted."""
    found = (files("vision.game") / "profiles").iterdir()
    return tuple(sorted(one.name[: -len(SUFFIX)] for one in found if one.name.endswith(SUFFIX)))


@lru_cache(maxsize=16)
def load_profile(name: str) -> Profile:
    """Return a packaged profile by name, or that of a file whose path ends in `.toml`.

    Raises ConfigurationError naming the file, what is wrong and the cure.
    """
    try:
        return parse_profile(profile_text(name), Path(name).name.removesuffix(SUFFIX), source=name)
    except ProfileError as error:
        raise ConfigurationError(str(error)) from error


def profile_text(name: str) -> str:
    """Return the text of a profile, as `load_profile` finds it; ConfigurationError likewise."""
    if name in profile_names():
        return (files("vision.game") / "profiles" / (name + SUFFIX)).read_text(encoding="utf-8")
    if not name.endswith(SUFFIX):
        known = ", ".join(profile_names())
        raise ConfigurationError(
            f"there is no profile '{name}': choose one of {known}, or give the path of a file "
            f"that ends in {SUFFIX}"
        )
    try:
        return Path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{name}: cannot be read as a profile: {error}") from error
