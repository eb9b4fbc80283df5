"""Pictures, and how their pixels map to millimetres on the table."""
