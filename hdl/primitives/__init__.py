"""Components and functions that several operations share."""
