"""The definition of each operation in exact rational arithmetic, one block at a time."""
