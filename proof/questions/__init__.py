"""The questions whose answers make a proof, for each operation."""
