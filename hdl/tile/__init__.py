"""Tile encoders: rows enter, and blocks of the rows and of the columns leave."""
