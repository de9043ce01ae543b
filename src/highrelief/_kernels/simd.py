"""Building blocks of vector code, emitted as LLVM instructions for the target machine.

LLVM vectorizes most loops well. The innermost ones need control over which values stay in registers, how
sixteen sums are reduced together, and the width of the vectors.
"""

import os

import llvmlite.binding as llvm
from llvmlite import ir
from numba import types
from numba.core import cgutils, config
from numba.core.codegen import get_host_cpu_features

from .intrinsics import COMPILED, intrinsic

_I32, _I64 = ir.IntType(32), ir.IntType(64)

#: Width of vectors in bits, 'auto' for that of the machine, or 'off' for LLVM's own vectorization.
SETTING = os.environ.get("HIGHRELIEF_VECTORS", "auto")
if SETTING not in ("auto", "512", "256", "128", "off"):
    raise ValueError(f"HIGHRELIEF_VECTORS={SETTING!r} must be one of 'auto', '512', '256', '128', 'off'.")
if not COMPILED:
    SETTING = "off"


def vector_bytes(cpu, features):
    """Return the width of vectors, in bytes, for a target as LLVM describes it."""
    if SETTING in ("512", "256", "128"):
        return int(SETTING) // 8
    # For a CPU with a name but no features, Numba assumes the features of the host.
    known = config.CPU_FEATURES is not None or cpu == llvm.get_host_cpu_name()
    if "+avx512f" in features and known:
        return 64
    return 32 if "+avx" in features else 16


def has_fused_multiply_add(triple, features):
    """Whether a·b + c, rounded once, is one instruction of the target."""
    return "+fma" in features or "+avx512f" in features or triple.startswith(("aarch64", "arm64", "ppc64"))


def target_features():
    """List the features of the target processor by LLVM's names."""
    if config.CPU_FEATURES is not None:
        return config.CPU_FEATURES.split(",")
    # Numba's list omits features that the user has disabled (NUMBA_ENABLE_AVX).
    return get_host_cpu_features().split(",")


def target_vector_bytes():
    """Return the width of integer vectors in bytes (64, 32 or 16); 0 if vectorization is left to LLVM."""
    if SETTING == "off":
        return 0
    features = target_features()
    width = vector_bytes(config.CPU_NAME or llvm.get_host_cpu_name(), features)
    # AVX-512F and AVX without BW and AVX2, respectively, have wide vectors for floats only.
    if width == 64 and "+avx512bw" not in features:
        width = 32
    return 16 if width == 32 and "+avx2" not in features else width


def row_pointer(builder, array, row, column):
    """Return a pointer to array[row, column] of a C-ordered array."""
    width = cgutils.unpack_tuple(builder, array.shape, 2)[1]
    return builder.gep(array.data, [builder.add(builder.mul(row, width), column)])


def element_type(dtype):
    """Return LLVM's type of a float32 or float64."""
    return ir.FloatType() if dtype == types.float32 else ir.DoubleType()


def _element_bytes(vector):
    if isinstance(vector.element, ir.IntType):
        return vector.element.width // 8
    return 4 if isinstance(vector.element, ir.FloatType) else 8


def load(builder, pointer, vector, at=None):
    """Load an unaligned vector from pointer[at:]."""
    if at is not None:
        pointer = builder.gep(pointer, [at])
    value = builder.load(builder.bitcast(pointer, vector.as_pointer()))
    value.align = _element_bytes(vector)
    return value


def store(builder, value, pointer):
    """Store an unaligned vector at the pointer."""
    stored = builder.store(value, builder.bitcast(pointer, value.type.as_pointer()))
    stored.align = _element_bytes(value.type)


def splat(builder, value, vector):
    """Broadcast a value to all lanes."""
    undefined = ir.Constant(vector, ir.Undefined)
    lanes = ir.Constant(ir.VectorType(_I32, vector.count), [0] * vector.count)
    return builder.shuffle_vector(builder.insert_element(undefined, value, _I32(0)), undefined, lanes)


def fused(builder, a, b, c):
    """Return a·b + c, rounded once if the target has a fused multiply-add."""
    vector = a.type
    if not has_fused_multiply_add(llvm.get_default_triple(), target_features()):
        return builder.fadd(builder.fmul(a, b), c)
    kind = "f32" if isinstance(vector.element, ir.FloatType) else "f64"
    function = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(vector, [vector] * 3), f"llvm.fma.v{vector.count}{kind}"
    )
    return builder.call(function, [a, b, c])


def joint_sums(builder, vectors):
    """Sum the lanes of each vector; return all sums as one vector, in order.

    Halves of two vectors are shuffled side by side and added, which combines them into one vector of two
    half-reduced ones; then the halves of those.
    """
    width = group = vectors[0].type.count
    while len(vectors) > 1 and group > 1:
        vectors = [
            _add_halves(builder, a, b, width, group) for a, b in zip(vectors[::2], vectors[1::2], strict=True)
        ]
        group //= 2
    while group > 1:
        vectors = [_add_halves(builder, v, None, v.type.count, group) for v in vectors]
        group //= 2
    joined = vectors[0]
    for more in vectors[1:]:
        n = joined.type.count + more.type.count
        joined = builder.shuffle_vector(joined, more, ir.Constant(ir.VectorType(_I32, n), list(range(n))))
    return joined


def _add_halves(builder, a, b, width, group):
    half = group // 2
    lower = [start + lane for start in range(0, width, group) for lane in range(half)]
    if b is not None:
        lower += [width + lane for lane in lower]
    shape = ir.VectorType(_I32, len(lower))
    other = a if b is None else b
    low = builder.shuffle_vector(a, other, ir.Constant(shape, lower))
    high = builder.shuffle_vector(a, other, ir.Constant(shape, [lane + half for lane in lower]))
    return builder.add(low, high)


@intrinsic
def at_most_bits(typing_context, D, row, column, threshold):
    """Return 64 bits; bit u is set if D[row, column + u] ≤ threshold, for a uint32 array."""
    signature = types.uint64(D, types.int64, types.int64, types.uint32)

    def emit(context, builder, signature, arguments):
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        vector = ir.VectorType(_I32, 64)
        values = load(builder, row_pointer(builder, array, arguments[1], arguments[2]), vector)
        limit = splat(builder, arguments[3], vector)
        return builder.bitcast(builder.icmp_unsigned("<=", values, limit), _I64)

    return signature, emit


@intrinsic
def count_bits(typing_context, bits):
    """Return the number of set bits."""

    def emit(context, builder, signature, arguments):
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), emit


@intrinsic
def lowest_bit(typing_context, bits):
    """Return the position of the lowest set bit; at least one must be set."""

    def emit(context, builder, signature, arguments):
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), emit


@intrinsic
def above_bits(typing_context, X, row, column, low, at):
    """Return 64 bits; bit u is set if X[row, column + u] > low[at + u]."""
    signature = types.uint64(X, types.int64, types.int64, low, types.int64)

    def emit(context, builder, signature, arguments):
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        bounds = context.make_array(signature.args[3])(context, builder, arguments[3])
        vector = ir.VectorType(element_type(signature.args[0].dtype), 64)
        values = load(builder, row_pointer(builder, array, arguments[1], arguments[2]), vector)
        limits = load(builder, bounds.data, vector, arguments[4])
        return builder.bitcast(builder.fcmp_ordered(">", values, limits), _I64)

    return signature, emit


@intrinsic
def nan_bits(typing_context, X, row, column):
    """Return 64 bits; bit u is set if X[row, column + u] is NaN."""
    signature = types.uint64(X, types.int64, types.int64)

    def emit(context, builder, signature, arguments):
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        vector = ir.VectorType(element_type(signature.args[0].dtype), 64)
        values = load(builder, row_pointer(builder, array, arguments[1], arguments[2]), vector)
        return builder.bitcast(builder.fcmp_unordered("uno", values, values), _I64)

    return signature, emit


@intrinsic
def prefetch(typing_context, array, place):
    """Prefetch the cache line at ``place`` of a flat array; the index may be out of bounds."""

    def emit(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        pointer = ir.IntType(8).as_pointer()
        prototype = ir.FunctionType(ir.VoidType(), [pointer, _I32, _I32, _I32])
        function = builder.module.declare_intrinsic("llvm.prefetch", [pointer], prototype)
        line = builder.bitcast(builder.gep(data, [arguments[1]]), pointer)
        builder.call(function, [line, _I32(0), _I32(3), _I32(1)])
        return context.get_dummy_value()

    return types.void(array, types.intp), emit
