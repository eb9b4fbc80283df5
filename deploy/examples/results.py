"""Print each result of every table: `python results.py HOST PORT [USER PASSWORD CA]`."""

import json
import sys

import paho.mqtt.client as mqtt  # pip install "paho-mqtt>=2.1"

last: dict[str, int] = {}  # by topic, the newest message taken: the same may come twice


def take(_client, _userdata, message) -> None:
    """Print a result that is new."""
    result = json.loads(message.payload)
    if result["seq"] > last.get(message.topic, -1):
        last[message.topic] = result["seq"]
        print(result["table"], result["shoe"], result["coup"], result["revision"],
              result["state"], result["winner"], flush=True)  # fmt: skip


host, port, *account = sys.argv[1:]
client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
if account:
    client.username_pw_set(*account[:2])
    client.tls_set(account[2])
client.on_connect = lambda *_: client.subscribe("casino/+/table/+/coup/result", qos=1)
client.on_message = take
client.connect(host, int(port))
client.loop_forever()
