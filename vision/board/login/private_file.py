"""Files that are for the board server's user alone, written whole or not at all.

Knows nothing of what they hold.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vision.errors import OutsideError


def save_private(path: Path, content: Mapping[str, Any]) -> None:
    """Write a JSON object, mode 600; OutsideError when the disk refuses."""
    new = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(content, file, indent=1, sort_keys=True)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    except OSError as error:
        new.unlink(missing_ok=True)
        raise OutsideError(f"cannot write {path}: {error.strerror}") from error
