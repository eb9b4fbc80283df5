"""How anything is painted: light, camera, cloth, table print, hands and clutter."""
