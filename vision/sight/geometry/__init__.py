"""Pictures and millimetres: lens, table plane, polygons."""
