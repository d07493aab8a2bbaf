"""Where hardware and specification are proved equal for every input: statements of SMT-LIB about the written
Verilog.
"""

from .solve.prove import Proof, prove
from .solve.record import recorded

__all__ = ["Proof", "prove", "recorded"]
