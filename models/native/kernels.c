/* The inner loops of models/fast in C, as a Python module of the limited API. No result depends on the instruction
set. */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>
#include <float.h>
#include <stdint.h>
#include <string.h>

/* Products and sums must be rounded to binary32, once, and subnormal numbers kept. */
#if defined(__FAST_MATH__) || FLT_EVAL_METHOD != 0
#error "the module is left out: this compiler does not compute in binary32"
#endif

enum { SOURCE_FP32, SOURCE_BF16, SOURCE_FP16 };
enum { ROUND_RNE, ROUND_EVEN_CODE, ROUND_RNA, ROUND_RNZ, ROUND_RTZ, ROUND_SR };
enum { ZERO_SIGNED, ZERO_POSITIVE, ZERO_TAKEN_POSITIVE, ZERO_TAKEN_NEGATIVE, ZERO_OF_PRODUCT };
enum { MOST_ELEMENTS = 1024, GROUP = 2048 };
enum { TABLE, FLOATING, FIXED };

/* The rules of an encoder as numbers. */
struct encoding {
    int source, block_size, rounding, zero, is_fixed, flush_input, flush_element, random_bits;
    int divides; /* numbers are divided by factors, not multiplied */
    uint32_t man_bits;
    uint32_t lowest_field;    /* exponent field, in place, that the smallest numbers share */
    uint32_t smallest_normal; /* magnitude code */
    uint32_t sign_mask, mask;
    float limit; /* the largest element */
    float random_range;
    const uint8_t *scales;  /* the scale byte of each exponent field of the maximum, */
    const uint32_t *limits; /* and the fraction above which it is one more */
};

/* A decoder: two tables, and the format in numbers if ``kind`` is not TABLE. */
struct decoding {
    int kind, block_size, man_bits, sign_shift; /* from the sign of a code to the one of binary32 */
    uint32_t lowest_field;         /* exponent field, in place, of the smallest normal number, or of one step */
    uint32_t mask, first_special;  /* magnitude codes from the second on are Inf or NaN */
    const float *values, *factors; /* of each code and of each scale byte */
};

/* Sums over blocks, of squares and of elements, and the range of their largest magnitudes. */
struct errors {
    double signal[16], noise[16];
    int32_t saturated[16], flushed[16];
    float amax_min, amax_max;
};

/* The largest magnitude of a block in units of its scale is above the first, and its pattern below the second, or the
squares of the block may not be binary32. */
#define VANISHING 0x1p-40f
#define TOP 0x7F000000u

static inline uint32_t bits_of(float x)
{
    uint32_t u;
    memcpy(&u, &x, 4);
    return u;
}

static inline float number_of(uint32_t u)
{
    float x;
    memcpy(&x, &u, 4);
    return x;
}

/* 2 to the power of an exponent of normal binary64. */
static inline double wide_power(int exponent)
{
    const uint64_t u = (uint64_t)(exponent + 1023) << 52;
    double x;
    memcpy(&x, &u, 8);
    return x;
}

#define ALWAYS_INLINE inline __attribute__((always_inline))
#define JOIN_(a, b) a##_##b
#define JOIN(a, b) JOIN_(a, b)
#define NAME(function) JOIN(function, SUFFIX)

#define SUFFIX baseline
#define ISA
#if defined(__x86_64__)
#include <immintrin.h>
#define LANES 4
#endif
#include "blocks.h"
#undef SUFFIX
#undef ISA
#undef LANES

#if defined(__x86_64__)
#define SUFFIX avx2
#define ISA __attribute__((target("avx2")))
#define LANES 8
#include "blocks.h"
#undef SUFFIX
#undef ISA
#undef LANES
#define SUFFIX avx512
#if defined(__clang__) /* which ignores an attribute with an option that it does not know */
#define ISA __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#else
#define ISA __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")))
#endif
#define LANES 16
#include "blocks.h"
#undef SUFFIX
#undef ISA
#undef LANES
#endif

/* The kernels of one instruction set. */
struct kernels {
    const char *name;
    void (*encode)(const void *, const struct encoding *, size_t, const uint16_t *, uint8_t *, uint8_t *, uint8_t *);
    void (*maxima)(const void *, const struct encoding *, size_t, uint32_t *);
    void (*encode_under)(const void *, const float *, const struct encoding *, size_t, const uint16_t *, uint8_t *);
    void (*decode)(const uint8_t *, const uint8_t *, const struct decoding *, size_t, float *);
    void (*errors)(const uint32_t *, const uint8_t *, const uint8_t *, const struct decoding *, const float *, float,
                   size_t, uint8_t *, struct errors *);
};

static const struct kernels ALL[] = {
#if defined(__x86_64__)
    {"avx512", encode_avx512, maxima_avx512, encode_under_avx512, decode_avx512, errors_avx512},
    {"avx2", encode_avx2, maxima_avx2, encode_under_avx2, decode_avx2, errors_avx2},
#endif
    {"baseline", encode_baseline, maxima_baseline, encode_under_baseline, decode_baseline, errors_baseline},
};
enum { COUNT = sizeof ALL / sizeof ALL[0] };

static const struct kernels *chosen = &ALL[COUNT - 1];

static int is_supported(const char *name)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (!strcmp(name, "avx512"))
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    if (!strcmp(name, "avx2"))
        return __builtin_cpu_supports("avx2");
#endif
    (void)name;
    return 1;
}

PyDoc_STRVAR(choose_doc, "choose(most)\n--\n\nUse an instruction set, or the best one if ``most`` is None. Returns its "
                         "name.\n\nRaises ValueError if this processor lacks it.");

static PyObject *choose(PyObject *module, PyObject *arguments)
{
    const char *name;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "z", &name))
        return NULL;
    for (int i = 0; i < COUNT; i++)
        if ((!name || !strcmp(name, ALL[i].name)) && is_supported(ALL[i].name)) {
            chosen = &ALL[i];
            return PyUnicode_FromString(chosen->name);
        }
    return PyErr_Format(PyExc_ValueError, "this processor does not have the instruction set %s", name);
}

PyDoc_STRVAR(float_mode_doc, "float_mode()\n--\n\n0, or how this thread changes results: 1 if it flushes subnormal "
                             "numbers to zero, 2 if it does not round to nearest.");

static PyObject *float_mode(PyObject *module, PyObject *nothing)
{
    volatile float smallest = number_of(1), one = 1, step = 0x1p-23f;
    (void)module, (void)nothing;
    const float doubled = smallest * 2, half = one + step / 2, most = one + step * 0.75f;
    const int rounds = half == one && most == one + step;
    return PyLong_FromLong(bits_of(doubled) != 2 ? 1 : rounds ? 0 : 2);
}

static int fits(const Py_buffer *buffer, Py_ssize_t bytes, const char *name)
{
    if (buffer->obj && buffer->len != bytes)
        PyErr_Format(PyExc_ValueError, "%s must have %zd bytes, not %zd", name, bytes, buffer->len);
    return !buffer->obj || buffer->len == bytes;
}

static int has_size(int block_size)
{
    if (block_size >= 1 && block_size <= MOST_ELEMENTS)
        return 1;
    PyErr_Format(PyExc_ValueError, "blocks must have 1 to %d elements, not %d", MOST_ELEMENTS, block_size);
    return 0;
}

/* Rules from a tuple with the fields of struct encoding, for the converter "O&" of PyArg_ParseTuple. */
static int rules_of(PyObject *tuple, void *rules)
{
    struct encoding *e = rules;
    if (!PyArg_ParseTuple(tuple, "iiiiiiiiiIIIIIff", &e->source, &e->block_size, &e->rounding, &e->zero, &e->is_fixed,
                          &e->flush_input, &e->flush_element, &e->random_bits, &e->divides, &e->man_bits,
                          &e->lowest_field, &e->smallest_normal, &e->sign_mask, &e->mask, &e->limit, &e->random_range))
        return 0;
    return has_size(e->block_size);
}

static Py_ssize_t width_of(const struct encoding *e)
{
    return e->source == SOURCE_FP32 ? 4 : 2;
}

static void release(Py_buffer *const *buffers, int count)
{
    for (int i = 0; i < count; i++)
        if (buffers[i]->obj)
            PyBuffer_Release(buffers[i]);
}

PyDoc_STRVAR(encode_doc, "encode(rules, scale_bytes, limits, numbers, random, scales, codes, special)\n--\n\nEncode "
                         "whole blocks. Returns the number of blocks with NaN or Inf, which ``special`` marks.");

static PyObject *encode(PyObject *module, PyObject *arguments)
{
    struct encoding e;
    Py_buffer scale_bytes, limits, numbers, random, scales, codes, special;
    PyObject *result = NULL;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "O&y*y*y*z*w*w*w*", rules_of, &e, &scale_bytes, &limits, &numbers, &random,
                          &scales, &codes, &special))
        return NULL;
    const Py_ssize_t blocks = scales.len, elements = blocks * e.block_size;
    if (fits(&scale_bytes, 256, "scale_bytes") && fits(&limits, 1024, "limits") &&
        fits(&numbers, elements * width_of(&e), "numbers") && fits(&random, elements * 2, "random") &&
        fits(&codes, elements, "codes") && fits(&special, blocks, "special")) {
        Py_ssize_t count = 0;
        e.scales = scale_bytes.buf, e.limits = limits.buf;
        Py_BEGIN_ALLOW_THREADS
        chosen->encode(numbers.buf, &e, (size_t)blocks, random.buf, scales.buf, codes.buf, special.buf);
        for (Py_ssize_t i = 0; i < blocks; i++)
            count += ((const uint8_t *)special.buf)[i];
        Py_END_ALLOW_THREADS
        result = PyLong_FromSsize_t(count);
    }
    release((Py_buffer *const[]){&scale_bytes, &limits, &numbers, &random, &scales, &codes, &special}, 7);
    return result;
}

PyDoc_STRVAR(maxima_doc, "maxima(rules, numbers, maxima)\n--\n\nThe largest magnitude of each block, as a pattern of "
                         "FP32.");

static PyObject *maxima(PyObject *module, PyObject *arguments)
{
    struct encoding e;
    Py_buffer numbers, found;
    PyObject *result = NULL;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "O&y*w*", rules_of, &e, &numbers, &found))
        return NULL;
    const Py_ssize_t blocks = found.len / 4;
    if (fits(&numbers, blocks * e.block_size * width_of(&e), "numbers")) {
        Py_BEGIN_ALLOW_THREADS
        chosen->maxima(numbers.buf, &e, (size_t)blocks, found.buf);
        Py_END_ALLOW_THREADS
        result = Py_NewRef(Py_None);
    }
    release((Py_buffer *const[]){&numbers, &found}, 2);
    return result;
}

PyDoc_STRVAR(encode_under_doc, "encode_under(rules, factors, numbers, random, codes)\n--\n\nThe codes of whole blocks "
                               "under one factor for each. Numbers and products are not NaN.");

static PyObject *encode_under(PyObject *module, PyObject *arguments)
{
    struct encoding e;
    Py_buffer factors, numbers, random, codes;
    PyObject *result = NULL;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "O&y*y*z*w*", rules_of, &e, &factors, &numbers, &random, &codes))
        return NULL;
    const Py_ssize_t blocks = factors.len / 4, elements = blocks * e.block_size;
    if (fits(&numbers, elements * width_of(&e), "numbers") && fits(&random, elements * 2, "random") &&
        fits(&codes, elements, "codes")) {
        Py_BEGIN_ALLOW_THREADS
        chosen->encode_under(numbers.buf, factors.buf, &e, (size_t)blocks, random.buf, codes.buf);
        Py_END_ALLOW_THREADS
        result = Py_NewRef(Py_None);
    }
    release((Py_buffer *const[]){&factors, &numbers, &random, &codes}, 4);
    return result;
}

PyDoc_STRVAR(decode_doc, "decode(format, values, factors, scales, codes, y)\n--\n\nDecode whole blocks: the value of "
                         "each code times the factor of its block's scale byte, as float32.");

/* The format from a tuple with the fields of struct decoding, for the converter "O&" of PyArg_ParseTuple. */
static int format_of(PyObject *tuple, void *format)
{
    struct decoding *d = format;
    return PyArg_ParseTuple(tuple, "iiiiIII", &d->kind, &d->block_size, &d->man_bits, &d->sign_shift, &d->lowest_field,
                            &d->mask, &d->first_special);
}

static PyObject *decode(PyObject *module, PyObject *arguments)
{
    struct decoding d;
    Py_buffer values, factors, scales, codes, y;
    PyObject *result = NULL;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "O&y*y*y*y*w*", format_of, &d, &values, &factors, &scales, &codes, &y))
        return NULL;
    const Py_ssize_t blocks = scales.len, elements = blocks * d.block_size;
    if (fits(&values, 1024, "values") && fits(&factors, 1024, "factors") && fits(&codes, elements, "codes") &&
        fits(&y, elements * 4, "y")) {
        d.values = values.buf, d.factors = factors.buf;
        Py_BEGIN_ALLOW_THREADS
        chosen->decode(scales.buf, codes.buf, &d, (size_t)blocks, y.buf);
        Py_END_ALLOW_THREADS
        result = Py_NewRef(Py_None);
    }
    release((Py_buffer *const[]){&values, &factors, &scales, &codes, &y}, 5);
    return result;
}

PyDoc_STRVAR(errors_doc, "errors(format, values, numbers, scales, codes, reciprocals, largest, special)\n--\n\n"
                         "Errors of whole blocks of FP32 patterns, but for those that are marked as special: sums of "
                         "squares of numbers and errors, counts of saturated and flushed elements, and the smallest "
                         "and the largest of the largest magnitudes.");

static PyObject *errors(PyObject *module, PyObject *arguments)
{
    float largest;
    struct decoding d;
    struct errors sums = {.amax_min = (float)Py_HUGE_VAL};
    Py_buffer values, numbers, scales, codes, reciprocals, special;
    PyObject *result = NULL;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "O&y*y*y*y*y*fw*", format_of, &d, &values, &numbers, &scales, &codes, &reciprocals,
                          &largest, &special))
        return NULL;
    const Py_ssize_t blocks = scales.len, elements = blocks * d.block_size;
    if (has_size(d.block_size) && fits(&values, 1024, "values") && fits(&reciprocals, 1024, "reciprocals") && fits(&codes, elements, "codes") &&
        fits(&numbers, elements * 4, "numbers") && fits(&special, blocks, "special")) {
        d.values = values.buf;
        Py_BEGIN_ALLOW_THREADS
        chosen->errors(numbers.buf, scales.buf, codes.buf, &d, reciprocals.buf, largest, (size_t)blocks, special.buf,
                       &sums);
        Py_END_ALLOW_THREADS
        for (int width = 8; width; width /= 2)
            for (int i = 0; i < width; i++) {
                sums.signal[i] += sums.signal[i + width], sums.noise[i] += sums.noise[i + width];
                sums.saturated[i] += sums.saturated[i + width], sums.flushed[i] += sums.flushed[i + width];
            }
        result = Py_BuildValue("ddiiff", sums.signal[0], sums.noise[0], (int)sums.saturated[0], (int)sums.flushed[0],
                               sums.amax_min, sums.amax_max);
    }
    release((Py_buffer *const[]){&values, &numbers, &scales, &codes, &reciprocals, &special}, 6);
    return result;
}

PyDoc_STRVAR(look_up_doc, "look_up(table, patterns, results, rest)\n--\n\nThe result of each pattern in a table. Its "
                         "index is the pattern without the last ``rest`` bits, and a bit for whether one of these is "
                         "set; the whole pattern if ``rest`` is 0. An index beyond the table is the last one.");

#define LOOK_UP(in, out)                                                                                               \
    for (size_t i = 0; i < count; i++) {                                                                               \
        const uint64_t pattern = ((const in *)patterns.buf)[i], lost = pattern & (((uint64_t)1 << rest) - 1);          \
        const uint64_t place = rest ? (pattern >> rest << 1) | (lost != 0) : pattern;                                  \
        ((out *)results.buf)[i] = ((const out *)table.buf)[place < last ? place : last];                               \
    }
#define LOOK_UP_FROM(in)                                                                                               \
    if (results.itemsize == 1) {                                                                                       \
        LOOK_UP(in, uint8_t)                                                                                           \
    } else if (results.itemsize == 2) {                                                                                \
        LOOK_UP(in, uint16_t)                                                                                          \
    } else {                                                                                                           \
        LOOK_UP(in, uint32_t)                                                                                          \
    }

static PyObject *look_up(PyObject *module, PyObject *arguments)
{
    Py_buffer table, patterns, results;
    int rest;
    PyObject *result = NULL;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "y*y*w*i", &table, &patterns, &results, &rest))
        return NULL;
    const Py_ssize_t from = patterns.itemsize, to = results.itemsize;
    if (table.itemsize != to || table.len < to || (to != 1 && to != 2 && to != 4) ||
        (from != 1 && from != 2 && from != 4 && from != 8) || rest < 0 || rest >= 64)
        PyErr_SetString(PyExc_ValueError, "the table and the results must be of the same 8, 16 or 32 bits");
    else if (fits(&results, patterns.len / from * to, "results")) {
        const size_t count = (size_t)(patterns.len / from), last = (size_t)(table.len / to) - 1;
        Py_BEGIN_ALLOW_THREADS
        if (from == 1) {
            LOOK_UP_FROM(uint8_t)
        } else if (from == 2) {
            LOOK_UP_FROM(uint16_t)
        } else if (from == 4) {
            LOOK_UP_FROM(uint32_t)
        } else {
            LOOK_UP_FROM(uint64_t)
        }
        Py_END_ALLOW_THREADS
        result = Py_NewRef(Py_None);
    }
    release((Py_buffer *const[]){&table, &patterns, &results}, 3);
    return result;
}

static PyMethodDef METHODS[] = {{"choose", choose, METH_VARARGS, choose_doc},
                                {"float_mode", float_mode, METH_NOARGS, float_mode_doc},
                                {"encode", encode, METH_VARARGS, encode_doc},
                                {"maxima", maxima, METH_VARARGS, maxima_doc},
                                {"encode_under", encode_under, METH_VARARGS, encode_under_doc},
                                {"decode", decode, METH_VARARGS, decode_doc},
                                {"look_up", look_up, METH_VARARGS, look_up_doc},
                                {"errors", errors, METH_VARARGS, errors_doc},
                                {NULL, NULL, 0, NULL}};

/* What models/native/__init__.py expects: a change of a function or its arguments is a new number in both files. */
#define INTERFACE 1

static int fill(PyObject *module)
{
    return PyModule_AddIntConstant(module, "INTERFACE", INTERFACE);
}

static PyModuleDef_Slot SLOTS[] = {{Py_mod_exec, (void *)fill}, {0, NULL}};

static struct PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, "kernels", "The inner loops of models/fast.", 0, METHODS,
                                    SLOTS, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_kernels(void)
{
    return PyModuleDef_Init(&MODULE);
}
