"""One event at a time: `step` takes a table and an event to the next table and its outputs."""
