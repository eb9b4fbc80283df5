"""Every way in which somebody tried to better the figures of an acceptance, played."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.logs import write_log
from tests.acceptance.people import FIRST, FOURTH, SECOND, THIRD, Person, logged_in, served
from tests.acceptance.test_outcomes import SAID, read
from vision.acceptance.answers import Answer, Keyed, answer_text, read_answer
from vision.acceptance.coups import LogBook, ReadCoup, Terms
from vision.acceptance.report import Report, wrong_of
from vision.acceptance.tasks import Counts, due, judge
from vision.access.command_gate import Ordered
from vision.access.users import Credential, load_credential, load_users
from vision.app.journal import Journal
from vision.app.run_log import Destinations, Input
from vision.audit.continuity import audit_from
from vision.audit.verify import Trust
from vision.cli import main
from vision.commands.printing.console import NOT_PROVEN
from vision.config.table import load
from vision.game.cards import DECK
from vision.record.facts import Fact
from vision.storage.anchors import make_keys
from vision.wire.commands import RECORD, read_command

COUPS = 6
ERROR = "s1/3"  # where the reader is to have erred
Json = dict[str, Any]


@pytest.fixture
def shoe(tmp_path: Path) -> tuple[Path, dict[str, Answer], Answer]:
    """Record a short shoe; give its folder, what was dealt, and what the reader read of ERROR."""
    truth = write_log(tmp_path, COUPS)
    dealt = truth[ERROR][-1]
    other = next(c for c in DECK if c not in dealt.punto and c.points == dealt.punto[0].points)  # type: ignore[union-attr]
    return (
        tmp_path,
        {**truth, ERROR: (replace(dealt, punto=(other, *dealt.punto[1:])),)},
        truth[ERROR],
    )


def words(folder: Path) -> list[str]:
    """Give the words that name a table and the log of its recording."""
    return [str(folder / "table.toml"), "--log", str(folder / "table.sqlite")]


def reported(folder: Path, name: str = "report") -> Json:
    """Make the report; return what it says, and its page under `page`."""
    out = folder / name
    assert main(["accept", "report", *words(folder), "--out", str(out)]) == NOT_PROVEN
    found: Json = json.loads((out / "report.json").read_text("utf-8"))
    return {**found, "page": (out / "report.html").read_text("utf-8")}


def wrong(report: Json) -> tuple[int, int]:
    """Return the wrong results, and of how many."""
    return report["wrong_results"]["events"], report["wrong_results"]["of"]


def test_answer_that_nobody_was_asked_for_is_refused_and_overturns_nothing(
    shoe: tuple[Path, dict[str, Answer], Answer],
) -> None:
    """A fourth person may not send one; where a desk's key did it, three decide and all are named.

    And what is not due for a second person is no second person's to answer.
    """
    folder, truth, error = shoe
    with served(*words(folder), "--share", "0") as (url, _):
        Person(FIRST).answer_all(url, {**truth, ERROR: error}, most=2)
        with logged_in(url, SECOND) as client:
            unasked = {"coup": "s1/1", "answer": answer_text(truth["s1/1"])}
            assert client.post("api/accept", json=unasked).status_code == 400
        Person(FIRST).answer_all(url, truth)
        Person(SECOND).answer_all(url, {**truth, ERROR: error})
        Person(THIRD).answer_all(url, truth)
        with logged_in(url, FOURTH) as client:
            fourth = {"coup": ERROR, "answer": answer_text(error)}
            assert client.post("api/accept", json=fourth).status_code == 400
    before = reported(folder)
    assert wrong(before) == (1, COUPS)
    assert before["headline"][1].startswith("planned: fewer than 0.1% of results wrong")
    give(folder, facts(folder, FOURTH, Fact.COUP_KEYED, ERROR, f"#1 {answer_text(error)}"))
    after = reported(folder, "after")
    assert wrong(after) == (1, COUPS)
    assert f"{FOURTH}: " in after["page"]
    assert "not asked" in after["page"]


def test_what_a_person_is_shown_depends_on_that_person_alone(
    shoe: tuple[Path, dict[str, Answer], Answer],
) -> None:
    """Right or wrong, each answer lowers what is left by one; trying cards with Back changes none.

    An answer that once differed keeps its coup for a second person, so that nobody can look for
    the card at which it is done.
    """
    folder, truth, error = shoe

    def shown(person: str, client: Any) -> Json:
        task: Json = client.get("api/accept").raise_for_status().json()
        return {name: task[name] for name in ("done", "all", "open")}

    with served(*words(folder), "--share", "0") as (url, _), logged_in(url, FIRST) as client:
        for n, coup in enumerate(truth):
            assert shown(FIRST, client) == {"done": n, "all": COUPS, "open": COUPS - n}
            client.post("api/accept", json={"coup": coup, "answer": answer_text(truth[coup])})
        assert client.get("api/accept").json()["complete"] is False
        for answer in (error, truth[ERROR], error):
            client.post("api/accept", json={"coup": ERROR, "answer": answer_text(answer)})
            assert shown(FIRST, client) == {"done": COUPS, "all": COUPS, "open": 0}
            assert client.get("api/accept").json()["complete"] is False
        with logged_in(url, SECOND) as second:
            assert shown(SECOND, second) == {"done": 0, "all": COUPS, "open": COUPS}
        other = Person(SECOND)
        other.answer_all(url, {**truth, ERROR: error})
        assert ERROR in other.answered
        assert len(other.answered) == 2, "one that agrees is asked too"
    report = reported(folder)
    assert wrong(report) == (0, COUPS)
    of_first = report["headline"][-1]
    assert of_first.startswith("by the first answers of all, before changes: wrong results 0 of 5")
    assert len(report["people"]["changed"]) == 3


def test_sample_grows_after_the_first_answer_and_a_cut_is_a_headline(
    shoe: tuple[Path, dict[str, Answer], Answer],
) -> None:
    """The command refuses to shrink it; by a desk's key it is said first, with both figures."""
    folder, truth, _ = shoe
    with served(*words(folder), "--share", "0", "--coups", "5") as (url, _):
        for name in (FIRST, SECOND):
            Person(name).answer_all(url, truth)
    for less in (["--coups", "2"], ["--below", "0.1"]):
        assert main(["accept", "open", *words(folder), *less]) == 2
    before = reported(folder)
    assert wrong(before) == (1, 5)
    cut = Terms(2, 0.0, "", 0.001)
    give(folder, facts(folder, "", Fact.ACCEPTANCE_SET, "", cut.text()))
    after = reported(folder, "after")
    assert wrong(after) == (1, 5)
    assert any(
        line.startswith("CUT after the first answer") and "would be 0 of 2" in line
        for line in after["headline"]
    )
    with served(*words(folder), "--share", "0", "--coups", "6") as (url, _):
        for name in (FIRST, SECOND):  # the new one may be drawn for a second person
            Person(name).answer_all(url, truth)
    grown = reported(folder, "grown")
    assert wrong(grown) == (1, 6)
    assert any(
        line.startswith("GREW after the first answer") and "wrong results 1 of 5" in line
        for line in grown["headline"]
    )


def test_bound_that_is_set_when_answers_are_known_is_not_planned() -> None:
    """Where none was set before the first answer none is shown, whatever suits."""
    assert Terms(5, 0.2).grown(Terms(5, 0.2, "", 0.1)).below == 0
    assert Terms(5, 0.2, "", 0.01).grown(Terms(5, 0.2, "", 0.1)).below == 0.01
    assert Terms(5, 0.2, "", 0.01).grown(Terms(5, 0.2)).below == 0.01


@pytest.mark.parametrize("outcome", ["held", "missed"])
def test_held_and_missed_coups_dilute_no_wrong_results(outcome: str) -> None:
    """Of 300 right and 2,700 declined the bound is that of 300."""
    counts = Counts()
    counts.coups.update({"right": 30, outcome: 2970, "wrong": 1})
    assert wrong_of(counts)[:2] == (1, 31)
    helped = judge(read(None, helped=True), read_answer("Kc 2s / 5h 4h"))
    assert wrong_of(helped)[:2] == (0, 0)


def test_result_of_a_coup_that_was_never_dealt_is_a_wrong_result() -> None:
    """Whoever keys that nothing was dealt makes no error of the reader go away."""
    assert wrong_of(judge(read(SAID), read_answer("/")))[:2] == (1, 1)


def test_coup_of_which_people_are_not_agreed_counts_as_wrong_in_the_bound(
    shoe: tuple[Path, dict[str, Answer], Answer],
) -> None:
    """So nothing is gained by leaving the second answer away."""
    folder, truth, _ = shoe
    with served(*words(folder), "--share", "0") as (url, _):
        Person(FIRST).answer_all(url, truth)
    report = reported(folder)
    assert wrong(report) == (0, COUPS - 2), "nor does that count which is asked with it"
    assert report["wrong_at_most"] > 0.5
    assert "1 counted as if wrong" in report["headline"][-1]


def test_who_is_asked_second_can_be_inferred_from_nothing_known_before() -> None:
    """The record of the first answer draws; of those asked, at least half agree with the reader."""
    chance = random.Random(5)
    right, other = read_answer("Kc 2s / 5h 4h"), read_answer("Kc 3s / 5h 4h")
    asked = [ReadCoup("s1", str(n), n, n + 1, n, {}, SAID) for n in range(2000)]
    differ = {coup.key for coup in asked[::100]}
    given = {
        coup.key: [Keyed(coup.key, FIRST, "inspector", 1, other if coup.key in differ else right,
                         record=9, draw=chance.random())]
        for coup in asked
    }  # fmt: skip
    fifth, least = (due(Terms(0, share), asked, given) for share in (0.2, 0.0))
    assert 0.17 < len(fifth) / len(asked) < 0.24
    assert differ < least < fifth
    assert len(least) == 2 * len(differ)
    assert due(Terms(0, 1.0), asked, given) == set(given)
    for answers in given.values():
        answers[0] = replace(answers[0], draw=chance.random())
    assert due(Terms(0, 0.2), asked, given) != fifth


def facts(folder: Path, by: str, kind: Fact, subject: str, detail: str) -> Json:
    """Give the fields of a fact as a desk reports it."""
    more = {"by": by, "role": "inspector"} if by else {}
    shown = {"subject": subject, "detail": detail, **more}
    return {"kind": kind.value, **{name: value for name, value in shown.items() if value}}


def give(folder: Path, fields: Json, *, key: Credential | None = None, signed: bool = True) -> None:
    """Write a fact into the log as a reader would, by the desk's key; or as nobody's order."""
    config = load(folder / "table.toml")
    credential = key or load_credential(Path(config.desk.key))
    with Journal(config, Destinations(folder / "table.sqlite", publish=False)) as journal:
        at = journal.table.clock + 1
        journal.start(at, "b9", ())
        topic = f"{journal.session.stream.prefix}cmd/{RECORD}"
        whole = credential.sign(topic, fields, at)
        event = read_command(RECORD, whole, at)
        item: Input = Ordered(event, RECORD, whole) if signed else event
        journal.take([item])
        journal.stop(at)


@pytest.mark.parametrize("way", ["nobody's order", "a desk of dealers", "a role that may not"])
def test_answer_without_an_order_or_a_role_is_named_and_counts_for_nothing(
    shoe: tuple[Path, dict[str, Answer], Answer], way: str
) -> None:
    """In a log that anybody could write, as in one that took it from a desk limited to dealers."""
    folder, truth, _ = shoe
    fields = facts(folder, FIRST, Fact.COUP_KEYED, "s1/1", f"#1 {answer_text(truth['s1/1'])}")
    pit = None
    if way == "a desk of dealers":
        users = load(folder / "table.toml").orders.users
        pit = Credential.new("pit")
        entry = {"roles": ["dealer"], "key": pit.public, "may_act_for": True}
        text = json.loads(Path(users).read_text("utf-8"))
        text["users"]["pit"] = entry
        Path(users).write_text(json.dumps(text), "utf-8")
        assert load_users(Path(users)).users["pit"].may_act_for
    if way == "a role that may not":
        fields["role"] = "dealer"
    before, _ = audit_from(folder / "table.sqlite", None, Trust())
    give(folder, fields, key=pit, signed=way != "nobody's order")
    book = LogBook(folder / "table.sqlite")
    book.renew()
    assert book.keyed == []
    (number,) = book.unproven
    headline = Report(book, before, Trust()).headline()
    assert any(line.startswith(f"NOT COUNTED: records {number}, answers") for line in headline)


def test_report_on_an_unsigned_log_says_so_first_and_in_its_exit_code(
    shoe: tuple[Path, dict[str, Answer], Answer], capsys: pytest.CaptureFixture[str]
) -> None:
    """A signed one held against its key is proven, and says nothing of the kind."""
    folder, truth, _ = shoe
    assert main(["accept", "report", *words(folder), "--out", str(folder / "a")]) == NOT_PROVEN
    assert capsys.readouterr().out.startswith("NOT PROVEN: the log is not signed")
    key = folder / "keys" / "table.key"
    key.parent.mkdir(mode=0o700)
    make_keys(key)
    table = folder / "table.toml"
    table.write_text(f'{table.read_text("utf-8")}[log]\nsigning_key = "{key}"\n', "utf-8")
    with served(*words(folder), "--share", "0", "--below", "0.9") as (url, _):
        for name in (FIRST, SECOND):
            Person(name).answer_all(url, truth)
    more = ["--out", str(folder / "b"), "--public-key", f"{key}.pub"]
    assert main(["accept", "report", *words(folder), *more]) == 0
    out = capsys.readouterr().out
    assert out.startswith("planned: fewer than 90% of results wrong, in all coups")
    assert "NOT" not in out


def test_two_texts_under_one_revision_are_both_in_the_report_and_the_first_counts(
    shoe: tuple[Path, dict[str, Answer], Answer],
) -> None:
    """Two pages that were open at once while the table was away cannot hide an answer."""
    folder, truth, error = shoe
    first, second = (f"#1 {answer_text(answer)}" for answer in (truth[ERROR], error))
    for detail in (first, second):
        give(folder, facts(folder, FIRST, Fact.COUP_KEYED, ERROR, detail))
    report = reported(folder)
    (changed,) = report["people"]["changed"]
    assert [changed[name] for name in ("coup", "by", "counts")] == [ERROR, FIRST, False]
    assert [f"#1 {changed[name]}" for name in ("from", "to")] == [first, second]
    (coup,) = [coup for coup in report["coups"] if coup["coup"] == ERROR]
    assert [f"#1 {person['answer']}" for person in coup["people"]] == [first]
    assert changed["to"] in report["page"]


def test_answer_of_somebody_who_had_looked_at_a_desk_is_marked(
    shoe: tuple[Path, dict[str, Answer], Answer],
) -> None:
    """The report names who saw a coup's evidence, or results, at a desk before they keyed it."""
    folder, truth, _ = shoe
    book = LogBook(folder / "table.sqlite")
    book.renew()
    piece = book.pieces["s1/1"][0].id
    give(folder, facts(folder, FIRST, Fact.PICTURE_SEEN, f"evidence/{piece}", ""))
    for by, coup in ((FIRST, "s1/1"), (FOURTH, "s1/1"), (FIRST, "s1/2")):
        give(folder, facts(folder, by, Fact.COUP_KEYED, coup, f"#1 {answer_text(truth[coup])}"))
    give(folder, facts(folder, FOURTH, Fact.PICTURE_SEEN, f"evidence/{piece}", ""))
    report = reported(folder)
    looked = [
        (person["by"], coup["coup"])
        for coup in report["coups"]
        for person in coup["people"]
        if person["looked_up"]
    ]
    assert looked == [(FIRST, "s1/1")]
    assert f"{FIRST} had seen coup s1/1, or its result, at a desk" in report["page"]


@pytest.mark.parametrize(("subject", "is_marked"), [("s1", True), ("", True), ("s2", False)])
def test_answer_of_somebody_who_had_seen_results_is_marked(
    shoe: tuple[Path, dict[str, Answer], Answer], subject: str, is_marked: bool
) -> None:
    """Also where no picture was opened: the results of that shoe, or of everything live."""
    folder, truth, _ = shoe
    give(folder, facts(folder, FIRST, Fact.RESULTS_SEEN, subject, ""))
    answer = f"#1 {answer_text(truth['s1/1'])}"
    give(folder, facts(folder, FIRST, Fact.COUP_KEYED, "s1/1", answer))
    (people,) = [coup["people"] for coup in reported(folder)["coups"] if coup["coup"] == "s1/1"]
    assert [person["looked_up"] for person in people] == [is_marked]
