"""Reports of an exploration: HTML, tables, plots."""
