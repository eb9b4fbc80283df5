"""Events and messages, both ways; pure."""
