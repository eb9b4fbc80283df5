"""Who may give orders: the users file of a house, and the secret keys that people sign with.

The users file holds public keys and roles only; a secret key is written once, to a file of its
own, and never shown.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from vision.errors import ConfigurationError
from vision.files import refuse_others_file, secret_in, write_new, write_whole
from vision.wire.commands import signed_text
from vision.wire.messages import iso

FILE_LIMIT = 1024 * 1024  # bytes; some ten thousand people, beyond it is not a users file
NAME_LIMIT = 64  # characters; as much as one level of a topic may have (`wire.commands`)
NONCE_BYTES = 16  # random bytes of an order's nonce: two are never the same by chance

RoleName = Literal["dealer", "inspector", "surveillance", "engineer", "house"]


def _name(text: str) -> str:
    if not 1 <= len(text) <= NAME_LIMIT or not text.isprintable() or text != text.strip():
        raise ValueError(f"a name is 1 to {NAME_LIMIT} characters that print")
    return text


Name = Annotated[str, AfterValidator(_name)]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class User(_Strict):
    """One person, desk or system: what it may be, and the public key it signs with.

    Without a key a person speaks only through a desk; a desk (`may_act_for`) vouches for others,
    in its own roles at most. The role `house` is for the house's table system.
    """

    roles: tuple[RoleName, ...] = Field(min_length=1, strict=False)
    key: Annotated[str, Field(pattern=r"^([0-9a-f]{64})?$")] = ""
    may_act_for: bool = False

    def signed(self, text: bytes, signature: str) -> bool:
        """Whether the signature (128 hex digits) is this user's over the text."""
        try:
            key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(self.key))
            key.verify(bytes.fromhex(signature), text)
        except (ValueError, InvalidSignature):
            return False
        return True


class Users(_Strict):
    """Everybody who may give orders, by name."""

    users: dict[Name, User] = {}

    def with_user(self, name: str, user: User) -> Users:
        """Return the users with one added; ConfigurationError when the name is none or taken."""
        if name in self.users:
            raise ConfigurationError(f"'{name}' is already a user; remove that one first")
        try:
            return Users(users={**self.users, name: user})
        except ValidationError as error:
            raise ConfigurationError(f"'{name}': {error.errors()[0]['msg']}") from error

    def without(self, name: str) -> Users:
        """Return the users with one removed; ConfigurationError when there is none such."""
        if name not in self.users:
            raise ConfigurationError(
                f"there is no user '{name}'; shoe-reader users list shows them"
            )
        return Users(users={key: user for key, user in self.users.items() if key != name})


def load_users(path: Path) -> Users:
    """Read a users file; ConfigurationError when it is none, or others may write it."""
    try:
        stat = path.stat()
        text = path.read_bytes()[: FILE_LIMIT + 1].decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"{path}: cannot be read as a users file: {error}; make one with shoe-reader users add"
        ) from error
    refuse_others_file(path, "[orders] users")
    if stat.st_mode & 0o022:
        raise ConfigurationError(
            f"{path}: others may write to it, and so add themselves as users; chmod go-w {path}"
        )
    if len(text) > FILE_LIMIT:
        raise ConfigurationError(f"{path}: longer than {FILE_LIMIT} bytes; is it a users file?")
    try:
        return Users.model_validate_json(text)
    except ValidationError as error:
        fault = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(str(part) for part in fault["loc"]) or "(whole file)"
        raise ConfigurationError(
            f"{path}: {where}: {fault['msg']}; correct it, or make a new one with shoe-reader "
            "users add"
        ) from error


def save_users(path: Path, users: Users) -> None:
    """Replace the users file in one step; WriteError when the disk refuses."""
    text = users.model_dump_json(indent=1, exclude_defaults=True) + "\n"
    write_whole(path, text.encode(), mode=0o644)


@dataclass(frozen=True, slots=True)
class Credential:
    """A secret key and the name it stands for."""

    name: str
    _secret: Ed25519PrivateKey = field(repr=False)

    @classmethod
    def new(cls, name: str) -> Credential:
        """Make a credential from the system's randomness."""
        return cls(name, Ed25519PrivateKey.generate())

    @property
    def public(self) -> str:
        """The public key, 64 hex digits, for the users file."""
        return self._secret.public_key().public_bytes_raw().hex()

    def sign(self, topic: str, fields: Mapping[str, object], at: int) -> dict[str, object]:
        """Return the fields of an order with what vouches for it, signed at Unix time `at` (ms)."""
        nonce = secrets.token_hex(NONCE_BYTES)
        whole = {**fields, "key": self.name, "nonce": nonce, "time": iso(at)}
        return {**whole, "sig": self.sign_text(signed_text(topic, whole))}

    def sign_text(self, text: bytes) -> str:
        """Return the signature over a text, 128 hex digits."""
        return self._secret.sign(text).hex()

    def save(self, path: Path) -> None:
        """Write the secret to a new file that its owner alone may read.

        ConfigurationError when the file is there already, WriteError when the disk refuses.
        """
        text = json.dumps({"name": self.name, "secret": self._secret.private_bytes_raw().hex()})
        write_new(path, f"{text}\n".encode(), mode=0o600)


def load_credential(path: Path) -> Credential:
    """Read a secret key; ConfigurationError when it is none, or others may read it."""
    cure = "give a file that shoe-reader users add has made"
    try:
        content = json.loads(secret_in(path, "key file", cure))
        secret = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(content["secret"]))
        return Credential(_name(content["name"]), secret)
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ConfigurationError(f"{path}: not a key file; {cure}") from None
