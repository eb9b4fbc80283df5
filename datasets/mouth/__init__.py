"""What the mouth of a shoe looks like from above while cards are drawn, for training its watcher."""
