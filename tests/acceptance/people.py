"""People who say what was dealt, played by a script through the page's own requests."""

from __future__ import annotations

import multiprocessing
import os
import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import httpx

from tests.browser.people import PASSWORD, _hash, house_of_people
from vision.acceptance.answers import Answer, Dealt, answer_text
from vision.access.users import User, load_users, save_users
from vision.board import orders as records
from vision.board.login.passwords import PasswordEntry, change_account
from vision.cli import main
from vision.clock import now_ms
from vision.commands.accept import ALIVE_S
from vision.game.cards import DECK

# Ann and Cy are of every house of tests; the third decides where they disagree.
FIRST, SECOND, THIRD = PEOPLE = ("Ann", "Cy", "Fay")
FOURTH = "Gil"  # of whom nothing is ever asked


def house(folder: Path) -> tuple[Path, Path]:
    """Write a house of people with four who may answer; return the users file and the key."""
    folder.mkdir(parents=True, exist_ok=True)
    users, key = house_of_people(folder)
    for name, user in (
        (THIRD, User(roles=("surveillance",))),
        (FOURTH, User(roles=("inspector",))),
    ):
        save_users(users, load_users(users).with_user(name, user))
        change_account(folder / "passwords.json", name, lambda _: PasswordEntry(_hash(), now_ms()))
    return users, key


@contextmanager
def served(*words: str) -> Iterator[tuple[str, ForkServerProcess]]:
    """Run `shoe-reader accept open` with these words; give its address, and the process."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.acceptance.people", "vision.commands.accept"])
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_serve, args=(there, words))
    process.start()
    there.close()
    try:
        with os.fdopen(os.dup(here.fileno()), encoding="utf-8") as published:
            reported = published.readline()
        assert reported.startswith("accept: "), reported
        yield reported.split()[1].removesuffix("accept"), process
    finally:
        process.terminate()
        process.join()


def _serve(there: Connection, words: tuple[str, ...]) -> None:
    """Be the command, in a process that has imported it; what it prints goes to a pipe."""
    records.RETRY_S = ALIVE_S * 1.5  # what is sent before the broker is there is lost
    with (
        os.fdopen(os.dup(there.fileno()), "w", encoding="utf-8") as reported,
        redirect_stdout(reported),
    ):
        main(["accept", "open", *words])


@contextmanager
def logged_in(url: str, name: str) -> Iterator[httpx.Client]:
    """Give a browser in which somebody is logged in."""
    with httpx.Client(base_url=url, timeout=60, headers={"Origin": url.rstrip("/")}) as client:
        answer = client.post("login", json={"name": name, "password": PASSWORD})
        assert answer.status_code == 200, answer.text
        yield client


@dataclass
class Person:
    """Somebody who answers what is due; in a share of coups with another card than was dealt."""

    name: str
    slips: float = 0.0
    seed: int = 0
    slipped: list[str] = field(default_factory=list)
    answered: list[str] = field(default_factory=list)

    def answer_all(self, url: str, truth: Mapping[str, Answer], *, most: int = 10_000) -> None:
        """Log in, and answer until nothing is due."""
        chance = random.Random(self.seed)
        with logged_in(url, self.name) as client:
            for _ in range(most):
                coup = client.get("api/accept").raise_for_status().json()["coup"]
                if not coup:
                    return
                answer = truth[coup]
                if chance.random() < self.slips and not answer[-1].is_none:
                    answer = slip(answer, chance.choice)
                    self.slipped.append(coup)
                text = {"coup": coup, "answer": answer_text(answer)}
                client.post("api/accept", json=text).raise_for_status()
                self.answered.append(coup)


def slip(answer: Answer, choice: Callable[..., object]) -> Answer:
    """Return the answer with another first card of Punto."""
    dealt = answer[-1]
    other = choice([card for card in DECK if card != dealt.punto[0]])
    return (*answer[:-1], Dealt((other, *dealt.punto[1:]), dealt.banco, dealt.incidents))  # type: ignore[arg-type]
