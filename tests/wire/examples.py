"""The example consumers at work: `python -m tests.wire.examples` prints what each of them prints.

The results of a play, the last of them twice, go through a mosquitto to `deploy/examples`: one coup
is held, ruled on and corrected. The one in C# needs .NET and is not run.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion

from tests.mqtt.mqtt_tools import Mosquitto
from tests.table_log import PLAYS, said

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "deploy" / "examples"
RESULTS = [m for m in said(PLAYS["overdraw"]().events) if m.topic.endswith("coup/result")]


def expected(nothing: str) -> list[str]:
    """Return what an example prints of the play's results; `nothing` is its word for null."""
    names = ("table", "shoe", "coup", "revision", "state", "winner")
    payloads = (json.loads(message.payload) for message in RESULTS)
    return [
        " ".join(nothing if payload[name] is None else str(payload[name]) for name in names)
        for payload in payloads
    ]


def printed(command: list[str], port: int, folder: Path) -> list[str]:
    """Run an example while the results are published, the last one twice; return what it prints."""
    words = [*command, "127.0.0.1", str(port)]
    heard: list[str] = []
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=folder) as process:
        assert process.stdout is not None
        client = paho.Client(CallbackAPIVersion.VERSION2)
        client.connect("127.0.0.1", port)
        client.loop_start()
        first, *others = RESULTS
        # Retained: whenever the example has subscribed, it hears the first; and then the others.
        client.publish(first.topic, first.payload, 1, retain=True).wait_for_publish(5)
        heard.append(process.stdout.readline().strip())
        for message in (*others, others[-1]):
            client.publish(message.topic, message.payload, 1, retain=True).wait_for_publish(5)
        last = json.loads(others[-1].payload)
        end = json.dumps({**last, "seq": last["seq"] + 1, "coup": 99})
        client.publish(first.topic, end, 1).wait_for_publish(5)
        while " 99 " not in (line := process.stdout.readline()) and line:
            heard.append(line.strip())
        client.loop_stop()
        process.kill()
    return heard


def installed(folder: Path) -> None:
    """Install the pinned npm packages in a folder, with our scripts beside them, unless there."""
    for source in (ROOT / "tests" / "npm").iterdir():
        shutil.copy(source, folder)
    shutil.copy(EXAMPLES / "results.mjs", folder)
    if not (folder / "node_modules").exists():
        words = ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"]
        subprocess.run(words, check=True, cwd=folder, capture_output=True, timeout=500)


def main() -> None:
    """Run those that can be run here, and print what they print."""
    with tempfile.TemporaryDirectory(prefix="examples-") as name:
        folder = Path(name)
        installed(folder)
        for words, where in (
            ([sys.executable, "results.py"], EXAMPLES),
            (["node", "results.mjs"], folder),
        ):
            with Mosquitto(folder) as broker:
                lines = printed(words, broker.port, where)
            print(f"$ {Path(words[0]).name} {words[1]} 127.0.0.1 1883", *lines, sep="\n")


if __name__ == "__main__":
    main()
