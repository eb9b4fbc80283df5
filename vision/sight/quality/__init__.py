"""Whether the camera sees the table well: the picture, its position, the trend of reading."""
