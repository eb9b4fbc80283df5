"""Pictures for the networks: stills, crops, outlines, and sheets to look at them."""
