"""Reading of Verilog that others wrote: text, readers, and the constructs that are refused."""
