#!/usr/bin/env python3
"""Writes conformance/data/golden.txt: operands and results of every op, from independent sources.

    tools/golden.py [FILE]       (needs mpmath: pip install mpmath)

Nothing here comes from Ferrule. Exact arithmetic is python's fractions, functions are mpmath with 60
digits, movement is written from the definition of each op; each number is rounded once, to nearest
even, to its element type. One line is one case:

    op|attributes|bodies|operands|results

    attributes  slot=value, apart by spaces; lists by commas; op ids by name
    bodies      types: op 0 1 {attributes}; ... > outputs, apart by " / "; values are numbered, inputs
                first, then each node's results
    operands    type[shape]=elements, apart by spaces; - a missing one
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden"))
import bodies  # noqa: E402
import kinds  # noqa: E402
import moves  # noqa: E402
import pointwise  # noqa: E402
import recurrent  # noqa: E402
import sampling  # noqa: E402
import sums  # noqa: E402

TARGET = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "conformance", "data", "golden.txt")


def main():
    path = sys.argv[1] if len(sys.argv) > 1 else TARGET
    lines = ["# Written by tools/golden.py; its head says how a line reads and where the numbers come from."]
    for module in (pointwise, moves, sums, sampling, recurrent, kinds, bodies):
        lines += ["", "# " + module.__doc__.strip().splitlines()[0]]
        lines += module.cases()
    with open(path, "w", encoding="ascii") as out:
        out.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
