"""The append-only record: hash chain, codec of events, proofs."""
