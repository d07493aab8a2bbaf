"""Checks on the netlist of a design: structure, lanes, pipelines."""
