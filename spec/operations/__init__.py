"""Operations: conversions with their rules and ports. One file for each operation."""
