"""Operations: what is converted to what, with rules and ports. One file for each operation."""
