"""Tensors that ship with the package: `minilm_sample.safetensors`, real FP32 weights.

Six tensors of sentence-transformers/all-MiniLM-L6-v2 (some the first rows only, as their names say), licensed
Apache-2.0; the file's metadata names source and licence.
"""
