"""The surveillance desk: alerts with evidence, history, orders."""
