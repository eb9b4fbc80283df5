"""The mouth of the shoe: what is seen to leave it, whatever happens to it later."""
