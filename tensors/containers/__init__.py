"""Container files: safetensors, GGUF, NumPy, ONNX."""
