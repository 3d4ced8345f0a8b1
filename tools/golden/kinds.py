"""Fused kinds: each formula written out in mpmath; gradients are differences of the forward formula."""
import mpmath
from mpmath import mpf

from common import INF, Tensor, build, case, ramp, saturated
from pointwise import m

KINDS = ("f64", "f32")
STEP = mpf(10) ** -20  # of central differences, at 60 digits


def mat(x):
    """A rank-2 tensor as rows of mpf."""
    return [[m(x.exact((r, c))) for c in range(x.shape[1])] for r in range(x.shape[0])]


def vec(x):
    return [m(x.exact((i,))) for i in range(x.shape[0])]


def ten(kind, rows):
    return Tensor(kind, (len(rows), len(rows[0])), [v for r in rows for v in r])


def mul(a, b):
    return [[mpmath.fsum(x * y for x, y in zip(r, c)) for c in zip(*b)] for r in a]


def tr(a):
    return [list(r) for r in zip(*a)]


def plus(a, b):
    return [[x + y for x, y in zip(r, s)] for r, s in zip(a, b)]


def norm(row, epsilon, centred=True):
    n = len(row)
    mu = mpmath.fsum(row) / n if centred else mpf(0)
    root = mpmath.sqrt(mpmath.fsum((v - mu) ** 2 for v in row) / n + mpf(epsilon))
    return [(v - mu) / root for v in row]


def silu(x):
    return x / (1 + mpmath.exp(-x))


def softmax(row):
    e = [mpmath.exp(v) if v != -INF else mpf(0) for v in row]
    return [v / mpmath.fsum(e) for v in e]


def attend(q, k, v, mask=0, scale=0.0, window=0, cap=0.0, add=None):
    scale = mpf(scale) or 1 / mpmath.sqrt(len(q[0]))
    rows, behind = [], len(k) - len(q)
    for i, r in enumerate(mul(q, tr(k))):
        out = []
        for j, s in enumerate(r):
            s *= scale
            if cap:
                s = mpf(cap) * mpmath.tanh(s / mpf(cap))
            hidden = (mask == 1 and j > i + behind) or (window and i + behind - j > window)
            out.append(-INF if hidden or (mask == 3 and not add[i][j]) else s + (add[i][j] if mask == 2 else 0))
        rows.append(softmax(out))
    return mul(rows, v)


def gradient(function, tensors, which, weights):
    """d sum(weights * function(tensors)) / d tensors[which], by central differences."""
    def total(values):
        return mpmath.fsum(w * y for wr, yr in zip(weights, function(values)) for w, y in zip(wr, yr))

    out = []
    for r in range(len(tensors[which])):
        out.append([])
        for c in range(len(tensors[which][0])):
            sides = []
            for sign in (1, -1):
                moved = [[list(row) for row in t] for t in tensors]
                moved[which][r][c] += sign * STEP
                sides.append(total(moved))
            out[-1].append((sides[0] - sides[1]) / (2 * STEP))
    return out


def residuals():
    out = []
    for kind in KINDS:
        for n in (3, 5, 8):
            x, w, r = ramp(kind, (2, n), 1), ramp(kind, (n, 3), 2), ramp(kind, (2, 3), 5)
            out.append(case("matmul_residual", {}, [x, w, r], [ten(kind, plus(mul(mat(x), mat(w)), mat(r)))]))
            r, scale, shift = ramp(kind, (2, n), 4), ramp(kind, (n,), 3), ramp(kind, (n,), 7)
            total = plus(mat(x), mat(r))
            y = [[v * a + b for v, a, b in zip(norm(row, 1e-5), vec(scale), vec(shift))] for row in total]
            out.append(case("residual_layer_norm", {"epsilon": 1e-5, "sum": 1}, [x, r, scale, shift], [ten(kind, y), ten(kind, total)]))
            y = [[v * a for v, a in zip(norm(row, 1e-3, False), vec(scale))] for row in total]
            out.append(case("residual_rms_norm", {"epsilon": 1e-3, "sum": 1}, [x, r, scale], [ten(kind, y), ten(kind, total)]))
            for rms in (0, 1):
                y = [[v * (1 + a) + b for v, a, b in zip(norm(row, 0.01, not rms), vec(scale), vec(shift))] for row in mat(x)]
                out.append(case("ada_layer_norm", {"rms": rms, "epsilon": 0.01}, [x, scale, shift], [ten(kind, y)]))
            y = [[a + g * b for a, b, g in zip(p, q, vec(scale))] for p, q in zip(mat(x), mat(r))]
            out.append(case("gated_residual", {}, [x, r, scale], [ten(kind, y)]))
    return out


def swiglus():
    out = []
    for kind in KINDS:
        for n in (1, 3, 4):
            for first in (0, 1):
                x = ramp(kind, (2, 2 * n), n)
                y = [[row[n + i] * silu(row[i]) if first else row[i] * silu(row[n + i]) for i in range(n)] for row in mat(x)]
                out.append(case("swiglu", {"gate_first": first}, [x], [ten(kind, y)]))
    return out


def ropes():
    out = []
    for kind in KINDS:
        for pairs in (0, 1):
            for inverse in (0, 1):
                for half, d in ((2, 4), (1, 5)):
                    x = ramp(kind, (3, d), half)
                    c, s = ramp(kind, (3, half), 4), ramp(kind, (3, half), 9)
                    rows = []
                    for r, (row, cr, sr) in enumerate(zip(mat(x), mat(c), mat(s))):
                        y = list(row)
                        for i in range(half):
                            a, b = (2 * i, 2 * i + 1) if pairs else (i, i + half)
                            turn = mpmath.mpc(row[a], row[b]) * mpmath.mpc(cr[i], -sr[i] if inverse else sr[i])
                            y[a], y[b] = turn.real, turn.imag
                        rows.append(y)
                    out.append(case("rope", {"interleaved": pairs, "inverse": inverse}, [x, c, s], [ten(kind, rows)]))
    return out


def block(x, qkv_w, qkv_b, out_w, out_b, heads, **how):
    qkv = [[a + b for a, b in zip(r, qkv_b)] for r in mul(x, qkv_w)]
    h = len(qkv[0]) // 3
    d, mixed = h // heads, [[] for _ in x]
    for head in range(heads):
        part = lambda which: [r[which * h + head * d : which * h + head * d + d] for r in qkv]
        for row, extra in zip(mixed, attend(part(0), part(1), part(2), **how)):
            row += extra
    return [[a + b for a, b in zip(r, out_b)] for r in mul(mixed, out_w)]


def blocks():
    out = []
    for kind in KINDS:
        x, qkv, w = ramp(kind, (3, 4), 1), ramp(kind, (4, 12), 2, 8), ramp(kind, (4, 4), 3, 8)
        qb, ob = ramp(kind, (12,), 5), ramp(kind, (4,), 6)
        for heads, mask in ((1, 0), (2, 0), (2, 1), (4, 2)):
            add = ramp(kind, (3, 3), 7) if mask == 2 else None
            y = block(mat(x), mat(qkv), vec(qb), mat(w), vec(ob), heads, mask=mask, add=mat(add) if add else None)
            out.append(case("attention_block", {"heads": heads, "mask": mask}, [x, qkv, w, add, qb, ob], [ten(kind, y)]))
            ones = [ramp(kind, (4,), s) for s in (8, 9, 10, 11)]
            w1, b1, w2, b2 = ramp(kind, (4, 5), 12, 8), ramp(kind, (5,), 2), ramp(kind, (5, 4), 3, 8), ramp(kind, (4,), 4)
            first = [[v * a + b for v, a, b in zip(norm(r, 1e-5), vec(ones[0]), vec(ones[1]))] for r in plus(y, mat(x))]
            hidden = [[max(a + b, mpf(0)) for a, b in zip(r, vec(b1))] for r in mul(first, mat(w1))]
            last = [[a + b for a, b in zip(r, vec(b2))] for r in mul(hidden, mat(w2))]
            z = [[v * a + b for v, a, b in zip(norm(r, 1e-5), vec(ones[2]), vec(ones[3]))] for r in plus(last, first)]
            operands = [x, qkv, w, qb, ob, ones[0], ones[1], w1, b1, w2, b2, ones[2], ones[3]] + ([add] if add else [])
            out.append(case("transformer_layer", {"heads": heads, "mask": mask, "activation": "relu", "epsilon": 1e-5}, operands, [ten(kind, z)]))
    return out


def attentions():
    out = []
    for kind in KINDS:
        q, k, v = ramp(kind, (3, 2), 1), ramp(kind, (4, 2), 2), ramp(kind, (4, 3), 3)
        dy = ramp(kind, (3, 3), 5)
        for how in ({}, {"mask": 1}, {"mask": 1, "window": 1}, {"window": 2, "scale": 0.5}, {"cap": 1.5, "mask": 1}, {"mask": 2}):
            add = ramp(kind, (3, 4), 6) if how.get("mask") == 2 else None
            function = lambda t: attend(*t, **how, add=mat(add) if add else None)
            t = [mat(q), mat(k), mat(v)]
            attributes = {"soft_cap" if a == "cap" else a: x for a, x in how.items()}
            out.append(case("attention", attributes, [q, k, v] + ([add] if add else []), [ten(kind, function(t))]))
            results = [ten(kind, gradient(function, t, i, mat(dy))) for i in range(3)]
            out.append(case("attention_backward", attributes, [q, k, v, dy] + ([add] if add else []), results))
    return out


def norm_gradients():
    out = []
    for kind in KINDS:
        for shape, epsilon in (((2, 3), 1e-2), ((3, 4), 1e-5), ((1, 5), 0.25)):
            x, dy = ramp(kind, shape, 2), ramp(kind, shape, 6)
            scale = ramp(kind, (shape[1],), 3)
            for centred in (True, False):
                function = lambda t: [[v * a + b for v, a, b in zip(norm(r, epsilon, centred), t[1][0], t[2][0])] for r in t[0]]
                t = [mat(x), [vec(scale)], [[mpf(0)] * shape[1]]]
                g = [gradient(function, t, i, mat(dy)) for i in range(3)]
                results = [ten(kind, g[0]), Tensor(kind, (shape[1],), g[1][0])]
                if centred:
                    results.append(Tensor(kind, (shape[1],), g[2][0]))
                out.append(case("layer_norm_backward" if centred else "rms_norm_backward", {"epsilon": epsilon}, [x, scale, dy], results))
    return out


def group_norms():
    out = []
    for kind in KINDS:
        for groups in (1, 2, 4):
            x, scale, shift = ramp(kind, (2, 4, 3), groups), ramp(kind, (4,), 3), ramp(kind, (4,), 5)
            each = 4 // groups
            rows = {}
            for n in range(2):
                for g in range(groups):
                    places = [(n, g * each + c, s) for c in range(each) for s in range(3)]
                    rows.update(zip(places, norm([m(x.exact(p)) for p in places], 0.01)))
            y = build(kind, (2, 4, 3), lambda i: rows[i] * m(scale.exact((i[1],))) + m(shift.exact((i[1],))))
            out.append(case("group_norm", {"groups": groups, "epsilon": 0.01}, [x, scale, shift], [y]))
    return out


def welch():
    out = []
    for kind in KINDS:
        for k, segments, bins in ((1, 2, 4), (3, 1, 5), (2, 3, 3)):
            x = Tensor(kind, (segments, bins, 2), [(i * i * 7 + 3 * i) % 23 - 9 for i in range(segments * bins * 2)])
            power = [sum(x.exact((s, b, 0)) ** 2 + x.exact((s, b, 1)) ** 2 for s in range(segments)) / segments for b in range(bins)]
            order = sorted(range(bins), key=lambda b: (-power[b], b))[:k]
            out.append(case("welch_peaks", {"k": k}, [x], [Tensor("i64", (k,), order), Tensor(kind, (k,), [power[b] for b in order])]))
    return out


def quantised():
    out = []
    for kind in KINDS:
        for to, zero, scale in (("u8", 128, 0.25), ("i8", -3, 0.5), ("u8", 0, 0.125), ("i16", 7, 0.25), ("i8", 100, 0.0625)):
            x = Tensor(kind, (2, 4), [0, 1.0625, -1.1875, 3, -4.5, 100, -100, 0.375])
            s, z = Tensor(kind, (), [scale]), Tensor(to, (), [zero])
            steps = [saturated(round(v / s.exact(())) + zero, to) for v in (x.exact((r, c)) for r in range(2) for c in range(4))]
            q = Tensor(to, (2, 4), steps)
            back = Tensor(kind, (2, 4), [(v - zero) * s.exact(()) for v in steps])
            types = {"i8": 5, "i16": 6, "u8": 9}
            out.append(case("quantise", {"to": types[to]}, [x, s, z], [q]))
            out.append(case("dequantise", {}, [q, s, z], [back]))
            out.append(case("fake_quantise", {"to": types[to]}, [x, s, z], [back]))
    return out


def quantised_products():
    out = []
    for kind in KINDS:
        for bits in (4, 8):
            for blocks, zeros in ((1, False), (2, True)):
                n, each = 3, 4
                numbers = [[(5 * i + 3 * r) % (1 << bits) for i in range(blocks * each)] for r in range(n)]
                packed = [r if bits == 8 else [r[2 * i] | r[2 * i + 1] << 4 for i in range(len(r) // 2)] for r in numbers]
                w = Tensor("u8", (n, blocks, len(packed[0]) // blocks), [b for r in packed for b in r])
                x, scale = ramp(kind, (2, blocks * each), 3), ramp(kind, (n, blocks), 2, 8)
                zero = Tensor(kind, (n, blocks), [i % 7 for i in range(n * blocks)]) if zeros else None
                at = lambda r, i: (numbers[r][i] - (zero.exact((r, i // each)) if zeros else 1 << (bits - 1))) * scale.exact((r, i // each))
                y = build(kind, (2, n), lambda i: sum(x.exact((i[0], j)) * at(i[1], j) for j in range(blocks * each)))
                out.append(case("matmul_quantised", {"bits": bits}, [x, w, scale] + ([zero] if zeros else []), [y]))
    return out


def dots():
    out = []
    for kind in ("f64", "f32", "i32"):
        a, b = ramp(kind, (2, 3, 4), 1, 2), ramp(kind, (4, 2, 3), 2, 2)
        cases = [({"contract_a": [-1], "contract_b": [-3]}, (2, 3, 2, 3), lambda i: sum(a.exact((i[0], i[1], j)) * b.exact((j, i[2], i[3])) for j in range(4))),
                 ({"batch_a": [-3], "batch_b": [-2], "contract_a": [-2], "contract_b": [-1]}, (2, 4, 4), lambda i: sum(a.exact((i[0], j, i[1])) * b.exact((i[2], i[0], j)) for j in range(3))),
                 ({"contract_a": [-3, -1], "contract_b": [-2, -3]}, (3, 3), lambda i: sum(a.exact((j, i[0], k)) * b.exact((k, j, i[1])) for j in range(2) for k in range(4)))]
        for attributes, shape, function in cases:
            out.append(case("dot_general", attributes, [a, b], [build(kind, shape, function)]))
    return out


def cases():
    return (residuals() + swiglus() + ropes() + blocks() + attentions() + norm_gradients() + group_norms() + welch()
            + quantised() + quantised_products() + dots())
