"""The users file and the secret keys."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from vision.access.users import FILE_LIMIT, Credential, load_credential, load_users
from vision.cli import _parser, main
from vision.errors import ConfigurationError
from vision.wire.commands import order_fields, signed_text

TOPIC = "casino/lisboa/table/7/cmd/void_coup"


def users(folder: Path, *words: str) -> int:
    """Run the command on the folder's users file."""
    return main(["users", *words, "--file", str(folder / "users.json")])


def test_add_writes_a_secret_that_only_its_owner_can_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The secret is in one file, of mode 600: not shown, and not in the users file."""
    assert users(tmp_path, "add", "Ann", "--role", "inspector") == 0
    key = tmp_path / "Ann.key"
    assert key.stat().st_mode & 0o777 == 0o600
    secret = json.loads(key.read_text())["secret"]
    printed = capsys.readouterr()
    assert secret not in printed.out + printed.err + (tmp_path / "users.json").read_text()
    assert secret not in repr(load_credential(key))


def test_added_user_signs_what_the_users_file_verifies(tmp_path: Path) -> None:
    """The two files fit, and an order signed is one that a reader takes."""
    users(tmp_path, "add", "Ann", "--role", "inspector", "--role", "dealer")
    credential = load_credential(tmp_path / "Ann.key")
    fields = credential.sign(TOPIC, {"by": "Ann", "role": "dealer", "coup": 3}, 1_700_000_000_000)
    assert order_fields(json.dumps(fields).encode()) == fields
    user = load_users(tmp_path / "users.json").users["Ann"]
    assert user.roles == ("inspector", "dealer")
    assert user.signed(signed_text(TOPIC, fields), str(fields["sig"]))
    assert not user.signed(signed_text(TOPIC, {**fields, "coup": 4}), str(fields["sig"]))


def test_documented_test_vector_holds() -> None:
    """What `deploy/mqtt.md` gives integrators to try their signing on is right."""
    text = (Path(__file__).parents[2] / "deploy" / "mqtt.md").read_text("utf-8")
    vector = json.loads(text.split("```json\n")[1].split("```")[0])
    secret = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(vector["secret"]))
    credential = Credential("Ann", secret)
    fields = json.loads(vector["payload"])
    assert signed_text(vector["topic"], fields) == vector["signed"].encode()
    assert credential.public == vector["public"]
    assert credential.sign_text(vector["signed"].encode()) == fields["sig"]


def test_list_and_remove_tell_who_may_speak(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each user is told with roles and kind; a removed one is gone."""
    users(tmp_path, "add", "Ann", "--role", "inspector")
    users(tmp_path, "add", "desk 1", "--role", "dealer", "--may-act-for")
    users(tmp_path, "add", "Cy", "--role", "dealer", "--through-desk")
    assert not (tmp_path / "Cy.key").exists()
    capsys.readouterr()
    users(tmp_path, "list")
    assert capsys.readouterr().out.splitlines() == [
        "Ann speaks as inspector",
        "desk 1 vouches for others as dealer",
        "Cy speaks as dealer through a desk",
    ]
    users(tmp_path, "remove", "Ann")
    assert list(load_users(tmp_path / "users.json").users) == ["desk 1", "Cy"]


@pytest.mark.parametrize(
    ("words", "reported"),
    [
        (("add", "Ann", "--role", "dealer"), "is already a user"),
        (("remove", "Zed"), "there is no user 'Zed'"),
        (("add", "../x", "--role", "dealer"), "not a valid file name"),
        (("add", " x", "--role", "dealer"), "characters that print"),
        (("add", "x" * 65, "--role", "dealer"), "characters that print"),
        (("add", "Di", "--role", "dealer"), "is there already"),
    ],
)
def test_mistake_is_reported_and_changes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], reported: str
) -> None:
    """A wrong use leaves the users file and every key as they were."""
    users(tmp_path, "add", "Ann", "--role", "inspector")
    (tmp_path / "Di.key").write_text("another's")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert users(tmp_path, *words) in (2, 3)
    assert reported in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize(
    "content",
    [
        b"", b"x", b"[]", b'{"users":[]}', b'{"users":{"A":{}}}', b"\xff" * 9, b"[" * 100_000,
        b'{"users":{"A":{"roles":["king"]}}}', b'{"users":{"A":{"roles":["dealer"],"key":"00"}}}',
        b'{"users":{"A":{"roles":["dealer"],"x":1}}}', b'{"users":{"":{"roles":["dealer"]}}}',
        b'{"users":{"A":{"roles":["dealer"],"may_act_for":"no"}}}', b" " * (FILE_LIMIT + 9),
    ],
)  # fmt: skip
def test_file_that_is_no_users_file_is_reported(tmp_path: Path, content: bytes) -> None:
    """Whatever the file holds, the answer names it and the cure."""
    path = tmp_path / "users.json"
    path.write_bytes(content)
    path.chmod(0o644)
    with pytest.raises(ConfigurationError, match=r"users\.json: "):
        load_users(path)


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[]", b"[" * 99_999, b'{"name":"A","secret":"00"}', b'{"name":1}']
)
def test_file_that_is_no_key_is_reported_without_its_content(
    tmp_path: Path, content: bytes
) -> None:
    """A wrong key file is named; nothing of what it holds is."""
    path = tmp_path / "a.key"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(ConfigurationError, match=r"a\.key: not a key file"):
        load_credential(path)


def test_key_that_others_may_read_is_refused(tmp_path: Path) -> None:
    """A secret that is none is not used."""
    Credential.new("Ann").save(tmp_path / "a.key")
    (tmp_path / "a.key").chmod(0o644)
    with pytest.raises(ConfigurationError, match="chmod 600"):
        load_credential(tmp_path / "a.key")


def test_users_added_at_once_are_all_there(tmp_path: Path) -> None:
    """Two administrators at a time lose nobody."""

    def add(name: str) -> None:
        words = ["users", "add", name, "--role", "dealer", "--through-desk"]
        args = _parser("users").parse_args([*words, "--file", str(tmp_path / "users.json")])
        args.run(args)

    names = [f"Di {number}" for number in range(24)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(add, names))
    assert sorted(load_users(tmp_path / "users.json").users) == sorted(names)


@pytest.mark.parametrize("mode", [0o777, 0o757])
def test_file_in_a_folder_that_everybody_may_write_to_is_refused(tmp_path: Path, mode: int) -> None:
    """Who may replace a file may as well write to it."""
    users(tmp_path, "add", "Ann", "--role", "inspector")
    tmp_path.chmod(mode)
    for load in (
        lambda: load_users(tmp_path / "users.json"),
        lambda: load_credential(tmp_path / "Ann.key"),
    ):
        with pytest.raises(ConfigurationError, match="chmod go-w"):
            load()
    tmp_path.chmod(0o700)


def test_file_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever owns a users file or a key may change it, whatever its mode says."""
    users(tmp_path, "add", "Ann", "--role", "inspector")
    own = (tmp_path / "users.json").stat().st_uid
    if own == 0:
        os.chown(tmp_path / "users.json", 4711, -1)
    else:
        monkeypatch.setattr("os.geteuid", lambda: own + 1)
    with pytest.raises(ConfigurationError, match="belongs to another user"):
        load_users(tmp_path / "users.json")


def test_credential_of_a_service_may_be_read_by_its_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Systemd shows a credential of a unit as 0440; others may still not read it, nor write it."""
    Credential.new("desk-1").save(tmp_path / "desk.key")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    (tmp_path / "desk.key").chmod(0o440)
    assert load_credential(tmp_path / "desk.key").name == "desk-1"
    for mode in (0o444, 0o460):
        (tmp_path / "desk.key").chmod(mode)
        with pytest.raises(ConfigurationError, match="chmod 600"):
            load_credential(tmp_path / "desk.key")
