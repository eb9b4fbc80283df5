"""The dealing simulator: who does what when at a table, filmed, with its ground truth."""
