"""POINTWISE ops: mpmath 60 digits, fractions, and the special values of C11 Annex F and IEEE 754."""
import math
from fractions import Fraction as F

import mpmath
from mpmath import mpf

from common import FLOATS, FORMATS, INF, INTEGERS, NAN, Tensor, case, exact, rounded, saturated

PLAIN = [-2.75, -1, -0.375, 0.3, 0.5, 1.25, 3.5, 9]
POSITIVE = [0.0078125, 0.3, 0.5, 1, 1.75, 2.5, 9, 100]
UNIT = [-1, -0.75, -0.3, 0, 0.125, 0.6, 0.9375]


def m(x):
    return mpf(x.numerator) / mpf(x.denominator)


def norm_cdf(x):
    return mpmath.erfc(-x / mpmath.sqrt(2)) / 2


def sigmoid(x):
    return 1 / (1 + mpmath.exp(-x))


def softplus(x):
    return mpmath.log1p(mpmath.exp(x))


def clamp(x, low, high):
    return min(max(x, low), high)


def elu(x, alpha):
    return alpha * mpmath.expm1(x) if x < 0 else x


GELU_C = mpf("0.044715")
D = F  # defaults of attributes are doubles
SLOPE = D(0.01)
# Klambauer et al., Self-Normalizing Neural Networks, in f32 as ONNX has them.
SELU_A, SELU_G = (D(rounded(D(c), "f32")) for c in ("1.6732632423543772848170429916717", "1.0507009873554804934193349852946"))
HARD_A, HARD_B = D(0.2), D(0.5)

# op: function of an mpf, and where it is tried
FUNCTIONS = {
    "sqrt": (mpmath.sqrt, POSITIVE), "rsqrt": (lambda x: 1 / mpmath.sqrt(x), POSITIVE),
    "exp": (mpmath.exp, PLAIN), "expm1": (mpmath.expm1, PLAIN + [1e-5]), "log": (mpmath.log, POSITIVE),
    "log1p": (mpmath.log1p, POSITIVE + [-0.5, 1e-5]), "sin": (mpmath.sin, PLAIN), "cos": (mpmath.cos, PLAIN),
    "tan": (mpmath.tan, PLAIN), "asin": (mpmath.asin, UNIT), "acos": (mpmath.acos, UNIT), "atan": (mpmath.atan, PLAIN),
    "sinh": (mpmath.sinh, PLAIN), "cosh": (mpmath.cosh, PLAIN), "tanh": (mpmath.tanh, PLAIN),
    "asinh": (mpmath.asinh, PLAIN), "acosh": (mpmath.acosh, [1, 1.25, 2, 3.5, 9, 100]),
    "atanh": (mpmath.atanh, UNIT[1:]), "erf": (mpmath.erf, PLAIN), "sigmoid": (sigmoid, PLAIN),
    "softplus": (softplus, PLAIN), "mish": (lambda x: x * mpmath.tanh(softplus(x)), PLAIN),
    "silu": (lambda x: x * sigmoid(x), PLAIN), "gelu": (lambda x: x * norm_cdf(x), PLAIN[1:]),
    "gelu_tanh": (lambda x: x / 2 * (1 + mpmath.tanh(mpmath.sqrt(2 / mpmath.pi) * (x + GELU_C * x**3))), PLAIN[1:]),
    "elu": (lambda x: elu(x, 1), PLAIN),
    "selu": (lambda x: m(SELU_G) * elu(x, m(SELU_A)), PLAIN),
    "celu": (lambda x: elu(x, 1), PLAIN),
}
WITH_ATTRIBUTES = [
    ("elu", {"alpha": 0.5}, lambda x: elu(x, mpf(0.5))), ("celu", {"alpha": 2.0}, lambda x: 2 * mpmath.expm1(x / 2) if x < 0 else x),
    ("selu", {"alpha": 1.5, "gamma": 0.5}, lambda x: elu(x, mpf(1.5)) / 2),
]

# op: exact function of a Fraction
EXACT = {
    "identity": lambda x: x, "neg": lambda x: -x, "abs": abs, "sign": lambda x: F((x > 0) - (x < 0)),
    "reciprocal": lambda x: 1 / x, "floor": lambda x: F(math.floor(x)),
    "ceil": lambda x: F(math.ceil(x)) or (-0.0 if x < 0 else F(0)), "round": lambda x: F(round(x)) or (-0.0 if x < 0 else F(0)),
    "relu": lambda x: max(x, F(0)), "leaky_relu": lambda x: x if x >= 0 else SLOPE * x,
    "softsign": lambda x: x / (1 + abs(x)), "hard_sigmoid": lambda x: clamp(HARD_A * x + HARD_B, F(0), F(1)),
    "hard_swish": lambda x: x * clamp(x + 3, F(0), F(6)) / 6,
    "thresholded_relu": lambda x: x if x > 1 else F(0), "shrink": lambda x: x if abs(x) > F(1, 2) else F(0),
}
EXACT_WITH_ATTRIBUTES = [
    ("leaky_relu", {"slope": 0.25}, lambda x: x if x >= 0 else x / 4),
    ("hard_sigmoid", {"alpha": 0.25, "beta": 0.125}, lambda x: clamp(x / 4 + F(1, 8), F(0), F(1))),
    ("thresholded_relu", {"alpha": 0.25}, lambda x: x if x > F(1, 4) else F(0)),
    ("shrink", {"lambda": 1.0, "bias": 0.25}, lambda x: x + F(1, 4) if x < -1 else x - F(1, 4) if x > 1 else F(0)),
]
ROUNDING = [-2.5, -1.5, -0.75, 0.5, 1.5, 2.5, 3.25, 1000.5]

# C11 Annex F, IEEE 754: operand, result
SPECIAL = {
    "neg": [(INF, -INF), (0.0, -0.0), (NAN, NAN)], "abs": [(-INF, INF), (-0.0, 0.0), (NAN, NAN)],
    "sign": [(INF, 1.0), (-0.0, -0.0), (NAN, NAN)], "reciprocal": [(INF, 0.0), (-INF, -0.0), (0.0, INF), (-0.0, -INF), (NAN, NAN)],
    "floor": [(-0.0, -0.0), (INF, INF), (NAN, NAN)], "ceil": [(-0.5, -0.0), (-INF, -INF), (NAN, NAN)], "round": [(-0.5, -0.0), (0.5, 0.0), (INF, INF), (NAN, NAN)],
    "sqrt": [(-0.0, -0.0), (INF, INF), (-1.0, NAN), (NAN, NAN)], "rsqrt": [(0.0, INF), (-0.0, -INF), (INF, 0.0), (-1.0, NAN), (NAN, NAN)],
    "exp": [(0.0, 1.0), (-INF, 0.0), (INF, INF), (NAN, NAN)], "expm1": [(-0.0, -0.0), (-INF, -1.0), (INF, INF), (NAN, NAN)],
    "log": [(1.0, 0.0), (0.0, -INF), (-0.0, -INF), (-1.0, NAN), (INF, INF), (NAN, NAN)],
    "log1p": [(-0.0, -0.0), (-1.0, -INF), (-2.0, NAN), (INF, INF), (NAN, NAN)],
    "sin": [(-0.0, -0.0), (INF, NAN), (NAN, NAN)], "cos": [(0.0, 1.0), (INF, NAN), (NAN, NAN)], "tan": [(-0.0, -0.0), (-INF, NAN), (NAN, NAN)],
    "asin": [(-0.0, -0.0), (2.0, NAN), (NAN, NAN)], "acos": [(1.0, 0.0), (2.0, NAN), (NAN, NAN)], "atan": [(-0.0, -0.0), (NAN, NAN)],
    "sinh": [(-0.0, -0.0), (-INF, -INF), (NAN, NAN)], "cosh": [(0.0, 1.0), (-INF, INF), (NAN, NAN)], "tanh": [(-0.0, -0.0), (-INF, -1.0), (INF, 1.0), (NAN, NAN)],
    "asinh": [(-0.0, -0.0), (-INF, -INF), (NAN, NAN)], "acosh": [(1.0, 0.0), (0.5, NAN), (INF, INF), (NAN, NAN)],
    "atanh": [(-0.0, -0.0), (1.0, INF), (-1.0, -INF), (2.0, NAN), (NAN, NAN)], "erf": [(-0.0, -0.0), (-INF, -1.0), (INF, 1.0), (NAN, NAN)],
    "sigmoid": [(0.0, 0.5), (-INF, 0.0), (INF, 1.0), (NAN, NAN)], "relu": [(-0.0, 0.0), (-INF, 0.0), (INF, INF), (NAN, NAN)],
    "leaky_relu": [(-INF, -INF), (INF, INF), (NAN, NAN)], "elu": [(-INF, -1.0), (INF, INF), (NAN, NAN)], "celu": [(-INF, -1.0), (INF, INF), (NAN, NAN)],
    "softplus": [(-INF, 0.0), (INF, INF), (NAN, NAN)], "thresholded_relu": [(-INF, 0.0), (INF, INF), (NAN, NAN)],
    "hard_sigmoid": [(-INF, 0.0), (INF, 1.0), (NAN, NAN)], "shrink": [(-INF, -INF), (INF, INF), (NAN, NAN)], "identity": [(-0.0, -0.0), (INF, INF), (NAN, NAN)],
    "gelu": [(0.0, 0.0), (INF, INF), (NAN, NAN)], "silu": [(0.0, 0.0), (INF, INF), (NAN, NAN)], "mish": [(0.0, 0.0), (INF, INF), (NAN, NAN)],
    "gelu_tanh": [(0.0, 0.0), (INF, INF), (NAN, NAN)], "selu": [(0.0, 0.0), (INF, INF), (NAN, NAN)], "softsign": [(0.0, 0.0), (NAN, NAN)], "hard_swish": [(INF, INF), (NAN, NAN)],
}


def of_type(kind, values):
    return Tensor(kind, (len(values),), values)


def mapped(op, kind, values, function, attributes=None, result=None):
    x = of_type(kind, values)
    y = of_type(result or kind, [function(exact(v)) for v in x.elements])
    return case(op, attributes or {}, [x], [y])


def unary():
    out = []
    for op, (function, values) in FUNCTIONS.items():
        for kind in FLOATS:
            out.append(mapped(op, kind, values, lambda x, f=function: f(m(x))))
    for op, attributes, function in WITH_ATTRIBUTES:
        out.append(mapped(op, "f32", PLAIN, lambda x, f=function: f(m(x)), attributes))
    for op, function in EXACT.items():
        for kind in FLOATS:
            out.append(mapped(op, kind, ROUNDING if op in ("floor", "ceil", "round") else PLAIN, function))
    for op, attributes, function in EXACT_WITH_ATTRIBUTES:
        out.append(mapped(op, "f32", PLAIN, function, attributes))
    for op, pairs in SPECIAL.items():
        for kind in ("f32", "f64"):
            out.append(case(op, {}, [of_type(kind, [a for a, _ in pairs])], [of_type(kind, [b for _, b in pairs])]))
    for kind in ("i8", "i64", "u8"):
        values = [0, 1, 5, 100, 2**INTEGERS[kind][0] - 1, 2 ** (INTEGERS[kind][0] - 1)]
        x = of_type(kind, values)
        for op, function in (("neg", lambda v: -v), ("abs", abs), ("sign", lambda v: (v > 0) - (v < 0)), ("relu", lambda v: max(v, 0)), ("bit_not", lambda v: ~v), ("identity", lambda v: v)):
            out.append(case(op, {}, [x], [of_type(kind, [function(v) for v in x.elements])]))
    for kind in ("u16", "i32"):
        out.append(case("bit_not", {}, [of_type(kind, [0, 1, 255, 256])], [of_type(kind, [~0, ~1, ~255, ~256])]))
    for values in ([0], [1], [0, 1], [1, 1, 0], [0, 0, 1, 1]):
        flipped = of_type("bool", [1 - v for v in values])
        out += [case(op, {}, [of_type("bool", values)], [flipped]) for op in ("logical_not", "bit_not")]
    for kind in FLOATS:
        edges = of_type(kind, [NAN, INF, -INF, 0.0, -0.0, 1.5, -2.0])
        out.append(case("is_nan", {}, [edges], [of_type("bool", [1, 0, 0, 0, 0, 0, 0])]))
        out.append(case("is_inf", {}, [edges], [of_type("bool", [0, 1, 1, 0, 0, 0, 0])]))
        out.append(case("is_inf", {"negative": 0.0}, [edges], [of_type("bool", [0, 1, 0, 0, 0, 0, 0])]))
    out.append(case("is_nan", {}, [Tensor("f32", (), [NAN])], [Tensor("bool", (), [1])]))
    return out


def casts():
    out = []
    values = [-300.75, -2.5, -0.5, 0, 0.5, 1.5, 2.5, 127.5, 300.25, 70000, 1e19, -1e19, NAN, INF, -INF]
    for kind in FLOATS:
        x = of_type(kind, [rounded(v, kind) for v in values])
        for to in list(INTEGERS) + list(FORMATS) + ["bool"]:
            if to in INTEGERS:
                y = [saturated(exact(v), to) for v in x.elements]
            else:
                y = [(v != v or v != 0) if to == "bool" else v for v in x.elements]
            out.append(case("cast", {"to": TYPE_IDS[to]}, [x], [of_type(to, y)]))
    for kind, numbers in (("i64", [-(2**63), -(2**53) - 1, -1, 0, 1, 300, 2**24 + 1, 2**31, 2**53 + 1, 2**63 - 1]), ("u8", [0, 1, 127, 128, 255]), ("u64", [0, 1, 2**63, 2**64 - 1, 2**40 + 3])):
        x = of_type(kind, numbers)
        for to in list(INTEGERS) + list(FORMATS) + ["bool"]:
            out.append(case("cast", {"to": TYPE_IDS[to]}, [x], [of_type(to, x.elements)]))
    return out


TYPE_IDS = {name: i + 1 for i, name in enumerate(["f64", "f32", "f16", "bf16", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "bool"])}


def truncated(a, b):
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def c_remainder(a, b):
    return a - b * truncated(a, b)


def int_power(a, b):
    if b >= 0:
        return a**b
    return {1: 1, -1: -1 if b % 2 else 1}.get(a, 0)


BINARY = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b,
    "mod": lambda a, b: a - b * math.floor(a / b), "fmod": c_remainder, "max": max, "min": min,
    "prelu": lambda a, b: a * b if a < 0 else a,
}
BINARY_INT = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: truncated(a, b) if b else 0,
    "mod": lambda a, b: a % b if b else 0, "fmod": lambda a, b: c_remainder(a, b) if b else 0, "max": max, "min": min,
    "prelu": lambda a, b: a * b if a < 0 else a, "pow": int_power, "bit_and": lambda a, b: a & b, "bit_or": lambda a, b: a | b, "bit_xor": lambda a, b: a ^ b,
}
COMPARE = {
    "less": lambda a, b: a < b, "less_equal": lambda a, b: a <= b, "greater": lambda a, b: a > b,
    "greater_equal": lambda a, b: a >= b, "equal": lambda a, b: a == b, "not_equal": lambda a, b: a != b,
}
BINARY_SPECIAL = {
    "add": [(INF, -INF, NAN), (-0.0, -0.0, -0.0), (0.0, -0.0, 0.0), (INF, 1.0, INF)],
    "sub": [(INF, INF, NAN), (-0.0, 0.0, -0.0), (0.0, 0.0, 0.0)], "mul": [(INF, 0.0, NAN), (-1.0, 0.0, -0.0), (-INF, -2.0, INF)],
    "div": [(1.0, 0.0, INF), (-1.0, 0.0, -INF), (0.0, 0.0, NAN), (INF, INF, NAN), (1.0, -INF, -0.0)],
    "fmod": [(INF, 1.0, NAN), (1.0, 0.0, NAN), (1.5, INF, 1.5)], "max": [(NAN, 1.0, NAN), (1.0, NAN, NAN), (INF, 1.0, INF)], "min": [(NAN, 1.0, NAN), (1.0, NAN, NAN), (-INF, 1.0, -INF)],
    "pow": [(0.0, 0.0, 1.0), (NAN, 0.0, 1.0), (1.0, NAN, 1.0), (-8.0, 1.0 / 3, NAN), (0.0, -1.0, INF), (-0.0, -1.0, -INF), (2.0, INF, INF), (0.5, INF, 0.0), (-2.0, 3.0, -8.0), (-2.0, -1.0, -0.5)],
}
PAIRS = [(-2.75, 0.5), (-1, -3), (0.375, 1.25), (7.5, -2), (100, 3), (0.3, 0.7), (-6, 4), (5, 5)]


def binary():
    out = []
    for op, function in BINARY.items():
        for kind in FLOATS:
            a, b = of_type(kind, [p for p, _ in PAIRS]), of_type(kind, [q for _, q in PAIRS])
            pairs = [(exact(p), exact(q)) for p, q in zip(a.elements, b.elements)]
            out.append(case(op, {}, [a, b], [of_type(kind, [function(p, q) for p, q in pairs])]))
    for op, function in BINARY_INT.items():
        for kind in INTEGERS:
            bits, signed = INTEGERS[kind]
            edge = [0, 1, 2, 3, 7, 2 ** (bits - 1) - 1, 2 ** (bits - 1), 2**bits - 1]
            grid = [(rounded(p, kind), rounded(q, kind)) for p in edge for q in edge if op != "pow" or rounded(q, kind) in (-2, -1, 0, 1, 2, 3, 7)]
            a, b = of_type(kind, [p for p, _ in grid]), of_type(kind, [q for _, q in grid])
            out.append(case(op, {}, [a, b], [of_type(kind, [function(p, q) for p, q in grid])]))
    for kind in FLOATS:
        a, b = of_type(kind, POSITIVE), of_type(kind, [2, -1.5, 0.5, 7, 3, -0.25, 1.5, 0.75])
        powers = [m(exact(p)) ** m(exact(q)) for p, q in zip(a.elements, b.elements)]
        out.append(case("pow", {}, [a, b], [of_type(kind, powers)]))
    for op, rows in BINARY_SPECIAL.items():
        out.append(case(op, {}, [of_type("f64", [r[0] for r in rows]), of_type("f64", [r[1] for r in rows])], [of_type("f64", [r[2] for r in rows])]))
    for op, function in COMPARE.items():
        for kind in ("f64", "f32", "bf16", "i8", "u64", "bool"):
            values = [NAN, -INF, -1.5, -0.0, 0.0, 2.0, INF] if kind in FORMATS else [0, 1] if kind == "bool" else [0, 1, 2, 127, 128, 2 ** INTEGERS[kind][0] - 1]
            grid = [(p, q) for p in of_type(kind, values).elements for q in of_type(kind, values).elements]
            out.append(case(op, {}, [of_type(kind, [p for p, _ in grid]), of_type(kind, [q for _, q in grid])], [of_type("bool", [function(p, q) for p, q in grid])]))
    for kind in ("u8", "u16", "u32", "u64"):
        bits = INTEGERS[kind][0]
        grid = [(p, q) for p in (1, 3, 2**bits - 1, 2 ** (bits - 1) + 5) for q in (0, 1, bits - 1, bits, bits + 1, 2**bits - 1)]
        a, b = of_type(kind, [p for p, _ in grid]), of_type(kind, [q for _, q in grid])
        out.append(case("shift_left", {}, [a, b], [of_type(kind, [p << q if q < bits else 0 for p, q in grid])]))
        out.append(case("shift_right", {}, [a, b], [of_type(kind, [p >> q if q < bits else 0 for p, q in grid])]))
    for shape_a, shape_b in (((2, 1), (1, 3)), ((3,), (2, 3))):
        a, b = Tensor("u8", shape_a, range(8, 8 + math.prod(shape_a))), Tensor("u8", shape_b, range(math.prod(shape_b)))
        both = [(a.at([i if n > 1 else 0 for i, n in zip((r, c)[2 - len(a.shape):], a.shape)]), b.at([i if n > 1 else 0 for i, n in zip((r, c)[2 - len(b.shape):], b.shape)])) for r in range(2) for c in range(3)]
        for op, function in (("shift_left", lambda p, q: p << q), ("shift_right", lambda p, q: p >> q), ("add", lambda p, q: p + q), ("sub", lambda p, q: p - q)):
            out.append(case(op, {}, [a, b], [Tensor("u8", (2, 3), [function(p, q) for p, q in both])]))
    for op, function in (("logical_and", lambda p, q: p and q), ("logical_or", lambda p, q: p or q), ("logical_xor", lambda p, q: p != q)):
        for p, q in ((0, 0), (0, 1), (1, 0), (1, 1)):
            out.append(case(op, {}, [Tensor("bool", (), [p]), Tensor("bool", (), [q])], [Tensor("bool", (), [function(p, q)])]))
        out.append(case(op, {}, [of_type("bool", [0, 0, 1, 1]), of_type("bool", [0, 1, 0, 1])], [of_type("bool", [function(p, q) for p in (0, 1) for q in (0, 1)])]))
    return out


def selects():
    out = []
    for kind in ("f64", "f32", "f16", "bf16", "i8", "u64", "bool"):
        a, b = of_type(kind, [1, 0, 1, 1]), of_type(kind, [0, 1, 1, 0])
        out.append(case("select", {}, [of_type("bool", [1, 0, 0, 1]), a, b], [of_type(kind, [1, 1, 1, 1])]))
    out.append(case("select", {}, [Tensor("bool", (2, 1), [1, 0]), of_type("f32", [NAN, -0.0]), Tensor("f32", (), [2])], [Tensor("f32", (2, 2), [NAN, -0.0, 2, 2])]))
    return out


def cases():
    return unary() + casts() + binary() + selects()
