"""Reports of an exploration: HTML, tables, a drawing."""
