"""Pixels to what is seen of a coup: no I/O, no ONNX session."""
