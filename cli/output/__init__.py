"""Text, tables and documents on standard streams."""
