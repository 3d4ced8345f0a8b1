"""CONTROL ops and OPEN kinds: what their bodies come to, worked out in fractions and mpmath."""
from fractions import Fraction as F

import mpmath

from common import Tensor, build, case, ramp
from pointwise import m


def signed(a, b):
    """a * b with the sign that a product of zero has; a is no negative zero."""
    return a * b or (-0.0 if (a < 0) != (b < 0) else F(0))


def row(kind, values):
    return Tensor(kind, (len(values),), values)


def ifs():
    out = []
    body = "f32[3] f32[3]: add 0 1 > 2 / f32[3] f32[3]: mul 0 1; neg 2 > 3"
    a, b = row("f32", [1, -2, 0.5]), row("f32", [4, 0.25, -8])
    for condition in (0, 1):
        y = row("f32", [p + q if condition else -p * q for p, q in zip(a.elements, b.elements)])
        out.append(case("if", {}, [Tensor("bool", (), [condition]), a, b], [y], body))
    whole = "i32[2]: neg 0 > 1 0 / i32[2]: bit_not 0 > 0 1"
    x = row("i32", [5, -7])
    for condition in (0, 1):
        results = [row("i32", [-5, 7]), x] if condition else [x, row("i32", [~5, ~-7])]
        out.append(case("if", {}, [Tensor("bool", (1,), [condition]), x], results, whole))
    out.append(case("if", {}, [Tensor("bool", (), [1])], [Tensor("f64", (), [2.5])], ": lit f64 2.5 > 0 / : lit f64 -1 > 0"))
    return out


def whiles():
    out = []
    for start, limit in ((1, 100), (3, 10), (7, 5), (100, 1000), (2, 3)):
        value, trips = start, 0
        while value < limit:
            value, trips = value * 2, trips + 1
        body = "i64[] i64[] i64[]: less 0 2 > 3 / i64[] i64[] i64[]: add 0 0; lit i64 1; add 1 4 > 3 5"
        scalars = [Tensor("i64", (), [v]) for v in (start, 0, limit)]
        out.append(case("while", {"carried": 2}, scalars, [Tensor("i64", (), [value]), Tensor("i64", (), [trips])], body))
    return out


def scans():
    out = []
    for kind in ("f32", "f64", "i32"):
        for reverse in (0, 1):
            x = ramp(kind, (4, 2), 2)
            total, rows = [0, 0], {}
            for t in reversed(range(4)) if reverse else range(4):
                total = [a + x.exact((t, c)) for c, a in enumerate(total)]
                rows[t] = total
            body = f"{kind}[2] {kind}[2]: add 0 1 > 2 2"
            results = [row(kind, total), build(kind, (4, 2), lambda i: rows[i[0]][i[1]])]
            attributes = {"carried": 1, "sliced": 1, "length": 4, "axes": [-2, -2], "reverse": [reverse, reverse]}
            out.append(case("scan", attributes, [row(kind, [0, 0]), x], results, body))
    return out


def pointwises():
    out = []
    for kind in ("f64", "f32"):
        a, b = ramp(kind, (2, 3), 2), ramp(kind, (3,), 3)
        pairs = [(a.exact(i), b.exact(i[1:])) for i in ((r, c) for r in range(2) for c in range(3))]
        body = f"{kind}[2,3] {kind}[3]: add 0 1; relu 2; mul 3 0 > 4 2"
        out.append(case("pointwise", {}, [a, b], [Tensor(kind, (2, 3), [signed(max(p + q, F(0)), p) for p, q in pairs]), Tensor(kind, (2, 3), [p + q for p, q in pairs])], body))
        body = f"{kind}[2,3]: tanh 0; lit {kind} 2; mul 1 2; less 0 3; select 4 0 3 > 5"
        wide = [m(p) for p, _ in pairs]
        out.append(case("pointwise", {}, [a], [Tensor(kind, (2, 3), [p if p < 2 * mpmath.tanh(p) else 2 * mpmath.tanh(p) for p in wide])], body))
    for kind in ("bf16", "f16"):
        large = 256 if kind == "bf16" else 2048
        a, b = row(kind, [large, large, -large]), row(kind, [0.5, 1.25, 3])
        # large + 0.5 rounds to large; + 1.25 to large + 2; -large + 3 lies on the finer side below large.
        kept = [0, 2, 3]
        out.append(case("pointwise", {}, [a, b], [row(kind, kept)], f"{kind}[3] {kind}[3]: add 0 1; sub 2 0 > 3"))
    return out


def around():
    """prologue, epilogue and subgraph: a product with members before and behind it."""
    out = []
    for kind in ("f64", "f32", "i32"):
        x, w = ramp(kind, (2, 3), scale=2), ramp(kind, (3, 2), 2, 2)
        before = [[-x.exact((r, c)) for c in range(3)] for r in range(2)]
        plain = lambda i, rows: sum(rows[i[0]][k] * w.exact((k, i[1])) for k in range(3))
        rows = [[x.exact((r, c)) for c in range(3)] for r in range(2)]
        types = f"{kind}[2,3] {kind}[3,2]"
        for op, body, function in (
            ("prologue", "neg 0; matmul 2 1 > 3", lambda i: plain(i, before)),
            ("epilogue", "matmul 0 1; relu 2 > 3", lambda i: max(plain(i, rows), 0)),
            ("subgraph", "neg 0; matmul 2 1; relu 3 > 4", lambda i: max(plain(i, before), 0)),
        ):
            out.append(case(op, {}, [x, w], [build(kind, (2, 2), function)], f"{types}: {body}"))
            sums = lambda i: function((i[0], 0)) + function((i[0], 1))
            if op != "prologue":
                last = body.split(" > ")[1]
                more = body.split(" > ")[0] + "; reduce " + last + " {axes=-1 keep=0}" + f" > {int(last) + 1}"
                out.append(case(op if op == "subgraph" else "subgraph", {}, [x, w], [build(kind, (2,), sums)], f"{types}: {more}"))
        y = [[max(v, 0) for v in r] for r in rows]
        out.append(case("prologue", {}, [x], [build(kind, (3, 2), lambda i: y[i[1]][i[0]])], f"{kind}[2,3]: relu 0; transpose 1 {{order=-1,-2}} > 2"))
        out.append(case("epilogue", {}, [x], [build(kind, (2, 1), lambda i: -sum(rows[i[0]]))], f"{kind}[2,3]: reduce 0 {{axes=-1}}; neg 1 > 2"))
    return out


def batches():
    out = []
    for kind in ("f64", "f32", "i32"):
        x, b = ramp(kind, (4, 3), 2), ramp(kind, (3,), 5)
        body = f"{kind}[2,3] {kind}[3]: add 0 1; relu 2 > 3"
        y = build(kind, (4, 3), lambda i: max(x.exact(i) + b.exact(i[1:]), 0))
        out.append(case("batch", {"axes": [-2, 0, -2], "slices": 2}, [x, b], [y], body))
        z = build(kind, (4, 3), lambda i: sum(x.exact((i[0], k)) for k in range(3)) if i[1] == 0 else 0)
        out.append(case("batch", {"axes": [-2, -2], "slices": 4}, [x], [Tensor(kind, (4, 1), [z.at((r, 0)) for r in range(4)])], f"{kind}[1,3]: reduce 0 {{axes=-1}} > 1"))
    return out


def transforms():
    out = []
    for kind in ("f64", "f32"):
        x = ramp(kind, (2, 4), 3)
        out.append(case("transform", {}, [x], [build(kind, (2, 4), lambda i: x.at((i[0], 3 - i[1])))], f"{kind}[2,4]: slice 0 {{starts=0,3 sizes=2,4 steps=1,-1}} > 1"))
        out.append(case("transform", {}, [x], [build(kind, (2, 2), lambda i: x.at((i[0], 2 - i[1])))], f"{kind}[2,4]: slice 0 {{starts=0,1 sizes=2,2}}; slice 1 {{starts=0,1 sizes=2,2 steps=1,-1}} > 2"))
        up = f"{kind}[2,4]: lit f64[2] 2,2; resize 0 1 {{sizes=4,8 mode=0 coordinate=3 nearest=2}} > 2"
        out.append(case("transform", {}, [x], [build(kind, (4, 8), lambda i: x.at((i[0] // 2, i[1] // 2)))], up))
    return out


def cases():
    return ifs() + whiles() + scans() + pointwises() + around() + batches() + transforms()
