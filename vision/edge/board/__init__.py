"""The results board: a display like any other, fed by MQTT, shown by any browser."""
