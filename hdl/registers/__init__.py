"""Control and status registers next to an encoder with AXI4-Stream, behind AXI4-Lite."""
