"""Other handshakes around hardware with valid and ready, which is a module of its own."""
