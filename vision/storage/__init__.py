"""What is kept on disk: the log, its anchors, the outbox, evidence."""
