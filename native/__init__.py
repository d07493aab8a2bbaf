"""A golden model in C: the header ``mxcast.h``, configurations as values of its structs, and the files around it."""
