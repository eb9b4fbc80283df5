"""Print what `models.evaluate.bench` found, and how it differs from an earlier run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Found = dict[str, Any]

FILMS = {
    "still": "a still table",
    "busy": "a busy table",
    "cycle": "a coup every 25 s, 10 s of it still",
}


def per_frame_ms(measured: Found) -> float:
    """Return the ms of processor a frame."""
    return float(1000 * measured["processor_s"] / measured["frames"])


def tables(found: Found) -> str:
    """Return the tables of a run."""
    width, height = found["size"]
    head = f"{width} x {height}, {found['fps']} frames a second, one core; ms of processor a frame"
    parts = (_cost(found), _parts(found), _latency(found))
    return "\n\n".join([head, *("\n".join(part) for part in parts)])


def _cost(found: Found) -> Iterator[str]:
    yield "| film | bare decoding | this reader | frames a core-second | times bare decoding |"
    yield "|---|---|---|---|---|"
    for name, film in found["films"].items():
        decode, reader = per_frame_ms(film["decode"]), per_frame_ms(film["reader"])
        yield (
            f"| {FILMS[name]} | {decode:.2f} | {reader:.2f} | {1000 / reader:.0f} | "
            f"{reader / decode:.2f} |"
        )
    others = found["ultralytics"]
    if isinstance(others, str):
        yield f"Ultralytics `track`: {others}"
        return
    for size, ms in others.items():
        ratios = (
            f"{ms / per_frame_ms(film['reader']):.1f} on {FILMS[name]}"
            for name, film in found["films"].items()
        )
        yield (
            f"Ultralytics `track`, our detector, {size} px: {ms:.1f} ms; times the frames that "
            f"this reader does: {', '.join(ratios)}"
        )


def _parts(found: Found) -> Iterator[str]:
    films = found["films"]
    names = list(
        dict.fromkeys(part for film in films.values() for part in film["reader"]["parts_s"])
    )
    yield f"| part | {' | '.join(FILMS[name] for name in films)} |"
    yield f"|---{'|---' * len(films)}|"
    for part in names:
        cells = (_share_ms(film["reader"], part) for film in films.values())
        yield f"| {part} | {' | '.join(f'{ms:.2f}' for ms in cells)} |"
    rest = (
        per_frame_ms(film["reader"]) - sum(_share_ms(film["reader"], part) for part in names)
        for film in films.values()
    )
    yield f"| decoding, sending, the loop | {' | '.join(f'{ms:.2f}' for ms in rest)} |"
    looked = (f"{f['reader']['looked']} of {f['reader']['frames'] + 1}" for f in films.values())
    yield f"| frames looked at | {' | '.join(looked)} |"
    memory = (f"{film['reader']['memory_mb']:.0f} MB" for film in films.values())
    yield f"| memory at most | {' | '.join(memory)} |"


def _share_ms(reader: Found, part: str) -> float:
    return float(1000 * reader["parts_s"].get(part, 0.0) / reader["frames"])


def _latency(found: Found) -> Iterator[str]:
    if "latency" not in found:
        yield "latency: left out"
        return
    late = found["latency"]
    for name, what in (("card", "each card"), ("result", "the deciding card")):
        yield (
            f"from the first frame in which {what} can be read to the {name} at a subscriber: "
            f"p50 {late[name]['p50_ms']:.0f} ms, p99 {late[name]['p99_ms']:.0f} ms "
            f"({late[name]['times']} of {late[name]['of']})"
        )
    yield (
        f"from the start of the process to the first picture looked at: {late['start_s']:.1f} s; "
        f"in real time {late['processor_share']:.0%} of a core (load of the machine before: "
        f"{found['load_before']})"
    )


def compared(found: Found, earlier: Found) -> str:
    """Return how many times the frames a core-second of an earlier run each film is read with."""
    lines = [f"against the earlier run (version {earlier.get('version')}):"]
    for name, film in found["films"].items():
        before = earlier.get("films", {}).get(name)
        if before is None or earlier.get("size") != found["size"]:
            lines.append(f"{FILMS[name]}: not measured there in this size")
            continue
        was, now = per_frame_ms(before["reader"]), per_frame_ms(film["reader"])
        # The ratio to bare decoding of the same run takes out the speed of the machine.
        was_times, now_times = (
            was / per_frame_ms(before["decode"]),
            now / per_frame_ms(film["decode"]),
        )
        lines.append(
            f"{FILMS[name]}: {was:.2f} -> {now:.2f} ms a frame, {was / now:.2f} times the frames; "
            f"{was_times:.2f} -> {now_times:.2f} times bare decoding"
        )
    return "\n".join(lines)
