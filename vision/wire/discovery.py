"""What makes a table appear in Home Assistant by itself: one message for its MQTT discovery.

Of the form for a device with its components (Home Assistant 2024.11 and newer): their names for
people, the topics of the contract they read, and the template that takes the value out of each.
"""

from __future__ import annotations

from vision.record.codec import canonical
from vision.wire.messages import Message, MessageStream, topic_level

# Component: its kind, its topic, and the value; a value is shown as text.
_SENSORS = {
    "result": ("Result", "coup/result", "{{ value_json.winner or value_json.state }}"),
    "punto": ("Punto", "coup/result", "{{ value_json.punto.points }}"),
    "banco": ("Banco", "coup/result", "{{ value_json.banco.points }}"),
    "coup": ("Coup", "coup/result", "{{ value_json.coup }}"),
    "cards": ("Cards out", "shoe", "{{ value_json.cards_out }}"),
    "reader": ("Reader", "status", "{{ value_json.state }}"),
}


def discovery(stream: MessageStream, beginning: str) -> Message:
    """Return the message, retained; `beginning` is that of the consumer's discovery topics.

    It takes no number: it says nothing of the game. The components are public topics only.
    """
    own = topic_level(f"shoe_reader_{stream.site}_{stream.table}").replace(".", "_")
    components = {
        key: {
            "platform": "sensor",
            "unique_id": f"{own}_{key}",
            "name": name,
            "state_topic": stream.prefix + topic,
            "value_template": value,
        }
        for key, (name, topic, value) in _SENSORS.items()
    }
    content = {
        "device": {"identifiers": [own], "name": f"Table {stream.table}", "model": "Shoe Reader"},
        "origin": {"name": "Shoe Reader", "sw_version": stream.version},
        "components": components,
        "qos": 1,
    }
    text = canonical(content).encode()
    return Message(f"{beginning}/device/{own}/config", text, 1, retain=True, seq=stream.seq)
