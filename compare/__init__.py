"""Differences of two sets of rules over all inputs, for each operation."""

from .cast import CastCertificate, compare_casts
from .decode import DecodeCertificate, compare_decoders
from .encode import Certificate, compare
from .nvfp4_decode import Nvfp4DecodeCertificate, compare_nvfp4_decoders
from .nvfp4_encode import Nvfp4Certificate, compare_nvfp4

__all__ = [
    "CastCertificate",
    "Certificate",
    "DecodeCertificate",
    "Nvfp4Certificate",
    "Nvfp4DecodeCertificate",
    "compare",
    "compare_casts",
    "compare_decoders",
    "compare_nvfp4",
    "compare_nvfp4_decoders",
]
