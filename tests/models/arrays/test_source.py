"""Arrays that `quantize` reads: from NumPy, and from other libraries by DLPack or ``__array__``."""

import ctypes
import gc
import sys
from collections import UserList, deque
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from mxcast.models import error_statistics, quantize, quantize_blocks
from mxcast.models.arrays.dlpack import Tensor
from mxcast.models.arrays.parallel import in_order
from mxcast.models.arrays.source import as_numbers, widen
from mxcast.models.fast import encode as block_module
from mxcast.spec import BF16, FP16, FP32, Rounding, numerics

PATTERNS = np.random.default_rng(3).integers(0, 1 << 16, (6, 4, 64), dtype=np.uint16)
"""Numbers of every kind, as bit patterns of 16-bit formats."""


class Managed(ctypes.Structure):
    """`DLManagedTensor` of dlpack.h."""

    _fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.CFUNCTYPE(None, ctypes.c_void_p))]


DESTRUCTOR = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, DESTRUCTOR)(
    ("PyCapsule_New", ctypes.pythonapi)
)


class Foreign:
    """An array of another library: exports its memory by DLPack, and counts what was given back."""

    def __init__(
        self, array: np.ndarray, code: int = 2, bits: int = 0, place: int = 1, lanes: int = 1, offset: int = 0
    ):
        self.array, self.given_back = array, 0
        shape, strides = (
            (ctypes.c_int64 * array.ndim)(*numbers)
            for numbers in (array.shape, (stride // array.itemsize for stride in array.strides))
        )
        compact = array.flags.c_contiguous
        self.managed = Managed(
            tensor=Tensor(
                data=array.ctypes.data - offset,
                device_type=place,
                ndim=array.ndim,
                code=code,
                bits=bits or 8 * array.itemsize,
                lanes=lanes,
                shape=shape,
                strides=None if compact else strides,
                byte_offset=offset,
            )
        )
        self.place, self.kept = place, (shape, strides)
        self.destructor = DESTRUCTOR(self.end)

    def end(self, _: int) -> None:
        self.given_back += 1

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.place, 0

    def __dlpack__(self, stream=None) -> object:
        return new_capsule(ctypes.addressof(self.managed), b"dltensor", self.destructor)


def same(got, expected) -> None:
    np.testing.assert_array_equal(got.codes, expected.codes)
    np.testing.assert_array_equal(got.scales, expected.scales)


LAYOUTS = {
    "contiguous": lambda x: x,
    "every other row": lambda x: x[::2],
    "backwards": lambda x: x[:, ::-1, ::-1],
    "transposed": lambda x: x.transpose(1, 0, 2),
    "columns": lambda x: np.moveaxis(x, 0, -1)[..., :4],
    "one axis": lambda x: x[0, 0],
    "empty": lambda x: x[:0],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    "code, dtype", [(2, np.float32), (2, np.float16), (4, np.uint16)], ids=["fp32", "fp16", "bf16"]
)
def test_a_capsule_is_read_in_place(code, dtype, layout):
    """Type codes of dlpack.h: 2 float, 4 bfloat."""
    x = LAYOUTS[layout](PATTERNS.astype(np.float32) - 30000 if dtype is np.float32 else PATTERNS.view(dtype))
    foreign = Foreign(x, code, offset=4 if layout == "contiguous" else 0)
    numbers = as_numbers(foreign, FP32)
    np.testing.assert_array_equal(numbers.tobytes(), x.tobytes())
    assert numbers.dtype == dtype and numbers.shape == x.shape
    assert not x.size or (np.shares_memory(numbers, x) and not numbers.flags.writeable)
    same(
        quantize(foreign, "e4m3", pad=True), quantize(x.view(ml_dtypes.bfloat16) if code == 4 else x, "e4m3", pad=True)
    )


def test_the_memory_is_kept_as_long_as_the_array():
    foreign = Foreign(np.ones(64, np.float32))
    part = as_numbers(foreign, FP32)[32:]
    gc.collect()
    assert not foreign.given_back
    assert part.sum() == 32
    del part
    gc.collect()
    assert foreign.given_back == 1


@pytest.mark.parametrize(
    "foreign, sentence",
    [
        (
            Foreign(np.ones(32), 2),
            "x must be float32, float16 or bfloat16, not float64: dtype='float32' rounds it first",
        ),
        (Foreign(np.ones(32, np.int8), 0), "x must be float32, float16 or bfloat16, not int8"),
        (Foreign(np.ones(32, np.complex64), 5), "x must be float32, float16 or bfloat16, not complex64"),
        (Foreign(np.ones(32, bool), 6), "x must be float32, float16 or bfloat16, not bool"),
        (Foreign(np.ones(32, np.uint8), 10), "x must be float32, float16 or bfloat16, not float8"),
        *(
            (
                Foreign(np.ones(32, np.float32), code),
                f"x must be float32, float16 or bfloat16, not DLPack type {code} of 32 bits",
            )
            for code in (7, 99)
        ),
        (
            Foreign(np.ones(32, np.float32), 2, bits=16, lanes=2),
            "x must be float32, float16 or bfloat16, not float16 x 2",
        ),
        (Foreign(np.ones(32, np.float32), place=2), "x must be on the CPU, not on a device of DLPack type 2"),
        (np.ones(32), "x must be float32, float16 or bfloat16, not float64: dtype='float32' rounds it first"),
        (np.ones(32, np.int32), "x must be float32, float16 or bfloat16, not int32"),
        (np.ones(32, np.complex64), "x must be float32, float16 or bfloat16, not complex64"),
        ([1.0] * 32, "x must be float32, float16 or bfloat16, not float64: dtype='float32' rounds it first"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_taken_is_said_in_one_sentence(foreign, sentence):
    with pytest.raises(TypeError) as error:
        quantize(foreign, "e4m3")
    assert str(error.value) == sentence


class Marked(Foreign):
    """A view whose mark changes what its memory means, as PyTorch has them; DLPack hands the memory out and not the
    mark.
    """

    def __init__(self, array: np.ndarray, mark: str) -> None:
        super().__init__(array)
        self.is_neg, self.is_conj = lambda: mark == "negative", lambda: mark == "conjugate"


@pytest.mark.parametrize(
    "mark, sentence",
    [
        (
            "negative",
            "x must not be a view with the negative bit, whose memory has the opposite signs: give x.resolve_neg()",
        ),
        ("conjugate", "x must not be a view with the conjugate bit: give x.resolve_conj()"),
        ("", None),
    ],
)
def test_a_view_whose_memory_means_something_else_is_refused(mark, sentence):
    x = np.arange(64, dtype=np.float32)
    q = quantize(x, "e4m3")
    for use in (
        lambda x: quantize(x, "e4m3"),
        lambda x: quantize(x, "e4m3", pad=True, jobs=2),
        lambda x: error_statistics(x, q),
    ):
        if sentence is None:
            use(Marked(x, mark))
            continue
        with pytest.raises(TypeError) as error:
            use(Marked(x, mark))
        assert str(error.value) == sentence


def test_the_bytes_of_bfloat16_may_be_swapped():
    native = PATTERNS.view(ml_dtypes.bfloat16)
    swapped = native.astype(native.dtype.newbyteorder(">"))
    assert swapped.tobytes() == PATTERNS.astype(">u2").tobytes()
    np.testing.assert_array_equal(as_numbers(swapped, BF16), PATTERNS)
    same(quantize(swapped, "e4m3"), quantize(native, "e4m3"))


class Giving:
    """An object with ``__array__``."""

    def __init__(self, give):
        self.give = give

    def __array__(self, dtype=None, copy=None):
        return self.give()


@pytest.mark.parametrize(
    "hidden",
    [
        lambda x: [x, x],
        lambda x: ([x[0], np.ones(32, np.float32)],),
        lambda x: Giving(lambda: x),
        lambda x: [Giving(lambda: x)],
        deque,
        lambda x: UserList([x[0], [x[1]][0]]),
        lambda x: Giving(iter([x, x.data]).__next__),
    ],
    ids=["list", "nested", "__array__", "__array__ in a list", "deque", "UserList", "__array__ once only"],
)
def test_a_mask_does_not_get_lost_on_the_way(hidden):
    masked = np.ma.masked_array(np.ones((2, 32), np.float32), [[True, False] * 16] * 2)
    sentence = "must not be a masked array, whose mask would be lost"
    with pytest.raises(TypeError, match=f"^x {sentence}"):
        quantize(hidden(masked), "e4m3")
    with pytest.raises(TypeError, match=f"^random {sentence}"):
        quantize(masked.data, "e4m3", rounding="sr", random=hidden(masked.astype(np.uint8)))
    same(quantize([masked.data[0], masked.data[1]], "e4m3"), quantize(masked.data, "e4m3"))


def test_an_array_that_fails_is_told_in_its_words():
    def fail():
        raise RuntimeError("no numbers\nhere")

    for x in (Giving(fail), [Giving(fail)]):
        with pytest.raises(TypeError) as error:
            quantize(x, "e4m3")
        assert str(error.value) == "x cannot be read: no numbers here"


@pytest.mark.parametrize(
    "capsule",
    [lambda: None, lambda: 3, lambda: np.ones(32, np.float32).__dlpack__(max_version=(1, 0))],
    ids=["None", "a number", "versioned"],
)
def test_another_capsule_is_refused(capsule):
    foreign = Foreign(np.ones(32, np.float32))
    foreign.__class__ = type("Other", (Foreign,), {"__dlpack__": lambda self, stream=None: capsule()})
    with pytest.raises(TypeError) as error:
        quantize(foreign, "e4m3")
    assert str(error.value) == "x cannot be read: its __dlpack__() returns no capsule named dltensor"


def test_a_tensor_without_memory_is_refused():
    """PyTorch has such tensors, for zeros and for numbers that were not computed yet."""
    foreign = Foreign(np.ones(32, np.float32))
    foreign.managed.tensor.data = None
    with pytest.raises(TypeError, match="^x cannot be read: its numbers are nowhere in memory"):
        quantize(foreign, "e4m3")


@pytest.mark.parametrize("axis", ["a", 1.0, None, True])
def test_an_axis_is_a_whole_number(axis):
    with pytest.raises(TypeError) as error:
        quantize(np.ones((2, 32), np.float32), "e4m3", axis=axis)
    assert str(error.value) == f"axis must be a whole number, not {axis!r}"
    same(
        quantize(np.ones((2, 32), np.float32), "e4m3", axis=np.int8(1)), quantize(np.ones((2, 32), np.float32), "e4m3")
    )


@pytest.mark.parametrize("mask", [np.ma.nomask, True])
def test_a_masked_array_is_refused(mask):
    """Its numbers are there, and whoever masked them does not want them."""
    x = np.ma.masked_array(np.ones(32, np.float32), mask)
    with pytest.raises(TypeError, match="masked"):
        quantize(x, "e4m3")
    same(quantize(x.filled(0), "e4m3"), quantize(np.full(32, 0 if mask is True else 1, np.float32), "e4m3"))


@pytest.mark.parametrize(
    "kind", ["byte-swapped", "read-only", "negative strides", "zero strides", "unaligned", "a field of records"]
)
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_the_layout_of_an_array_does_not_matter(kind, dtype):
    plain = (PATTERNS.astype(np.float32) - 30000).astype(dtype)
    x = {
        "byte-swapped": lambda: plain.astype(plain.dtype.newbyteorder()),
        "read-only": plain.copy,
        "negative strides": lambda: plain[::-1, :, ::-1].copy()[::-1, :, ::-1],
        "zero strides": lambda: np.broadcast_to(plain[:1], plain.shape),
        "unaligned": lambda: np.frombuffer(b"?" + plain.tobytes(), plain.dtype, offset=1).reshape(plain.shape),
        "a field of records": lambda: np.rec.fromarrays([plain, plain + 1], names="a,b")["a"],
    }[kind]()
    if kind == "read-only":
        x.flags.writeable = False
    expected = quantize(np.ascontiguousarray(x.astype(dtype)), "e4m3")
    same(quantize(x, "e4m3"), expected)
    if kind != "zero strides":
        same(expected, quantize(plain, "e4m3"))


def test_an_export_that_fails_is_told_in_its_words():
    class Sparse:
        def __dlpack_device__(self):
            return 1, 0

        def __dlpack__(self, stream=None):
            raise BufferError("no strides here")

    with pytest.raises(TypeError, match="x cannot be read: no strides here"):
        quantize(Sparse(), "e4m3")


def test_sources_take_their_own_numbers_only():
    x = np.ones(32, np.float32)
    for source, bad in ((BF16, x), (FP16, x), (BF16, x.astype(np.float16)), (FP16, x.view(np.uint16))):
        with pytest.raises(TypeError, match=f"x must be {'bfloat16' if source is BF16 else 'float16'}"):
            as_numbers(bad, source)
        with pytest.raises(TypeError):
            as_numbers(Foreign(bad, 4 if bad.dtype == np.uint16 else 2), source)


def test_bfloat16_by_array():
    """JAX arrays give NumPy an ml_dtypes array; an object with nothing but ``__array__`` is taken alike."""

    class Wrapped:
        def __array__(self, dtype=None, copy=None):
            return PATTERNS.view(ml_dtypes.bfloat16)

    for x in (PATTERNS.view(ml_dtypes.bfloat16), Wrapped()):
        same(quantize(x, "e4m3"), quantize((PATTERNS.astype(np.uint32) << 16).view(np.float32), "e4m3"))


@pytest.mark.parametrize("name", ["float32", "float16", "bfloat16"])
def test_torch_tensors(name):
    torch = pytest.importorskip("torch", reason="PyTorch is an optional peer")
    x = torch.from_numpy(PATTERNS.astype(np.float32) - 30000).to(getattr(torch, name))
    wide = x.to(torch.float32).numpy()  # exact
    for tensor, array in (
        (x, wide),
        (x[::2, :, ::2], wide[::2, :, ::2]),
        (x.transpose(0, 1), wide.swapaxes(0, 1)),
        (torch.nn.Parameter(x).detach(), wide),
    ):
        same(quantize(tensor, "e4m3"), quantize(array, "e4m3"))
        assert as_numbers(tensor, FP32).ctypes.data == tensor.data_ptr()
    q = quantize(x, "e2m3")
    assert error_statistics(x, q) == error_statistics(wide, q)


@pytest.mark.parametrize(
    "make, sentence",
    [
        (lambda t: t.ones(32, requires_grad=True), "x must not require a gradient: give x.detach()"),
        (lambda t: t.ones(32, dtype=t.float64), "x must be float32, float16 or bfloat16, not float64"),
        (lambda t: t.ones(32, dtype=t.int64), "x must be float32, float16 or bfloat16, not int64"),
        (lambda t: t.ones(32, dtype=t.complex64), "x must be float32, float16 or bfloat16, not complex64"),
        (lambda t: t.ones(32).to_sparse(), "x cannot be read: "),
        (lambda t: t.ones(32, device="meta"), "x cannot be read: "),
    ],
    ids=["grad", "float64", "int64", "complex64", "sparse", "meta"],
)
def test_torch_tensors_that_cannot_be_taken(make, sentence):
    torch = pytest.importorskip("torch", reason="PyTorch is an optional peer")
    with pytest.raises(TypeError) as error:
        quantize(make(torch), "e4m3")
    assert str(error.value).startswith(sentence) and "\n" not in str(error.value)


def test_torch_views_with_a_bit_that_dlpack_leaves_out():
    torch = pytest.importorskip("torch", reason="PyTorch is an optional peer")
    z = torch.randn(64, 32, dtype=torch.cfloat, generator=torch.Generator().manual_seed(1))
    negative = z.conj().imag
    with pytest.raises(TypeError, match="resolve_neg"):
        quantize(negative, "e4m3")
    same(quantize(negative.resolve_neg(), "e4m3"), quantize(-z.numpy().imag, "e4m3"))
    same(quantize(z.imag, "e4m3"), quantize(z.numpy().imag, "e4m3"))
    same(quantize(torch.ones(1).expand(2, 32), "e4m3"), quantize(np.ones((2, 32), np.float32), "e4m3"))
    with pytest.raises(TypeError):
        quantize(z.conj(), "e4m3")
    with pytest.raises(TypeError, match="^x cannot be read: .*resolve_neg"):
        quantize([negative, negative], "e4m3")
    with pytest.raises(TypeError, match="^x cannot be read: its numbers are nowhere in memory"):
        quantize(torch._efficientzerotensor((32,)), "e4m3")


def test_torch_is_not_imported():
    """Nothing of ours needs it."""
    import subprocess

    program = (
        "import sys, numpy, mxcast.models as m; m.quantize(numpy.ones(32, 'f'), 'e4m3'); print('torch' in sys.modules)"
    )
    assert (
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "False\n"
    )


def test_every_half_precision_pattern_is_widened_exactly():
    """Finite ones by arithmetic, and all of them with Inf and NaN among them by NumPy, which keeps NaN payloads."""
    every = np.arange(1 << 16, dtype=np.uint16)
    finite = every[(every & 0x7C00) != 0x7C00]
    for patterns in (finite, every):
        got = widen(patterns.view(np.float16), np.empty(patterns.shape, np.uint32))
        with np.errstate(invalid="ignore"):
            expected = patterns.view(np.float16).astype(np.float32)
        np.testing.assert_array_equal(got, expected.view(np.uint32))
    values = [
        (-1) ** (p >> 15) * (p & 1023 | (1024 if p >> 10 & 31 else 0)) * 2.0 ** (max(p >> 10 & 31, 1) - 25)
        for p in finite.tolist()
    ]
    np.testing.assert_array_equal(
        widen(finite.view(np.float16), np.empty(finite.shape, np.uint32)).view(np.float32), values
    )


@pytest.mark.parametrize("blocks", [0, 1, 5, 400])
@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_jobs_do_not_show(monkeypatch, blocks, jobs):
    monkeypatch.setattr(block_module, "CHUNK", 1024)  # many chunks, and shares of several
    x = np.random.default_rng(2).integers(0, 1 << 32, (blocks, 32), dtype=np.uint32).view(np.float32)
    for rules in (numerics("e4m3"), numerics("e5m10", "te"), numerics("int8", rounding="sr", random_bits=5)):
        random = np.random.default_rng(4).integers(0, 32, x.shape, np.uint16) if rules.rounding is Rounding.SR else None
        same(quantize(x, rules, random=random, jobs=jobs), quantize(x, rules, random=random))


@pytest.mark.parametrize(
    "jobs, error",
    [
        (0, ValueError),
        (-1, ValueError),
        (1025, ValueError),
        (10**30, ValueError),
        (1.5, TypeError),
        (True, TypeError),
        ("2", TypeError),
        (np.array([1]), TypeError),
    ],
)
def test_jobs_are_a_number_of_threads(jobs, error):
    with pytest.raises(error, match="jobs must be"):
        quantize(np.ones(32, np.float32), "e4m3", jobs=jobs)


def test_numbers_of_numpy_are_numbers():
    x = np.ones(64, np.float32)
    assert quantize(x, "e4m3", block_size=np.int32(16), jobs=np.uint8(1), axis=np.int64(0)).scales.shape == (4,)
    with pytest.raises(ValueError, match="block_size must be a power of two from 2 to 128, not array"):
        quantize(x, "e4m3", block_size=np.array([16]))


def test_errors_of_threads_arrive():
    def work(part):
        if part == 7:
            raise ValueError("seven")
        return part

    done = []
    with pytest.raises(ValueError, match="seven"):
        for result in in_order(work, range(100), 3):
            done.append(result)
    assert done == list(range(7))


def test_threads_fetch_a_few_parts_ahead():
    fetched = []
    results = in_order(str, (fetched.append(i) or i for i in range(1000)), 2)
    assert next(results) == "0" and len(fetched) <= 4
    assert next(results) == "1" and len(fetched) == 5
    results.close()
    assert len(fetched) == 5


def test_a_workspace_of_other_rules_or_of_fewer_elements_is_not_used():
    """Small and large arrays under changing rules, in one thread: each as in a fresh one."""
    rng = np.random.default_rng(12)
    for blocks, format in (
        (1, "e4m3"),
        (300, "e4m3"),
        (2, "e5m2"),
        (200, "int16"),
        (3, "int16"),
        (40, "e2m1"),
        (41, "e4m3"),
    ):
        x = rng.standard_normal((blocks, 32), dtype=np.float32)
        rules = numerics(format)
        fresh = next(in_order(lambda y, rules=rules: quantize(y, rules), [x], 2))
        same(quantize(x, rules), fresh)


def test_given_arrays_are_checked():
    rules, x = numerics("e4m3"), np.ones((2, 32), np.float32)
    scales, codes = np.empty(2, np.uint8), np.empty((2, 32), np.uint8)
    quantize_blocks(x, rules, scales, codes, jobs=2)
    same(quantize(x, rules), type("", (), {"codes": codes, "scales": scales[:, None]}))
    with pytest.raises(ValueError, match="codes must be C-contiguous"):
        quantize_blocks(x, rules, scales, codes.T)


def test_plain_uint16_is_no_bfloat16():
    """Whole numbers are not taken for bit patterns, unless the source says what they are."""
    with pytest.raises(TypeError, match="x must be float32, float16 or bfloat16, not uint16"):
        quantize(np.full(32, 300, np.uint16), "e4m3")
    patterns = np.full(32, 0x3FC0, np.uint16)
    np.testing.assert_array_equal(
        quantize(patterns, "e4m3", source="bf16").codes, quantize(np.full(32, 1.5, np.float32), "e4m3").codes
    )


class Refusing:
    """A tensor whose attributes cannot be asked for."""

    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, **_):
        raise RuntimeError("no")

    @property
    def requires_grad(self):
        raise RuntimeError("refused\nfully")


def test_a_tensor_that_refuses_to_answer():
    with pytest.raises(TypeError, match="^x cannot be read: refused fully$"):
        quantize(Refusing(), "e4m3")


@pytest.mark.skipif(not hasattr(np.dtypes, "StringDType"), reason="this NumPy has no StringDType")
def test_strings_are_no_numbers():
    with pytest.raises(TypeError, match="^x must be float32, float16 or bfloat16, not StringDType"):
        quantize(np.zeros(32, np.dtypes.StringDType()), "e4m3")


def test_jobs_may_be_of_numpy():
    assert quantize(np.ones(64, np.float32), "e4m3", jobs=np.int64(2)).scales.tolist() == [119, 119]


def nearest_float32(value: Fraction) -> np.float32:
    """By exact distances to the neighbours of NumPy's number; ties to the even pattern."""
    guess = np.float32(float(value))
    around = [np.nextafter(guess, np.float32(side)) for side in (-np.inf, np.inf)]
    return min(
        (guess, *around), key=lambda c: (abs(Fraction(float(c)) - value), int(np.float32(c).view(np.uint32)) & 1)
    )


@pytest.mark.parametrize("dtype", ["float32", np.float32, np.dtype("f4")])
def test_float64_and_lists_are_rounded_first_where_that_is_asked_for(dtype):
    x = np.random.default_rng(3).standard_normal(64)
    rounded = np.array([nearest_float32(Fraction(float(v))) for v in x], np.float32)
    for given in (x, x.tolist(), x.astype(">f8"), tuple(x)):
        same(quantize(given, "e4m3", dtype=dtype), quantize(rounded, "e4m3"))
    whole = list(range(32))
    same(quantize(whole, "int8", dtype=dtype), quantize(np.array(whole, np.float32), "int8"))
    with pytest.raises(TypeError, match="not float64: dtype='float32' rounds it first"):
        quantize(x, "e4m3")
    with pytest.raises(TypeError, match="x must be float16, not float64: dtype='float16' rounds it first"):
        quantize(x, "e4m3", source="fp16")
    assert quantize(x, "e4m3", source="fp16", dtype="float16") == quantize(x.astype(np.float16), "e4m3", source="fp16")


@pytest.mark.parametrize(
    "x, dtype, error, sentence",
    [
        (np.ones(32), "float64", ValueError, "dtype must be float32 or float16, not 'float64'"),
        (np.ones(32), "bf16", ValueError, "dtype must be float32 or float16, not 'bf16'"),
        (np.ones(32, complex), "float32", TypeError, "x must be real numbers, not complex128"),
        (["1"] * 32, "float32", TypeError, "x must be real numbers, not <U1"),
        ([[1.0], [1.0, 2.0]], "float32", TypeError, "x cannot be read: "),
        (np.ma.masked_array([1.0] * 32), "float32", TypeError, "x must not be a masked array"),
    ],
)
def test_what_is_not_rounded_first(x, dtype, error, sentence):
    with pytest.raises(error, match=f"^{sentence}"):
        quantize(x, "e4m3", dtype=dtype)


def test_a_generator_of_torch_draws_the_random_bits():
    torch = pytest.importorskip("torch", reason="PyTorch is an optional peer")
    x = torch.randn(4, 64, generator=torch.Generator().manual_seed(1))
    rules = {"rounding": "sr", "random_bits": 8}
    generator, again = (torch.Generator().manual_seed(2) for _ in range(2))
    drawn = torch.randint(256, (4, 64), generator=again, dtype=torch.int32).numpy()
    first = quantize(x, "e2m1", random=generator, **rules)
    same(first, quantize(x, "e2m1", random=drawn, **rules))
    assert quantize(x, "e2m1", random=generator, **rules) != first  # it goes on
