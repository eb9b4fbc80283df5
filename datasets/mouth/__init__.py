"""The mouth of a shoe from above while cards are drawn, to train and measure its watcher."""
