"""The connection to the broker, and a broker for the demo."""
