"""The cocotb regression: the process that runs it, and the bench inside the simulator."""
