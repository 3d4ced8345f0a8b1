"""Ops along axes and products: exact rational arithmetic, and mpmath for softmax."""
import math
from fractions import Fraction as F

import mpmath
from mpmath import mpf

from common import FLOATS, INF, NAN, Tensor, build, case, exact, indices, ramp
from pointwise import m

COMBINE = {"add": (lambda a, b: a + b, 0), "mul": (lambda a, b: a * b, 1), "max": (max, None), "min": (min, None)}
KINDS = ("f64", "f32", "f16", "i32", "u8")


def over(values, by):
    function, start = COMBINE[by]
    values = list(values)
    total = values[0] if start is None else start
    for v in values if start is not None else values[1:]:
        total = function(total, v)
    return total


def reductions():
    out = []
    for by in COMBINE:
        for kind in KINDS:
            x = ramp(kind, (2, 3, 4), scale=2)
            out.append(case("reduce", {"by": by, "axes": [-1]}, [x], [build(kind, (2, 3, 1), lambda i: over([x.exact((i[0], i[1], k)) for k in range(4)], by))]))
            y = ramp(kind, (3, 2), 2, scale=2)
            out.append(case("reduce", {"by": by, "axes": [-2], "keep": 0}, [y], [build(kind, (2,), lambda i: over([y.exact((k, i[0])) for k in range(3)], by))]))
            for reverse in (0, 1):
                for exclusive in (0, 1):
                    if exclusive and COMBINE[by][1] is None:
                        continue

                    def prefix(i):
                        places = range(i[1], 4) if reverse else range(0, i[1] + 1)
                        values = [x.exact((0, i[0], k)) for k in places if not (exclusive and k == i[1])]
                        return over(values, by)

                    row = Tensor(kind, (3, 4), x.elements[:12])
                    out.append(case("cumulative", {"by": by, "reverse": reverse, "exclusive": exclusive}, [row], [build(kind, (3, 4), prefix)]))
        out.append(case("reduce", {"by": by, "axes": [-1], "keep": 0}, [Tensor("f32", (2, 0), [])], [Tensor("f32", (2,), {"add": [0, 0], "mul": [1, 1], "max": [-INF] * 2, "min": [INF] * 2}[by])]))
    out.append(case("reduce", {"by": "max", "axes": [-1], "keep": 0}, [Tensor("f32", (2, 3), [1, NAN, 3, -INF, -2, -3])], [Tensor("f32", (2,), [NAN, -2])]))
    return out


def extremes():
    out = []
    for kind in KINDS:
        x = Tensor(kind, (2, 6), [3, 1, 5, 5, 0, 1, 2, 2, 7, 0, 7, 0])
        rows = [[x.exact((r, c)) for c in range(6)] for r in range(2)]
        for by, best in (("max", max), ("min", min)):
            for last in (0, 1):
                places = [(len(r) - 1 - r[::-1].index(best(r))) if last else r.index(best(r)) for r in rows]
                out.append(case("arg_reduce", {"by": by, "last": last}, [x], [Tensor("i64", (2, 1), places)]))
        for largest in (0, 1):
            order = [sorted(range(6), key=lambda c, r=r: (-r[c] if largest else r[c], c))[:3] for r in rows]
            out.append(case("topk", {"k": 3, "largest": largest}, [x], [Tensor(kind, (2, 3), [rows[r][c] for r in range(2) for c in order[r]]), Tensor("i64", (2, 3), order[0] + order[1])]))
    out.append(case("arg_reduce", {"by": "min"}, [Tensor("f32", (4,), [1, NAN, -INF, NAN])], [Tensor("i64", (1,), [1])]))
    return out


def softmaxes():
    out = []
    for kind in FLOATS:
        for shape, axis in (((2, 5), -1), ((3, 2), -2)):
            x = ramp(kind, shape, 2, 3)

            def lane(i):
                n = shape[axis + 2]
                return [m(x.exact((i[0], k) if axis == -1 else (k, i[1]))) for k in range(n)]

            def value(i):
                return mpmath.exp(m(x.exact(i))) / mpmath.fsum(mpmath.exp(v) for v in lane(i))

            out.append(case("softmax", {"axis": axis}, [x], [build(kind, shape, value)]))
            out.append(case("log_softmax", {"axis": axis}, [x], [build(kind, shape, lambda i: mpmath.log(value(i)))]))
    out.append(case("softmax", {}, [Tensor("f32", (2, 3), [-INF, 0, 0, 1000, -INF, -1000])], [Tensor("f32", (2, 3), [0, 0.5, 0.5, 1, 0, 0])]))
    return out


def matmul(a, b, i, k):
    return sum(a.exact((i[0], j)) * b.exact((j, i[1])) for j in range(k))


def matmuls():
    out = []
    for kind in ("f64", "f32", "f16", "bf16", "i32", "u8", "i64"):
        a, b = ramp(kind, (3, 4), scale=2), ramp(kind, (4, 2), 2, 2)
        out.append(case("matmul", {}, [a, b], [build(kind, (3, 2), lambda i: matmul(a, b, i, 4))]))
        c = ramp(kind, (2, 1, 2, 3), scale=2)
        d = ramp(kind, (3, 3, 1), 3, 2)
        out.append(case("matmul", {}, [c, d], [build(kind, (2, 3, 2, 1), lambda i: sum(c.exact((i[0], 0, i[2], j)) * d.exact((i[1], j, 0)) for j in range(3)))]))
    return out


ACTIVATIONS = {0: lambda x: x, "relu": lambda x: max(x, F(0)), "sigmoid": lambda x: 1 / (1 + mpmath.exp(-m(x))), "tanh": lambda x: mpmath.tanh(m(x)), "neg": lambda x: -x}


def fused_matmuls():
    out = []
    for kind in ("f64", "f32"):
        for name, act in ACTIVATIONS.items():
            x, w, bias = ramp(kind, (3, 4), scale=2), ramp(kind, (4, 5), 2), ramp(kind, (5,), 4)
            out.append(case("matmul_bias_act", {"activation": name}, [x, w, bias], [build(kind, (3, 5), lambda i: act(matmul(x, w, i, 4) + bias.exact((i[1],))))]))
    return out


def convolved(x, w, i, strides, dilations, begins, groups):
    """Cross-correlation at result index i = (n, m, spatial..)."""
    per_group = w.shape[0] // groups
    first = i[1] // per_group * w.shape[1]
    total = F(0)
    for c in range(w.shape[1]):
        for tap in indices(w.shape[2:]):
            at = [o * s + t * d - p for o, s, t, d, p in zip(i[2:], strides, tap, dilations, begins)]
            if all(0 <= a < n for a, n in zip(at, x.shape[2:])):
                total += x.exact((i[0], first + c, *at)) * w.exact((i[1], c, *tap))
    return total


def extent(n, k, s, d, before, after):
    return (n + before + after - d * (k - 1) - 1) // s + 1


CONVS = [  # x, w, strides, dilations, begins, ends, groups
    ((1, 2, 5), (3, 2, 3), [1], [1], [0], [0], 1), ((1, 2, 6), (4, 1, 3), [2], [1], [1], [1], 2), ((2, 1, 4, 5), (2, 1, 3, 2), [1, 2], [1, 1], [1, 0], [0, 1], 1),
    ((1, 4, 5, 4), (4, 2, 2, 2), [1, 1], [2, 1], [0, 1], [1, 0], 2), ((1, 3, 3, 3), (3, 1, 3, 3), [1, 1], [1, 1], [1, 1], [1, 1], 3), ((1, 1, 2, 3, 3), (1, 1, 2, 2, 2), [1, 1, 1], [1, 1, 1], [0, 0, 0], [0, 1, 0], 1),
]


def convs():
    out = []
    for x_shape, w_shape, s, d, b, e, groups in CONVS:
        x, w, bias = ramp("f32", x_shape, scale=2), ramp("f32", w_shape, 2, 2), ramp("f32", (w_shape[0],), 3)
        shape = (x_shape[0], w_shape[0], *(extent(*v) for v in zip(x_shape[2:], w_shape[2:], s, d, b, e)))
        attributes = {"strides": s, "dilations": d, "pads": b + e, "groups": groups}
        out.append(case("conv", attributes, [x, w, bias], [build("f32", shape, lambda i: convolved(x, w, i, s, d, b, groups) + bias.exact((i[1],)))]))
        residual = ramp("f32", shape, 6)
        y = build("f32", shape, lambda i: min(max(max(convolved(x, w, i, s, d, b, groups) + bias.exact((i[1],)) + residual.exact(i), F(0)), F(1, 2)), F(4)))
        out.append(case("conv_bias_act", {**attributes, "activation": "relu", "low": 0.5, "high": 4.0}, [x, w, bias, residual], [y]))
    x, w = ramp("i32", (1, 2, 5)), ramp("i32", (3, 2, 3), 2)
    out.append(case("conv", {}, [x, w], [build("i32", (1, 3, 3), lambda i: convolved(x, w, i, [1], [1], [0], 1))]))
    return out


TRANSPOSED = [  # x, w, strides, dilations, begins, ends, groups, output pads
    ((1, 2, 3), (2, 2, 3), [1], [1], [0], [0], 1, [0]), ((1, 2, 3), (2, 1, 3), [2], [1], [1], [0], 2, [1]), ((1, 1, 2, 3), (1, 2, 2, 2), [2, 1], [1, 2], [0, 1], [1, 0], 1, [0, 0]),
    ((2, 3, 2, 2), (3, 1, 3, 3), [1, 2], [1, 1], [1, 1], [1, 1], 1, [0, 1]), ((1, 4, 2), (4, 2, 2), [3], [1], [0], [0], 2, [2]),
]


def transposed_convs():
    out = []
    for x_shape, w_shape, s, d, b, e, groups, more in TRANSPOSED:
        x, w, per_group = ramp("f32", x_shape, scale=2), ramp("f32", w_shape, 2, 2), x_shape[1] // groups
        spatial = [(n - 1) * st + dl * (k - 1) + 1 - p - q + o for n, k, st, dl, p, q, o in zip(x_shape[2:], w_shape[2:], s, d, b, e, more)]
        shape = (x_shape[0], w_shape[1] * groups, *spatial)
        sums = {i: F(0) for i in indices(shape)}
        for i in indices(x_shape):
            for o in range(w_shape[1]):
                for tap in indices(w_shape[2:]):
                    to = tuple(a * st + t * dl - p for a, st, t, dl, p in zip(i[2:], s, tap, d, b))
                    place = (i[0], i[1] // per_group * w_shape[1] + o, *to)
                    if place in sums:
                        sums[place] += x.exact(i) * w.exact((i[1], o, *tap))
        attributes = {"strides": s, "dilations": d, "pads": b + e, "groups": groups, "output_pads": more}
        out.append(case("conv_transpose", attributes, [x, w], [build("f32", shape, lambda i: sums[i])]))
    return out


POOLS = [  # x, kernel, strides, dilations, begins, ends
    ((1, 2, 6), [2], [2], [1], [0], [0]), ((1, 1, 4, 5), [3, 2], [1, 2], [1, 1], [1, 0], [1, 1]), ((2, 1, 5, 5), [2, 2], [1, 1], [2, 2], [0, 0], [0, 0]),
    ((1, 2, 5), [3], [2], [1], [1], [1]), ((1, 1, 3, 3, 4), [2, 2, 2], [1, 1, 2], [1, 1, 1], [0, 0, 0], [0, 0, 0]),
]


def pools():
    out = []
    for shape, k, s, d, b, e in POOLS:
        x = ramp("f32", shape, scale=1)
        result = (*shape[:2], *(extent(*v) for v in zip(shape[2:], k, s, d, b, e)))

        def taps(i):
            for tap in indices(k):
                at = tuple(o * st + t * dl - p for o, st, t, dl, p in zip(i[2:], s, tap, d, b))
                if all(0 <= a < n for a, n in zip(at, shape[2:])):
                    yield (*i[:2], *at)

        def place(i):
            best = max(taps(i), key=lambda t: (x.exact(t), [-v for v in t]))
            flat = 0
            for v, n in zip(best, shape):
                flat = flat * n + v
            return flat

        attributes = {"kernel": k, "strides": s, "dilations": d, "pads": b + e}
        out.append(case("max_pool", attributes, [x], [build("f32", result, lambda i: max(x.exact(t) for t in taps(i))), build("i64", result, place)]))
        for count_pads in (0, 1):
            def mean(i):
                values = [x.exact(t) for t in taps(i)]
                return sum(values) / (math.prod(k) if count_pads else len(values))

            out.append(case("avg_pool", {**attributes, "count_pads": count_pads}, [x], [build("f32", result, mean)]))
    return out


def norms():
    out = []
    for kind in ("f64", "f32"):
        for epsilon in (1e-5, 0.125):
            for with_shift in (True, False):
                x, scale, shift = ramp(kind, (3, 5), scale=2), ramp(kind, (5,), 2), ramp(kind, (5,), 4)
                rows = [[x.exact((r, c)) for c in range(5)] for r in range(3)]

                def layer(i):
                    row = rows[i[0]]
                    mean = sum(row) / 5
                    variance = sum((v - mean) ** 2 for v in row) / 5
                    y = m(row[i[1]] - mean) / mpmath.sqrt(m(variance + exact(epsilon))) * m(scale.exact((i[1],)))
                    return y + m(shift.exact((i[1],))) if with_shift else y

                def rms(i):
                    row = rows[i[0]]
                    return m(row[i[1]]) / mpmath.sqrt(m(sum(v * v for v in row) / 5 + exact(epsilon))) * m(scale.exact((i[1],)))

                out.append(case("layer_norm", {"epsilon": epsilon}, [x, scale] + ([shift] if with_shift else []), [build(kind, (3, 5), layer)]))
                out.append(case("rms_norm", {"epsilon": epsilon}, [x, scale], [build(kind, (3, 5), rms)]))
    return out


def attentions():
    out = []
    for kind in ("f64", "f32"):
        q, k, v = ramp(kind, (3, 4)), ramp(kind, (5, 4), 2), ramp(kind, (5, 2), 3)
        add, see = ramp(kind, (3, 5), 5), Tensor("bool", (3, 5), [1, 0, 1, 1, 0, 0, 0, 0, 1, 0, 1, 1, 1, 1, 1])
        for mask, scale, operand in ((0, 0.0, None), (0, 0.25, None), (1, 0.0, None), (2, 0.0, add), (3, 0.5, see)):
            def weights(i):
                scores = []
                for j in range(5):
                    score = m(sum(q.exact((i, c)) * k.exact((j, c)) for c in range(4))) * (mpf(scale) if scale else 1 / mpmath.sqrt(4))
                    seen = (mask != 1 or j <= i + 2) and (mask != 3 or see.at((i, j)))
                    scores.append(score + (m(add.exact((i, j))) if mask == 2 else 0) if seen else mpf("-inf"))
                total = mpmath.fsum(mpmath.exp(s) for s in scores)
                return [mpmath.exp(s) / total for s in scores]

            rows = [weights(i) for i in range(3)]
            y = build(kind, (3, 2), lambda i: mpmath.fsum(rows[i[0]][j] * m(v.exact((j, i[1]))) for j in range(5)))
            out.append(case("attention", {"mask": mask, "scale": scale}, [q, k, v] + ([operand] if operand else []), [y]))
    return out


def spectra():
    out = []

    def bin_of(values, f, n, sign):
        return mpmath.fsum(v * mpmath.expjpi(mpf(2 * sign * f * t) / n) for t, v in enumerate(values))

    for kind in ("f64", "f32"):
        x = ramp(kind, (6, 1), 2)
        real = [m(x.exact((t, 0))) for t in range(6)]
        part = lambda z, c: z.imag if c else z.real
        out.append(case("dft", {}, [x], [build(kind, (6, 2), lambda i: part(mpmath.mpc(bin_of(real, i[0], 6, -1)), i[1]))]))
        out.append(case("dft", {"onesided": 1}, [x], [build(kind, (4, 2), lambda i: part(mpmath.mpc(bin_of(real, i[0], 6, -1)), i[1]))]))
        z = ramp(kind, (5, 2), 3)
        pairs = [mpmath.mpc(m(z.exact((t, 0))), m(z.exact((t, 1)))) for t in range(5)]
        out.append(case("dft", {"inverse": 1}, [z], [build(kind, (5, 2), lambda i: part(bin_of(pairs, i[0], 5, 1) / 5, i[1]))]))
        out.append(case("dft", {"length": 4}, [z], [build(kind, (4, 2), lambda i: part(bin_of(pairs[:4], i[0], 4, -1), i[1]))]))
    return out


def determinant(a):
    if not a:
        return F(1)
    return sum((-1) ** c * a[0][c] * determinant([r[:c] + r[c + 1:] for r in a[1:]]) for c in range(len(a)))


def determinants():
    out = []
    for kind in ("f64", "f32"):
        for n in (1, 2, 3, 4):
            x = ramp(kind, (2, n, n), n + 1, 2)
            out.append(case("det", {}, [x], [build(kind, (2,), lambda i: determinant([[x.exact((i[0], r, c)) for c in range(n)] for r in range(n)]))]))
    return out


def cases():
    return (reductions() + extremes() + softmaxes() + matmuls() + fused_matmuls() + convs() + transposed_convs()
            + pools() + norms() + attentions() + spectra() + determinants())
