"""From the tracks and looks of a frame to card events, each face with a bound on its error."""
