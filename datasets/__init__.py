"""Card faces, scenes and dealt videos made by our own code; never imported by `vision`."""
