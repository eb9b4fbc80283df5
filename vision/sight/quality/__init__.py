"""Whether the camera sees what it should: picture, position, trend of the readings."""
