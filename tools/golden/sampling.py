"""Resampling from the ONNX operator texts (Resize, GridSample, RoiAlign, NonMaxSuppression), in fractions."""
import math
from fractions import Fraction as F

from common import Tensor, build, case, exact, indices, ramp

HALF = F(1, 2)


def origin(mode, x, n_in, n_out, scale, region):
    if mode == 2:
        return F(0) if n_out == 1 else F(x) * (n_in - 1) / (n_out - 1)
    if mode == 3:
        return x / scale
    if mode == 4:
        start, end = region
        if n_out == 1:
            return HALF * (start + end) * (n_in - 1)
        return start * (n_in - 1) + x * (end - start) * (n_in - 1) / (n_out - 1)
    if mode == 1 and n_out == 1:
        return F(0)
    offset = F(0)
    if mode == 5:
        offset = F(n_in, 2) * (1 - F(n_out) / (scale * n_in))
    return offset + (x + HALF) / scale - HALF


def cubic(t, a):
    t = abs(t)
    if t <= 1:
        return (a + 2) * t**3 - (a + 3) * t**2 + 1
    return a * t**3 - 5 * a * t**2 + 8 * a * t - 4 * a if t < 2 else F(0)


def clamp(i, n):
    return min(max(i, 0), n - 1)


NEAREST = [lambda x: math.ceil(x - HALF), lambda x: math.floor(x + HALF), math.floor, math.ceil]


def taps(x, n, mode, nearest, a, exclude):
    """(place, weight) of each element that counts along one axis."""
    if mode == 0:
        return [(clamp(NEAREST[nearest](x), n), F(1))]
    low = math.floor(x)
    if mode == 1:
        return [(clamp(low, n), low + 1 - x), (clamp(low + 1, n), x - low)]
    pairs = [(low + k, cubic(x - low - k, a)) for k in (-1, 0, 1, 2)]
    if exclude:
        pairs = [(p, w) for p, w in pairs if 0 <= p < n]
        total = sum(w for _, w in pairs)
        pairs = [(p, w / total) for p, w in pairs]
    return [(clamp(p, n), w) for p, w in pairs]


def resized(x, sizes, scales, attributes, region):
    rank = len(sizes)
    a = exact(attributes.get("cubic_a", -0.75))

    def at(i):
        lists = []
        for axis in range(rank):
            place = origin(attributes.get("coordinate", 0), i[axis], x.shape[axis], sizes[axis], scales[axis], (region[axis], region[rank + axis]))
            if attributes.get("coordinate", 0) == 4 and not 0 <= place <= x.shape[axis] - 1:
                return exact(attributes.get("extrapolation", 0.0))
            if sizes[axis] == x.shape[axis] and scales[axis] == 1 and attributes.get("coordinate", 0) != 4:
                lists.append([(i[axis], F(1))])
            else:
                lists.append(taps(place, x.shape[axis], attributes.get("mode", 0), attributes.get("nearest", 0), a, attributes.get("exclude_outside", 0)))
        total = F(0)
        for choice in indices([len(t) for t in lists]):
            weight = F(1)
            for k, axis in zip(choice, range(rank)):
                weight *= lists[axis][k][1]
            total += weight * x.exact([lists[axis][k][0] for k, axis in zip(choice, range(rank))])
        return total

    return build(x.kind, sizes, at)


RESIZES = [
    ((2, 3), (4, 6), {"mode": 0, "coordinate": 3, "nearest": 2}), ((2, 4), (2, 2), {"mode": 0}), ((1, 4), (1, 8), {"mode": 0, "nearest": 1}), ((1, 4), (1, 6), {"mode": 0, "nearest": 3, "coordinate": 3}),
    ((2, 3), (4, 6), {"mode": 1}), ((2, 3), (3, 5), {"mode": 1, "coordinate": 2}), ((2, 4), (1, 8), {"mode": 1, "coordinate": 1}), ((4, 4), (2, 2), {"mode": 1, "coordinate": 3}),
    ((4, 4), (8, 4), {"mode": 2}), ((4, 4), (8, 8), {"mode": 2, "cubic_a": -0.5, "exclude_outside": 1}), ((4, 4), (2, 8), {"mode": 2, "coordinate": 2}), ((4, 4), (3, 3), {"mode": 1, "coordinate": 4, "extrapolation": 10.0}),
]


def resizes():
    out = []
    for shape, sizes, attributes in RESIZES:
        for kind in ("f32", "f64"):
            x = ramp(kind, shape, 2, 1)
            scales = [F(o, n) for o, n in zip(sizes, shape)]
            operands = [x, Tensor("f64", (2,), scales)]
            region = [F(0), F(0), F(1), F(1)]
            if attributes.get("coordinate") == 4:
                region = [F(1, 4), F(-1, 8), F(3, 4), F(1)]
                operands.append(Tensor("f64", (4,), region))
            out.append(case("resize", {"sizes": sizes, **attributes}, operands, [resized(x, sizes, [exact(s) for s in operands[1].elements], attributes, region)]))
    return out


def reflect(x, low, high):
    span = high - low
    if span == 0:
        return F(0)
    x = abs(x - low) % (2 * span)
    return low + (x if x <= span else 2 * span - x)


def sampled(x, grid, mode, padding, align, i):
    n, c, row, column = i
    h, w = x.shape[2:]
    places = []
    for g, size in ((grid.exact((n, row, column, 1)), h), (grid.exact((n, row, column, 0)), w)):
        p = (g + 1) / 2 * (size - 1) if align else ((g + 1) * size - 1) / 2
        if mode != 2:
            if padding == 1:
                p = min(max(p, F(0)), F(size - 1))
            elif padding == 2:
                p = reflect(p, F(0), F(size - 1)) if align else min(max(reflect(p, -HALF, size - HALF), F(0)), F(size - 1))
        places.append(p)

    def pixel(r, col):
        if 0 <= r < h and 0 <= col < w:
            return x.exact((n, c, r, col))
        return F(0) if padding == 0 else x.exact((n, c, clamp(r, h), clamp(col, w)))

    if mode == 1:
        return pixel(round(places[0]), round(places[1]))
    lists = []
    for p in places:
        low = math.floor(p)
        reach = (0, 1) if mode == 0 else (-1, 0, 1, 2)
        lists.append([(low + k, 1 - abs(p - low - k) if mode == 0 else cubic(p - low - k, F(-3, 4))) for k in reach])
    return sum(a * b * pixel(r, col) for r, a in lists[0] for col, b in lists[1])


def grids():
    out = []
    for mode, padding, align in [(m, p, a) for m in (0, 1) for p in (0, 1, 2) for a in (0, 1)] + [(2, 0, 0), (2, 0, 1), (2, 1, 0), (2, 1, 1)]:
        x = ramp("f32", (1, 2, 3, 4), 2)
        grid = Tensor("f32", (1, 2, 3, 2), [F(v, 64) for v in (-77, -31, 5, 40, 71, -70, 13, 29, -9, 75, 50, -50)])
        attributes = {"mode": mode, "padding": padding, "align_corners": align}
        out.append(case("grid_sample", attributes, [x, grid], [build("f32", (1, 2, 2, 3), lambda i: sampled(x, grid, mode, padding, align, i))]))
    return out


def corners(y, x, h, w):
    """The four (row, column, weight) of a sample; none outside."""
    if y < -1 or y > h or x < -1 or x > w:
        return []
    out = []
    for p, n in ((max(y, F(0)), h), (max(x, F(0)), w)):
        low = math.floor(p)
        out.append([(n - 1, F(1)), (n - 1, F(0))] if low >= n - 1 else [(low, low + 1 - p), (low + 1, p - low)])
    return [(r, c, a * b) for r, a in out[0] for c, b in out[1]]


def rois():
    out = []
    x = ramp("f32", (2, 2, 5, 6), 3)
    boxes = Tensor("f32", (3, 4), [0.5, 1, 4, 3.5, 1, 0, 5, 4, 2, 2, 3, 5])
    batch = [0, 1, 0]
    for half, ratio, by, scale in ((1, 2, "add", 1.0), (0, 2, "add", 1.0), (1, 1, "add", 0.5), (0, 0, "add", 1.0), (1, 2, "max", 1.0), (1, 0, "add", 1.0)):
        def at(i):
            r, c, row, column = i
            x1, y1, x2, y2 = (boxes.exact((r, k)) * exact(scale) - (HALF if half else 0) for k in range(4))
            width, height = x2 - x1, y2 - y1
            if not half:
                width, height = max(width, F(1)), max(height, F(1))
            bin_h, bin_w = height / 2, width / 3
            grid_h, grid_w = (ratio, ratio) if ratio else (math.ceil(height / 2), math.ceil(width / 3))
            values = []
            for a in range(grid_h):
                for b in range(grid_w):
                    y = y1 + row * bin_h + (a + HALF) * bin_h / grid_h
                    p = x1 + column * bin_w + (b + HALF) * bin_w / grid_w
                    terms = [weight * x.exact((batch[r], c, rr, cc)) for rr, cc, weight in corners(y, p, 5, 6)]
                    values.append(max(terms) if by == "max" else sum(terms))
            return max(values) if by == "max" else sum(values) / max(len(values), 1)

        attributes = {"height": 2, "width": 3, "sampling_ratio": ratio, "by": by, "spatial_scale": scale, "half_pixel": half}
        out.append(case("roi_align", attributes, [x, boxes, Tensor("i64", (3,), batch)], [build("f32", (3, 2, 2, 3), at)]))
    return out


def overlap(a, b):
    height = min(a[2], b[2]) - max(a[0], b[0])
    width = min(a[3], b[3]) - max(a[1], b[1])
    if height <= 0 or width <= 0:
        return F(0)
    both = height * width
    return both / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both)


def suppressed():
    out = []
    boxes = [(0, 0, 1, 1), (0, F(1, 8), 1, F(9, 8)), (0, F(-1, 8), 1, F(7, 8)), (0, 10, 1, 11), (0, F(81, 8), 1, F(89, 8)), (0, 100, 1, 101)]
    scores = [[F(v, 16) for v in row] for row in ((14, 12, 10, 15, 8, 5), (2, 13, 9, 1, 11, 3))]
    for most, limit, least, centre in ((3, 0.5, None, 0), (2, 0.5, None, 0), (6, 0.5, 0.375, 0), (3, 0.0, None, 0), (3, 0.5, None, 1), (6, 1.0, None, 0)):
        found = []
        for label, row in enumerate(scores):
            kept = []
            for b in sorted(range(6), key=lambda k: -row[k]):
                if len(kept) < most and (least is None or row[b] > exact(least)) and all(overlap(boxes[b], boxes[k]) <= exact(limit) for k in kept):
                    kept.append(b)
            found += [(0, label, b) for b in kept]
        rows = [(b[1] + HALF, b[0] + HALF, 1, 1) for b in boxes] if centre else boxes
        operands = [Tensor("f32", (1, 6, 4), sum(map(list, rows), [])), Tensor("f32", (1, 2, 6), sum(scores, []))]
        attributes = {"max_per_class": most, "iou_threshold": limit, "centre": centre}
        if least is not None:
            attributes["score_threshold"] = least
        out.append(case("non_max_suppression", attributes, operands, [Tensor("i64", (len(found), 3), sum(map(list, found), []))]))
    return out


def cases():
    return resizes() + grids() + rois() + suppressed()
