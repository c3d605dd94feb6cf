#!/usr/bin/env python3
"""Writes data/cases.txt: graphs as UOp text with inputs and the outputs numpy computes for them.

Run with Debian's python3-numpy: /usr/bin/python3 tests/unit/reference/make_cases.py
A value is the hexadecimal of its little-endian bytes read as one number. bf16 is rounded here from f32 bits.
"""
import math
import pathlib
import warnings

import numpy as np

warnings.filterwarnings("ignore")
RNG = np.random.default_rng(20240607)
INTS = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"]
FLOATS = ["f16", "bf16", "f32", "f64"]
NUMPY = {"bool": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "u8": np.uint8, "u16": np.uint16,
         "u32": np.uint32, "u64": np.uint64, "f16": np.float16, "f32": np.float32, "f64": np.float64, "bf16": np.float32}
LINES = []


def round_bf16(x):
    bits = np.atleast_1d(np.asarray(x, np.float32)).view(np.uint32).astype(np.uint64)
    bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    return np.where(np.isnan(x), np.float32(np.nan), bits.astype(np.uint32).view(np.float32).reshape(np.shape(x)))


def to(dtype, x):
    """x in the dtype's numpy type, rounded."""
    x = np.asarray(x).astype(NUMPY[dtype])
    return round_bf16(x) if dtype == "bf16" else x


def bits(dtype, x):
    x = np.asarray(x, NUMPY[dtype])
    if dtype == "bf16":
        return (x.ravel().view(np.uint32) >> 16).tolist()
    return x.ravel().view({1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}[x.dtype.itemsize]).tolist()


def tensor(dtype, x):
    return f"{dtype} [{','.join(map(str, np.shape(x)))}] " + " ".join(f"{b:x}" for b in bits(dtype, x))


def dims(shape):
    return "".join(f" {n}:index" for n in shape)


def case(name, inputs, body, outputs):
    """inputs: [(dtype, array)]; body: lines that follow the buffers %0, %1, ...; outputs: (dtype, array)."""
    LINES.append(f"case {name}")
    for dtype, x in inputs:
        LINES.append("in " + tensor(dtype, x))
    LINES.append("out " + tensor(*outputs))
    for i, (dtype, x) in enumerate(inputs):
        LINES.append(f"%{i} = buffer {dtype}{dims(np.shape(x))} [kind=input id={i}]")
    LINES.extend(body)


def sample(dtype, shape, low=-100, high=100):
    if dtype == "bool":
        return RNG.integers(0, 2, shape).astype(np.bool_)
    if dtype in INTS:
        info = np.iinfo(NUMPY[dtype])
        return RNG.integers(max(info.min, low), min(info.max, high), shape, endpoint=True).astype(NUMPY[dtype])
    return to(dtype, RNG.normal(0, 2, shape))


def edge_ints(dtype):
    info = np.iinfo(NUMPY[dtype])
    return np.array([info.min, info.max, 0, 1, info.max - 1, 7, info.max // 3], NUMPY[dtype])


EDGE = np.array([0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan, 0.5, 2.5, -3.5])


def elementwise():
    erf = np.vectorize(math.erf)
    # numpy's own f64 sine and cosine are several steps off; libm's are not.
    sin = np.vectorize(lambda v: math.sin(v) if math.isfinite(v) else math.nan)
    cos = np.vectorize(lambda v: math.cos(v) if math.isfinite(v) else math.nan)
    unary = {"neg": np.negative, "recip": lambda x: 1 / x, "sqrt": np.sqrt, "exp": np.exp, "log": np.log, "sin": sin, "cos": cos,
             "tanh": np.tanh, "erf": erf, "abs": np.abs, "floor": np.floor, "ceil": np.ceil, "round": np.rint, "trunc": np.trunc,
             "sigmoid": lambda x: 1 / (1 + np.exp(-x))}
    binary = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "max": np.maximum, "min": np.minimum}
    for dtype in FLOATS:
        x = to(dtype, np.concatenate([EDGE, RNG.normal(0, 3, 6)]))
        y = to(dtype, np.concatenate([EDGE[::-1], RNG.normal(0, 3, 6)]))
        n = len(x)
        for op, f in unary.items():
            case(f"{op}_{dtype}", [(dtype, x)], [f"%1 = {op} {dtype} %0"], (dtype, to(dtype, f(x.astype(np.float64)))))
        for op, f in binary.items():
            wide = f(x.astype(np.float64), y.astype(np.float64))
            case(f"{op}_{dtype}", [(dtype, x), (dtype, y)], [f"%2 = {op} {dtype} %0 %1"], (dtype, to(dtype, wide)))
        base = to(dtype, np.abs(RNG.normal(1, 1, n)) + 0.25)
        case(f"pow_{dtype}", [(dtype, base), (dtype, x)], [f"%2 = pow {dtype} %0 %1"],
             (dtype, to(dtype, np.power(base.astype(np.float64), x.astype(np.float64)))))
        for op, f in {"lt": np.less, "le": np.less_equal, "eq": np.equal, "ne": np.not_equal}.items():
            case(f"{op}_{dtype}", [(dtype, x), (dtype, y)], [f"%2 = {op} bool %0 %1"], ("bool", f(x, y)))
        pick = sample("bool", n)
        case(f"where_{dtype}", [("bool", pick), (dtype, x), (dtype, y)], [f"%3 = where {dtype} %0 %1 %2"], (dtype, np.where(pick, x, y)))
    for dtype in INTS:
        edges = edge_ints(dtype)
        x = np.concatenate([edges, sample(dtype, 5)])
        y = np.concatenate([edges[::-1], sample(dtype, 5)])
        d = np.where(y == 0, 3, y).astype(NUMPY[dtype])
        if dtype[0] == "i":  # numpy leaves min / -1 open
            d = np.where((d == -1), 5, d).astype(NUMPY[dtype])
        shift = RNG.integers(0, NUMPY[dtype]().itemsize * 8, len(x)).astype(NUMPY[dtype])
        for op, f in {"neg": lambda v: (0 - v).astype(v.dtype), "abs": np.abs, "not": np.invert}.items():
            case(f"{op}_{dtype}", [(dtype, x)], [f"%1 = {op} {dtype} %0"], (dtype, f(x)))
        table = {"add": (np.add, y), "sub": (np.subtract, y), "mul": (np.multiply, y), "max": (np.maximum, y), "min": (np.minimum, y),
                 "and": (np.bitwise_and, y), "or": (np.bitwise_or, y), "xor": (np.bitwise_xor, y), "floordiv": (np.floor_divide, d),
                 "floormod": (np.remainder, d), "truncmod": (np.fmod, d), "shl": (np.left_shift, shift), "shr": (np.right_shift, shift)}
        for op, (f, other) in table.items():
            case(f"{op}_{dtype}", [(dtype, x), (dtype, other)], [f"%2 = {op} {dtype} %0 %1"], (dtype, f(x, other)))
        quotient = np.array([int(abs(int(a)) // abs(int(b))) * (1 if (a < 0) == (b < 0) else -1) for a, b in zip(x, d)])
        case(f"truncdiv_{dtype}", [(dtype, x), (dtype, d)], [f"%2 = truncdiv {dtype} %0 %1"], (dtype, quotient.astype(NUMPY[dtype])))
        for op, f in {"lt": np.less, "le": np.less_equal, "eq": np.equal, "ne": np.not_equal}.items():
            case(f"{op}_{dtype}", [(dtype, x), (dtype, y)], [f"%2 = {op} bool %0 %1"], ("bool", f(x, y)))
    a, b = np.array([0, 0, 1, 1], np.bool_), np.array([0, 1, 0, 1], np.bool_)
    for op, f in {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor, "max": np.logical_or, "min": np.logical_and,
                  "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal}.items():
        case(f"{op}_bool", [("bool", a), ("bool", b)], [f"%2 = {op} bool %0 %1"], ("bool", f(a, b)))
    case("not_bool", [("bool", a)], ["%1 = not bool %0"], ("bool", ~a))


def casts():
    every = ["bool"] + INTS + FLOATS
    for source in every:
        for target in every:
            if source == target:
                continue
            x = sample(source, 6, 0, 100) if source in INTS or source == "bool" else to(source, np.array([0, 1, 2.5, 99.75, 7, 0.25]))
            case(f"cast_{source}_{target}", [(source, x)], [f"%1 = cast {target} %0"], (target, to(target, x)))
    for source, target in [("f32", "i32"), ("i32", "f32"), ("f64", "u64"), ("f16", "i16"), ("u8", "i8")]:
        x = sample(source, 5)
        case(f"bitcast_{source}_{target}", [(source, x)], [f"%1 = bitcast {target} %0"], (target, x.view(NUMPY[target])))


def movement():
    for dtype in ["i32", "f16", "bool"]:
        x = sample(dtype, (2, 3, 4))
        i = [(dtype, x)]
        case(f"reshape_{dtype}", i, [f"%1 = reshape {dtype} %0 6:index 4:index"], (dtype, x.reshape(6, 4)))
        case(f"permute_{dtype}", i, [f"%1 = permute {dtype} %0 [axes=2,0,1]"], (dtype, x.transpose(2, 0, 1)))
        case(f"flip_{dtype}", i, [f"%1 = flip {dtype} %0 [axes=0,2]"], (dtype, np.flip(x, (0, 2))))
        case(f"shrink_{dtype}", i, [f"%1 = shrink {dtype} %0 0:index 1:index 2:index 1:index 3:index 4:index"], (dtype, x[0:1, 1:3, 2:4]))
        fill, text = {"i32": (7, "7:i32"), "f16": (-0.5, "-0.5:f16"), "bool": (True, "true:bool")}[dtype]
        case(f"pad_{dtype}", i, [f"%1 = pad {dtype} %0 {text} 1:index 0:index 2:index 0:index 1:index 0:index"],
             (dtype, np.pad(x, ((1, 0), (0, 1), (2, 0)), constant_values=fill)))
        y = sample(dtype, (2, 1, 4))
        case(f"expand_{dtype}", [(dtype, y)], [f"%1 = expand {dtype} %0 2:index 5:index 4:index"],
             (dtype, np.broadcast_to(y, (2, 5, 4))))
        case(f"cat_{dtype}", i + [(dtype, y)], [f"%2 = cat {dtype} %0 %1 %0 [axes=1]"], (dtype, np.concatenate([x, y, x], 1)))
        case(f"contiguous_{dtype}", i, [f"%1 = contiguous {dtype} %0"], (dtype, x))
    x = sample("i32", (2, 11))
    windows = np.stack([x[:, s * 3:s * 3 + 5:2] for s in range(3)], 1)  # size 3, step 3, dilation 2
    case("unfold", [("i32", x)], ["%1 = unfold i32 %0 3:index 3:index 2:index [axes=1]"], ("i32", windows))
    for dtype in ["i64", "f32", "u8"]:
        grid = np.broadcast_to(np.arange(3)[:, None], (3, 2))
        LINES.extend([f"case iota_{dtype}", "out " + tensor(dtype, to(dtype, grid)), f"%0 = iota {dtype} 3:index 2:index [axes=0]"])
    empty = np.zeros((2, 0, 3), np.float32)
    case("cat_empty", [("f32", empty), ("f32", np.ones((2, 1, 3), np.float32))], ["%2 = cat f32 %0 %1 [axes=1]"],
         ("f32", np.ones((2, 1, 3))))
    case("sum_empty", [("f32", empty)], ["%1 = reduce_axis f32 %0 [sum axes=1]"], ("f32", np.zeros((2, 1, 3))))
    case("max_empty", [("i8", empty.astype(np.int8))], ["%1 = reduce_axis i8 %0 [max axes=1]"], ("i8", np.full((2, 1, 3), -128)))
    case("min_empty", [("f32", empty)], ["%1 = reduce_axis f32 %0 [min axes=1]"], ("f32", np.full((2, 1, 3), np.inf)))
    case("prod_empty", [("u16", empty.astype(np.uint16))], ["%1 = reduce_axis u16 %0 [prod axes=0,1]"], ("u16", np.ones((1, 1, 3))))


def reductions():
    for dtype in INTS + FLOATS:
        x = sample(dtype, (3, 4, 5), -9, 9)
        wide = x.astype(np.float64) if dtype in FLOATS else x
        for name, f in {"sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min}.items():
            for axes in [(1,), (0, 2)]:
                kwargs = {"dtype": wide.dtype} if name in ("sum", "prod") else {}
                result = f(wide, axis=axes, keepdims=True, **kwargs)
                case(f"{name}_{dtype}_{len(axes)}", [(dtype, x)], [f"%1 = reduce_axis {dtype} %0 [{name} axes={','.join(map(str, axes))}]"],
                     (dtype, to(dtype, result)))
        a, b = sample(dtype, (2, 3, 4), -9, 9), sample(dtype, (2, 4, 2), -9, 9)
        wide = np.float64 if dtype in FLOATS else NUMPY[dtype]
        case(f"matmul_{dtype}", [(dtype, a), (dtype, b)], [f"%2 = matmul {dtype} %0 %1"],
             (dtype, to(dtype, np.matmul(a.astype(wide), b.astype(wide)))))
    x = sample("bool", (3, 4))
    case("any", [("bool", x)], ["%1 = reduce_axis bool %0 [max axes=1]"], ("bool", x.any(1, keepdims=True)))
    case("all", [("bool", x)], ["%1 = reduce_axis bool %0 [min axes=1]"], ("bool", x.all(1, keepdims=True)))


def gathers():
    for index in ["i8", "i64", "u32"]:
        x = sample("f32", (3, 5, 2))
        values = [0, 4, 2, 100] if index[0] == "u" else [-1, -5, -6, 100]
        i = np.array(values, NUMPY[index]).reshape(2, 2)
        real = np.clip(np.where((i.astype(np.int64) < 0) & (i.astype(np.int64) >= -5), i.astype(np.int64) + 5, i.astype(np.int64)), 0, 4)
        case(f"gather_{index}", [("f32", x), (index, i)], ["%2 = gather f32 %0 %1 [axes=1]"], ("f32", np.take(x, real, 1)))
    x = sample("i16", (4,))
    case("gather_scalar", [("i16", x), ("i32", np.array(-2, np.int32))], ["%2 = gather i16 %0 %1 [axes=0]"], ("i16", x[-2]))


elementwise()
casts()
movement()
reductions()
gathers()
path = pathlib.Path(__file__).parent / "data" / "cases.txt"
path.write_text("\n".join(LINES) + "\n")
print(f"{sum(line.startswith('case ') for line in LINES)} cases, {path.stat().st_size} bytes")
