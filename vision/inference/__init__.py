"""The ONNX models and the enrolled deck, from their files."""
