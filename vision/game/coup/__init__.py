"""One coup: its cards, its faults and their alerts, its result."""
