"""LSTM, GRU and RNN from the equations of the ONNX operator texts, by mpmath."""
import mpmath
from mpmath import mpf

from common import Tensor, case, ramp
from pointwise import m

ACT = {"sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)), "tanh": mpmath.tanh, "relu": lambda x: max(x, mpf(0)), "softsign": lambda x: x / (1 + abs(x))}


class Cell:
    """One direction: weights as nested lists of mpf."""

    def __init__(self, w, r, bias, peephole, d, h, gates, acts, clip):
        self.w = [[m(w.exact((d, g, c))) for c in range(w.shape[2])] for g in range(w.shape[1])]
        self.r = [[m(r.exact((d, g, c))) for c in range(h)] for g in range(r.shape[1])]
        n = gates * h
        self.wb = [m(bias.exact((d, g))) for g in range(n)] if bias else [mpf(0)] * n
        self.rb = [m(bias.exact((d, n + g))) for g in range(n)] if bias else [mpf(0)] * n
        self.p = [m(peephole.exact((d, g))) for g in range(3 * h)] if peephole else [mpf(0)] * (3 * h)
        self.h, self.acts, self.clip = h, [ACT[a] for a in acts], clip

    def act(self, number, x):
        if self.clip:
            x = min(max(x, -mpf(self.clip)), mpf(self.clip))
        return self.acts[number](x)

    def input(self, gate, x):
        return [mpmath.fdot(self.w[gate * self.h + k], x) + self.wb[gate * self.h + k] for k in range(self.h)]

    def recur(self, gate, state):
        return [mpmath.fdot(self.r[gate * self.h + k], state) for k in range(self.h)]

    def bias(self, gate):
        return self.rb[gate * self.h:(gate + 1) * self.h]


def lstm_step(cell, x, h, c, coupled):
    def gate(number, peep):
        total = zip(cell.input(number, x), cell.recur(number, h), cell.bias(number), peep)
        return [sum(t) for t in total]

    n = cell.h
    peep = lambda number, state: [cell.p[number * n + k] * state[k] for k in range(n)]
    i = [cell.act(0, v) for v in gate(0, peep(0, c))]
    f = [1 - v for v in i] if coupled else [cell.act(0, v) for v in gate(2, peep(2, c))]
    g = [cell.act(1, v) for v in gate(3, [mpf(0)] * n)]
    c = [f[k] * c[k] + i[k] * g[k] for k in range(n)]
    o = [cell.act(0, v) for v in gate(1, peep(1, c))]
    return [o[k] * cell.act(2, c[k]) if not cell.clip else o[k] * cell.acts[2](c[k]) for k in range(n)], c


def gru_step(cell, x, h, linear):
    gates = [[cell.act(0, a + b + e) for a, b, e in zip(cell.input(k, x), cell.recur(k, h), cell.bias(k))] for k in (0, 1)]
    z, r = gates
    if linear:
        inner = [rr * (a + b) for rr, a, b in zip(r, cell.recur(2, h), cell.bias(2))]
    else:
        inner = [a + b for a, b in zip(cell.recur(2, [rr * v for rr, v in zip(r, h)]), cell.bias(2))]
    new = [cell.act(1, a + b) for a, b in zip(cell.input(2, x), inner)]
    return [(1 - zz) * nn + zz * v for zz, nn, v in zip(z, new, h)]


def rnn_step(cell, x, h):
    return [cell.act(0, a + b + e) for a, b, e in zip(cell.input(0, x), cell.recur(0, h), cell.bias(0))]


GATES = {"lstm": 4, "gru": 3, "rnn": 1}
DEFAULT = {"lstm": ["sigmoid", "tanh", "tanh"], "gru": ["sigmoid", "tanh"], "rnn": ["tanh"]}


def run(op, kind, attributes, with_bias=True, lengths=None, with_state=False, with_peephole=False):
    t, n, width, h = 3, 2, 2, 2
    directions = 2 if attributes.get("direction") == 2 else 1
    gates = GATES[op]
    x, w, r = ramp(kind, (t, n, width)), ramp(kind, (directions, gates * h, width), 2, 8), ramp(kind, (directions, gates * h, h), 3, 8)
    bias = ramp(kind, (directions, 2 * gates * h), 4, 8) if with_bias else None
    h0 = ramp(kind, (directions, n, h), 5, 8) if with_state else None
    c0 = ramp(kind, (directions, n, h), 6, 8) if with_state and op == "lstm" else None
    peephole = ramp(kind, (directions, 3 * h), 7, 8) if with_peephole else None
    per = len(DEFAULT[op])
    acts = attributes.get("activations", DEFAULT[op] * directions)
    y = {}
    last_h, last_c = [], []
    for d in range(directions):
        cell = Cell(w, r, bias, peephole, d, h, gates, acts[d * per:(d + 1) * per], attributes.get("clip", 0))
        backwards = attributes.get("direction") == 1 or d == 1
        for b in range(n):
            state = [m(h0.exact((d, b, k))) if h0 else mpf(0) for k in range(h)]
            carry = [m(c0.exact((d, b, k))) if c0 else mpf(0) for k in range(h)]
            steps = range(lengths[b] if lengths else t)
            for s in reversed(steps) if backwards else steps:
                row = [m(x.exact((s, b, k))) for k in range(width)]
                if op == "lstm":
                    state, carry = lstm_step(cell, row, state, carry, attributes.get("input_forget", 0))
                elif op == "gru":
                    state = gru_step(cell, row, state, attributes.get("linear_before_reset", 0))
                else:
                    state = rnn_step(cell, row, state)
                for k in range(h):
                    y[s, d, b, k] = state[k]
            last_h += state
            last_c += carry
    all_y = [y.get((s, d, b, k), 0) for s in range(t) for d in range(directions) for b in range(n) for k in range(h)]
    results = [Tensor(kind, (t, directions, n, h), all_y), Tensor(kind, (directions, n, h), last_h)]
    if op == "lstm":
        results.append(Tensor(kind, (directions, n, h), last_c))
    operands = [x, w, r, bias, Tensor("i32", (n,), lengths) if lengths else None, h0, c0, peephole]
    while operands[-1] is None:
        operands.pop()
    return case(op, attributes, operands, results)


def cases():
    out = []
    for kind in ("f64", "f32"):
        for op in GATES:
            out += [run(op, kind, {}), run(op, kind, {"direction": 2}, with_state=True), run(op, kind, {"direction": 1, "clip": 0.5}, with_bias=False), run(op, kind, {}, lengths=[2, 3], with_state=True)]
        out += [run("lstm", kind, {}, with_peephole=True), run("lstm", kind, {"input_forget": 1}), run("lstm", kind, {"activations": ["relu", "tanh", "softsign"]})]
        out += [run("gru", kind, {"linear_before_reset": 1}, with_state=True), run("gru", kind, {"activations": ["relu", "softsign"]}), run("rnn", kind, {"activations": ["relu"]})]
    return out
