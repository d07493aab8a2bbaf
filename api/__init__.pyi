"""The names of the stable interface, and the modules that define them. `__init__.py` reads them from here."""

from .arrays import formats as formats
from .arrays import profiles as profiles
from .arrays import quantize as quantize
from .hardware import CastingRules as CastingRules
from .hardware import DecodingRules as DecodingRules
from .hardware import Rules as Rules
from .hardware import TileRules as TileRules
from .hardware import emit as emit
from .hardware import explore as explore
from .hardware import prove as prove
from .hardware import synth as synth
from .hardware import verify as verify
from .hardware import verilate as verilate
from .identification import identify as identify
from .identification import identify_file as identify_file
from .models.arrays.block_array import Quantized as Quantized
from .models.arrays.packing import pack as pack
from .models.arrays.packing import unpack as unpack
from .models.fast.cast import cast as cast
from .models.fast.cast import uncast as uncast
from .models.fast.decode import dequantize as dequantize
from .tensors.convert.save_load import load as load
from .tensors.convert.save_load import save as save
from .tensors.inspect.inspection import inspect_file as inspect_file

__version__: str
