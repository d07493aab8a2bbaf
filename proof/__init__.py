"""Where hardware and specification are proved equal for every input: statements of SMT-LIB about the written
Verilog.
"""

from .prove import Proof, prove
from .record import recorded

__all__ = ["Proof", "prove", "recorded"]
