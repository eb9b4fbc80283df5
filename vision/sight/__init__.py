"""Pixels to card events: no I/O, no ONNX session."""
