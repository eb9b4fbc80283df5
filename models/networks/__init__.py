"""The networks in torch, their export, their model cards, and weights restored from ONNX files."""
