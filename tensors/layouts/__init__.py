"""Recognition and reading of quantized tensors in the layouts of libraries."""
