"""Analysis of the processes of an elaborated design."""
