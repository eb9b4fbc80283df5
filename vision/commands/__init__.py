"""The commands of `shoe-reader`, one module each: `HELP`, `add_arguments`, `run`."""
