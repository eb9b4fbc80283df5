"""A house as `deploy/mosquitto` sets it up: a real mosquitto, a user of each role, certificates."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tests.mqtt.endpoints import endpoint_at
from tests.mqtt.mqtt_tools import Mosquitto, free_port
from vision.mqtt.endpoint import Endpoint, new_client

DEPLOY = Path(__file__).parents[2] / "deploy" / "mosquitto"
TABLE = "casino/house/table/1/"
PASSWORD = "pw"
# User names are those of the roles; a second name for each that may write and read all.
ROLES = (
    "reader",
    "board",
    "surveillance",
    "supervisor",
    "desk",
    "table-system",
    "engineer",
)
EVERYONE = ("everyone", "everyone-2")
PUBLIC = (
    "status", "shoe", "coup/live", "coup/result", "roads", "replay/public/roads", "copy/coup/live",
)  # fmt: skip
TOPICS = (
    *PUBLIC, "card", "alert", "alert/a1", "evidence/a1", "health", "replay/restricted/card",
    "cmd/reply", "cmd/void_coup", "cmd/ack_alert", "cmd/hold_result", "cmd/bets_closed",
    "cmd/replay", "else",
)  # fmt: skip


class House:
    """The broker of the house, its ports, and how to come to it as somebody."""

    def __init__(self, folder: Path, *, certs: Path | None = None) -> None:
        """Make certificates, passwords, rights and configuration as the comments in them say.

        `certs` is the folder of another broker of the house, where there is one already.
        """
        self.folder = folder
        self.ca = folder / "certs" / "ca.crt"
        self.port, self.certificate_port, self.web_port = (free_port() for _ in range(3))
        self.authority = folder / "authority"
        if certs is not None:
            shutil.copytree(certs, folder / "certs")
        else:
            self.certify("localhost", "127.0.0.1")
            self.certify("--client", "board", "reader")
        (folder / "passwords").touch(mode=0o600)
        for name in (*ROLES, *EVERYONE):
            self._run("mosquitto_passwd", "-b", f"{folder}/passwords", name, PASSWORD)
        (folder / "acl").write_text(self._rights(), encoding="utf-8")
        self.server = Mosquitto(folder, "user root", self.configuration(), port=self.port)

    def certify(self, *words: str) -> None:
        """Have the authority of the house issue or revoke certificates."""
        self._run("sh", "certificates.sh", str(self.authority), f"{self.folder}/certs", *words)

    def access(self, name: str) -> list[str]:
        """Return the options by which mosquitto's clients come as that user."""
        return ["-h", "localhost", "--cafile", str(self.ca), "-u", name, "-P", PASSWORD]

    def endpoint(self, name: str) -> Endpoint:
        """Return the broker, as that user."""
        who = {"username": name, "password": PASSWORD, "tls_ca": str(self.ca)}
        return endpoint_at(host="localhost", port=self.port, **who)

    def publish(self, name: str, *topics: str) -> None:
        """Publish the user's name on topics of the table, and wait until the broker has them."""
        client = new_client(self.endpoint(name), f"{name}-says")
        client.connect("localhost", self.port)
        client.loop_start()
        for topic in topics:
            reported = client.publish(TABLE + topic, f'"{name}"', qos=1)
        reported.wait_for_publish(20)
        client.disconnect()
        client.loop_stop()

    def _rights(self) -> str:
        entries = (f"{role}:{role}" + (":1" if role == "reader" else "") for role in ROLES)
        everyone = (f"\nuser {name}\ntopic readwrite #\n" for name in EVERYONE)
        return self._run("sh", "make-acl.sh", "house", *entries) + "".join(everyone)

    def configuration(self) -> str:
        """Return the file of `deploy`, its paths and ports moved here."""
        text = (DEPLOY / "mosquitto.conf").read_text("utf-8")
        for old, new in (
            ("/etc/mosquitto", str(self.folder)),
            ("/var/lib/mosquitto/", f"{self.folder}/"),
            ("listener 8883", f"listener {self.port} 127.0.0.1"),
            ("listener 8884", f"listener {self.certificate_port} 127.0.0.1"),
            ("listener 9443", f"listener {self.web_port} 127.0.0.1"),
        ):
            assert old in text
            text = text.replace(old, new)
        return text

    @staticmethod
    def _run(*command: str) -> str:
        done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=DEPLOY)
        return done.stdout
