"""The networks' answers on one picture: boxes, corners, faces."""
