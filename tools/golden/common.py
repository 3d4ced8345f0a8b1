"""Element types, rounding, tensors as nested indices, and the text of a case."""
import itertools
import math
from fractions import Fraction

import mpmath

mpmath.mp.dps = 60
INF, NAN = math.inf, math.nan
FLOATS = ("f64", "f32", "f16", "bf16")
# digits, exponent of the smallest denormal, largest exponent
FORMATS = {"f64": (53, -1074, 1023), "f32": (24, -149, 127), "f16": (11, -24, 15), "bf16": (8, -133, 127)}
INTEGERS = {"i8": (8, True), "i16": (16, True), "i32": (32, True), "i64": (64, True),
            "u8": (8, False), "u16": (16, False), "u32": (32, False), "u64": (64, False)}


def exact(x):
    """Any number as a Fraction; infinities, NaN and -0.0 stay floats."""
    if isinstance(x, Fraction):
        return x
    if isinstance(x, mpmath.mpf):
        if mpmath.isnan(x) or mpmath.isinf(x):
            return float(x)
        sign, man, exp, _ = x._mpf_
        return Fraction(-int(man) if sign else int(man)) * Fraction(2) ** exp
    if isinstance(x, float) and (math.isnan(x) or math.isinf(x) or (x == 0 and math.copysign(1, x) < 0)):
        return x
    return Fraction(x)


def rounded(x, kind):
    """x in the element type: a float that the type holds, or an int."""
    if kind == "bool":
        return int(x != 0)
    if kind in INTEGERS:
        bits, signed = INTEGERS[kind]
        x = int(x) % 2**bits
        return x - 2**bits if signed and x >= 2 ** (bits - 1) else x
    x = exact(x)
    if isinstance(x, float):
        return x
    if x == 0:
        return 0.0
    digits, least, most = FORMATS[kind]
    size = abs(x)
    e = size.numerator.bit_length() - size.denominator.bit_length()
    if Fraction(2) ** e > size:
        e -= 1
    if Fraction(2) ** (e + 1) <= size:
        e += 1
    unit = Fraction(2) ** max(e - digits + 1, least)
    out = round(size / unit) * unit  # halves to even
    if out >= Fraction(2) ** (most + 1):
        return math.copysign(INF, x)
    return math.copysign(float(out), x)


def saturated(x, kind):
    """float to integer as cast does: truncated, saturated, NaN is 0."""
    bits, signed = INTEGERS[kind]
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    if isinstance(x, float) and math.isnan(x):
        return 0
    if isinstance(x, float) and math.isinf(x):
        return high if x > 0 else low
    return min(max(int(x), low), high)


def number(x):
    if isinstance(x, int):
        return str(x)
    if math.isnan(x):
        return "nan"
    if math.isinf(x):
        return "inf" if x > 0 else "-inf"
    text = repr(x)
    return text[:-2] if text.endswith(".0") else text


class Tensor:
    """Elements of one type, row-major; each a value of the type."""

    def __init__(self, kind, shape, elements):
        self.kind, self.shape = kind, tuple(shape)
        self.elements = [rounded(x, kind) for x in elements]
        assert len(self.elements) == math.prod(self.shape), (shape, len(self.elements))

    def at(self, index):
        place = 0
        for i, n in zip(index, self.shape):
            place = place * n + i
        return self.elements[place]

    def exact(self, index):
        return exact(self.at(index)) if self.kind in FORMATS else self.at(index)

    def __str__(self):
        shape = ",".join(map(str, self.shape))
        return f"{self.kind}[{shape}]=" + ",".join(map(number, self.elements))


def indices(shape):
    return itertools.product(*(range(n) for n in shape))


def build(kind, shape, function):
    """A tensor of function(index)."""
    return Tensor(kind, shape, [function(i) for i in indices(shape)])


def ramp(kind, shape, seed=1, scale=4):
    """Quarters of small integers: they and their products are exact in every float type."""
    if kind in FORMATS:
        return Tensor(kind, shape, [Fraction((i * 5 + seed * 3) % 13 - 6, scale) for i in range(math.prod(shape))])
    if kind == "bool":
        return Tensor(kind, shape, [(i * 5 + seed) % 3 != 0 for i in range(math.prod(shape))])
    low = 0 if kind[0] == "u" else 6
    return Tensor(kind, shape, [(i * 5 + seed * 3) % 13 - low for i in range(math.prod(shape))])


def case(op, attributes, operands, results, body=""):
    def text(value):
        if isinstance(value, (list, tuple)):
            return ",".join(map(str, value))
        return number(value) if isinstance(value, float) else str(value)

    attributes = " ".join(f"{k}={text(v)}" for k, v in attributes.items())
    operands = " ".join("-" if x is None else str(x) for x in operands)
    return "|".join([op, attributes, body, operands, " ".join(map(str, results))])
