"""What the networks find in one picture: boxes, corners, faces."""
