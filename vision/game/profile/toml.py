"""Read one table of a TOML document, so that every complaint names the place and the cure.

It must not know what the values mean, nor where the text came from.
"""

from __future__ import annotations

from difflib import get_close_matches
from enum import StrEnum
from fractions import Fraction
from typing import NoReturn, TypeVar

Choice = TypeVar("Choice", bound=StrEnum)


class ProfileError(ValueError):
    """A profile that cannot be played by; the message names the place, the fault and the cure."""


class Section:
    """One table: hands out checked values and remembers which keys were asked for."""

    def __init__(self, data: dict[str, object], place: str) -> None:
        self._data = data
        self._asked: set[str] = set()
        self.place = place

    def refuse(self, key: str, words: str) -> NoReturn:
        """Raise ProfileError about a key."""
        raise ProfileError(f"{self.place} {key}: {words}")

    def has(self, key: str) -> bool:
        """Whether the key is given."""
        self._asked.add(key)
        return key in self._data

    def _value(self, key: str, wanted: str) -> object:
        if not self.has(key):
            self.refuse(key, f"is missing; write {wanted}")
        return self._data[key]

    def text(self, key: str) -> str:
        """Return a text that is not empty."""
        value = self._value(key, "a text")
        if not isinstance(value, str) or not value.strip():
            self.refuse(key, f"is {value!r}; write a text in quotes")
        return value

    def flag(self, key: str) -> bool:
        """Return true or false."""
        value = self._value(key, "true or false")
        if not isinstance(value, bool):
            self.refuse(key, f"is {value!r}; write true or false")
        return value

    def whole(self, key: str, low: int, high: int) -> int:
        """Return a whole number from `low` to `high`."""
        wanted = f"a whole number from {low} to {high}"
        value = self._value(key, wanted)
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            self.refuse(key, f"is {value!r}; write {wanted}")
        return value

    def share(self, key: str, low: float) -> float:
        """Return a number from `low` to 1."""
        wanted = f"a number from {low:g} to 1"
        value = self._value(key, wanted)
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= 1:
            self.refuse(key, f"is {value!r}; write {wanted}")
        return float(value)

    def amount(self, key: str) -> Fraction:
        """Return an exact number above 0, such as 5 or "0.25"."""
        value = self._value(key, "an amount")
        amount = _positive(value)
        if amount is None:
            self.refuse(key, f'is {value!r}; write an amount above 0, decimals in quotes: "0.25"')
        return amount

    def choice(self, key: str, kind: type[Choice]) -> Choice:
        """Return a member of the enumeration, given by its value."""
        known = ", ".join(f'"{member.value}"' for member in kind)
        value = self._value(key, f"one of {known}")
        if value not in [member.value for member in kind]:
            self.refuse(key, f"is {value!r}; write one of {known}")
        return kind(str(value))

    def words(self, key: str) -> tuple[str, ...]:
        """Return a list of texts."""
        value = self._value(key, "a list of texts")
        if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
            self.refuse(key, f"is {value!r}; write a list of texts in quotes")
        return tuple(value)

    def numbers(self, key: str) -> tuple[int, ...]:
        """Return a list of whole numbers."""
        value = self._value(key, "a list of whole numbers")
        if not isinstance(value, list) or not all(type(number) is int for number in value):
            self.refuse(key, f"is {value!r}; write a list of whole numbers")
        return tuple(value)

    def section(self, key: str) -> Section:
        """Return the table under the key."""
        place = f"{self.place} [{key}]" if not self.place.endswith("]") else self._below(key)
        value = self._value(key, "that table")
        if not isinstance(value, dict):
            self.refuse(key, f"is {value!r}; make it a table, [{key}]")
        return Section(value, place)

    def sections(self, key: str) -> tuple[Section, ...]:
        """Return the tables of an array, [[key]] in the file."""
        value = self._value(key, f"one table [[{key}]] or more")
        if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
            self.refuse(key, f"is {value!r}; make it tables, [[{key}]]")
        return tuple(
            Section(one, f"{self.place} [[{key}]] {number}")
            for number, one in enumerate(value, start=1)
        )

    def _below(self, key: str) -> str:
        return f"{self.place[:-1]}.{key}]"

    def finish(self) -> None:
        """Raise ProfileError if there is a key that nobody asked for."""
        for key in self._data:
            if key not in self._asked:
                near = get_close_matches(key, self._asked, 1)
                cure = f"did you mean '{near[0]}'?" if near else "take it out"
                known = ", ".join(sorted(self._asked))
                self.refuse(key, f"is not known here; {cure} Known: {known}")


def _positive(value: object) -> Fraction | None:
    if not isinstance(value, str) and type(value) is not int:
        return None
    try:
        amount = Fraction(value)
    except (ValueError, ZeroDivisionError):
        return None
    return amount if amount > 0 else None
