"""Configurations of models: which weights are quantized, and how. One file for each library reads and writes them."""
