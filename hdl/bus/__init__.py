"""The module around hardware with AXI4-Stream whose streams have words of the bus of a system."""
