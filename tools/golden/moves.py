"""Movement ops: the definition of each, written out over indices."""
from common import Tensor, build, case, indices, ramp

KINDS = ("f32", "f64", "bf16", "i32", "u8", "bool")


def each(op, attributes, shape, result_shape, source):
    """The op on tensors of several types; source(index) is where a result's element comes from."""
    out = []
    for kind in KINDS:
        x = ramp(kind, shape)
        out.append(case(op, attributes, [x], [build(kind, result_shape, lambda i: x.at(source(i)))]))
    return out


def unflat(place, shape):
    out = []
    for n in reversed(shape):
        out.append(place % n)
        place //= n
    return tuple(reversed(out))


def flat(index, shape):
    place = 0
    for i, n in zip(index, shape):
        place = place * n + i
    return place


def layouts():
    out = each("reshape", {"shape": [2, 3, 2]}, (3, 4), (2, 3, 2), lambda i: unflat(flat(i, (2, 3, 2)), (3, 4)))
    out += each("transpose", {"order": [-1, -3, -2]}, (2, 3, 4), (4, 2, 3), lambda i: (i[1], i[2], i[0]))
    out += each("transpose", {"order": [-1, -2]}, (2, 5), (5, 2), lambda i: (i[1], i[0]))
    out += each("broadcast", {"shape": [2, 3, 4]}, (3, 1), (2, 3, 4), lambda i: (i[1], 0))
    out += each("slice", {"starts": [1, 4], "sizes": [2, 3], "steps": [2, -2]}, (4, 5), (2, 3), lambda i: (1 + 2 * i[0], 4 - 2 * i[1]))
    out += each("slice", {"starts": [0, 1], "sizes": [3, 2]}, (3, 4), (3, 2), lambda i: (i[0], 1 + i[1]))
    return out


def concats():
    out = []
    for kind in KINDS:
        a, b = ramp(kind, (2, 3)), ramp(kind, (2, 1), 2)
        out.append(case("concat", {"axis": -1}, [a, b, a], [build(kind, (2, 7), lambda i: a.at((i[0], i[1])) if i[1] < 3 else b.at((i[0], 0)) if i[1] == 3 else a.at((i[0], i[1] - 4)))]))
        c = ramp(kind, (1, 3), 4)
        out.append(case("concat", {"axis": -2}, [a, c], [build(kind, (3, 3), lambda i: a.at(i) if i[0] < 2 else c.at((0, i[1])))]))
    return out


def folded(i, n, mode):
    """Where a padded place comes from along an axis of n; None: the fill."""
    if 0 <= i < n:
        return i
    if mode == 0:
        return None
    if mode == 1:
        return -i if i < 0 else 2 * (n - 1) - i
    if mode == 2:
        return 0 if i < 0 else n - 1
    return i % n


def pads():
    out = []
    for mode in range(4):
        for kind in ("f32", "i32", "bool"):
            x = ramp(kind, (3, 4))

            def at(i):
                r, c = folded(i[0] - 1, 3, mode), folded(i[1] - 2, 4, mode)
                return 0 if r is None or c is None else x.at((r, c))

            out.append(case("pad", {"begins": [1, 2], "ends": [2, 1], "mode": mode}, [x], [build(kind, (6, 7), at)]))
    x, fill = ramp("f32", (2, 3)), Tensor("f32", (), [9])
    out.append(case("pad", {"begins": [-1, 1], "ends": [1, -1]}, [x, fill], [build("f32", (2, 3), lambda i: 9 if i[0] == 1 or i[1] == 0 else x.at((1, i[1] - 1)))]))
    return out


def gathers():
    out = []
    for kind in KINDS:
        x = ramp(kind, (3, 4))
        at = Tensor("i64", (2, 2), [2, -3, 0, 1])
        out.append(case("gather", {"axis": -2}, [x, at], [build(kind, (2, 2, 4), lambda i: x.at((at.at(i[:2]) % 3, i[2])))]))
        last = Tensor("i32", (3,), [3, -1, 0])
        out.append(case("gather", {"axis": -1}, [x, last], [build(kind, (3, 3), lambda i: x.at((i[0], last.at(i[1:]) % 4)))]))
        places = Tensor("i64", (3, 2), [0, -1, 2, 1, 3, -4])
        out.append(case("gather_elements", {"axis": -1}, [x, places], [build(kind, (3, 2), lambda i: x.at((i[0], places.at(i) % 4)))]))
        pairs = Tensor("i64", (3, 2), [0, 1, -1, 2, 1, -4])
        out.append(case("gather_nd", {}, [x, pairs], [build(kind, (3,), lambda i: x.at((pairs.at((i[0], 0)) % 3, pairs.at((i[0], 1)) % 4)))]))
        rows = Tensor("i32", (3, 1), [2, 0, -2])
        out.append(case("gather_nd", {"batch_axes": 1}, [x, rows], [build(kind, (3,), lambda i: x.at((i[0], rows.at((i[0], 0)) % 4)))]))
    return out


COMBINE = {"0": lambda a, b: b, "add": lambda a, b: a + b, "mul": lambda a, b: a * b, "max": max, "min": min}


def scatters():
    out = []
    for kind in ("f32", "f64", "i32", "u8"):
        x, new = ramp(kind, (3, 4)), ramp(kind, (3, 2), 2)
        places = Tensor("i64", (3, 2), [0, -1, 2, 2, 3, -4])
        rows, at_rows = ramp(kind, (3, 4), 5), Tensor("i64", (3, 1), [2, 0, -1])
        for by, function in COMBINE.items():
            y = {i: x.exact(i) for i in indices((3, 4))}
            for i in indices((3, 2)):
                to = (i[0], places.at(i) % 4)
                y[to] = function(y[to], new.exact(i))
            out.append(case("scatter_elements", {"axis": -1, "by": by}, [x, places, new], [build(kind, (3, 4), lambda i: y[i])]))
            z = {i: x.exact(i) for i in indices((3, 4))}
            for r in range(3):
                for c in range(4):
                    to = (at_rows.at((r, 0)) % 3, c)
                    z[to] = function(z[to], rows.exact((r, c)))
            out.append(case("scatter_nd", {"by": by}, [x, at_rows, rows], [build(kind, (3, 4), lambda i: z[i])]))
    return out


def triangles():
    out = []
    for upper, k in ((1, 0), (0, 0), (1, 1), (0, -1), (1, -2), (0, 2)):
        for kind in ("f32", "i32"):
            x = ramp(kind, (3, 4))
            out.append(case("trilu", {"upper": upper, "k": k}, [x], [build(kind, (3, 4), lambda i: x.at(i) if (i[1] - i[0] >= k if upper else i[1] - i[0] <= k) else 0)]))
    return out


def written():
    out = []
    for kind in KINDS:
        x = Tensor(kind, (2, 3), [0, 3, 0, 1, 0, 5])
        out.append(case("nonzero", {}, [x], [Tensor("i64", (2, 3), [0, 1, 1, 1, 0, 2])]))
        values = [3, 1, 3, 2, 1, 3] if kind != "bool" else [1, 0, 1, 1, 0, 1]
        found = sorted(set(values))
        first = [values.index(v) for v in found]
        n = len(found)
        out.append(case("unique", {}, [Tensor(kind, (6,), values)], [Tensor(kind, (n,), found), Tensor("i64", (n,), first), Tensor("i64", (6,), [found.index(v) for v in values]), Tensor("i64", (n,), [values.count(v) for v in found])]))
    rows = [[1, 2], [0, 5], [1, 2], [0, 4]]
    x = Tensor("i32", (4, 2), sum(rows, []))
    found = sorted(map(tuple, {tuple(r) for r in rows}))
    out.append(case("unique", {"axis": -2}, [x], [Tensor("i32", (3, 2), sum(map(list, found), [])), Tensor("i64", (3,), [rows.index(list(r)) for r in found]), Tensor("i64", (4,), [found.index(tuple(r)) for r in rows]), Tensor("i64", (3,), [rows.count(list(r)) for r in found])]))
    order = [7, 3, 7, 5, 3]
    out.append(case("unique", {"sorted": 0}, [Tensor("i64", (5,), order)], [Tensor("i64", (3,), [7, 3, 5]), Tensor("i64", (3,), [0, 1, 3]), Tensor("i64", (5,), [0, 1, 0, 2, 1]), Tensor("i64", (3,), [2, 2, 1])]))
    out.append(case("nonzero", {}, [Tensor("f32", (4,), [0.0, -0.0, float("nan"), 2])], [Tensor("i64", (1, 2), [2, 3])]))
    return out


def cases():
    return layouts() + concats() + pads() + gathers() + scatters() + triangles() + written()
