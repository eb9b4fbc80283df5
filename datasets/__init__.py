"""Card faces, scenes and dealt films drawn by our own code.

`shoe-reader` finds this package as `vision.simulator`; the wheel holds it without `training`.
"""
