"""Input blocks worth trying, as bit patterns: directed corners, neighbours of every boundary, every distance, sweeps,
and seeded random blocks.

They follow from the numerics, so a new format or rule has its own stimuli. Blocks are (n, block_size) source patterns:
uint32, or uint16 for 16-bit sources.
"""

from .boundary import boundary_blocks
from .corners import corner_blocks, corner_cases
from .distance import distance_blocks
from .seeded import random_bits, random_blocks
from .source import depth
from .sweep import exhaustive_blocks, exhaustive_total, stratified_blocks

__all__ = [
    "boundary_blocks",
    "corner_blocks",
    "corner_cases",
    "depth",
    "distance_blocks",
    "exhaustive_blocks",
    "exhaustive_total",
    "random_bits",
    "random_blocks",
    "stratified_blocks",
]
