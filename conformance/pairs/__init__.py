"""Two files, one of numbers and one of what was stored for them: which rules made the second from the first."""
