#!/usr/bin/env python3
"""Runs SCALE-Sim on the matrix products of scalesim.txt and writes that file anew.

    python3 -m venv build/scalesim && build/scalesim/bin/pip install scalesim==3.0.0 "numpy<2"
    build/scalesim/bin/python tests/tpu_sim/record_scalesim.py

The array is 128 x 128 and memory never stalls it, so what is recorded is the compute report's
"Total Cycles". SCALE-Sim counts the last cycle from 0, like every other.
"""
import contextlib
import csv
import io
import os
import tempfile

from scalesim.scale_sim import scalesim

SHAPES = [  # m, n, k of [m, k] x [k, n]: tile edges, one past them, thin, deep, and a model's own
    (128, 128, 128), (1, 128, 128), (128, 1, 128), (128, 128, 1), (129, 128, 128), (128, 129, 128),
    (128, 128, 129), (256, 256, 256), (512, 512, 512), (64, 64, 64), (7, 13, 29), (1, 1000, 512),
    (200, 300, 400), (384, 128, 768), (16, 768, 256), (300, 40, 1000), (1024, 256, 64),
    (50, 512, 512), (333, 222, 111), (128, 384, 640),
]
CONFIG = """[general]
run_name = run
[architecture_presets]
ArrayHeight: 128
ArrayWidth: 128
IfmapSramSzkB: 6144
FilterSramSzkB: 6144
OfmapSramSzkB: 2048
IfmapOffset: 0
FilterOffset: 10000000
OfmapOffset: 20000000
Bandwidth: 10
Dataflow: {dataflow}
MemoryBanks: 1
ReadRequestBuffer: 32
WriteRequestBuffer: 32
[layout]
IfmapCustomLayout: False
IfmapSRAMBankBandwidth: 10
IfmapSRAMBankNum: 10
IfmapSRAMBankPort: 2
FilterCustomLayout: False
FilterSRAMBankBandwidth: 10
FilterSRAMBankNum: 10
FilterSRAMBankPort: 2
[sparsity]
SparsitySupport: false
[run_presets]
InterfaceBandwidth: CALC
UseRamulatorTrace: False
"""


def cycles(dataflow, shapes):
    """Cycles of each shape; a folder of its own takes SCALE-Sim's files."""
    with tempfile.TemporaryDirectory() as folder:
        def put(name, text):
            path = os.path.join(folder, name)
            with open(path, "w") as file:
                file.write(text)
            return path
        config = put("array.cfg", CONFIG.format(dataflow=dataflow))
        rows = "".join(f"p{i},{m},{n},{k},1:1,\n" for i, (m, n, k) in enumerate(shapes))
        topology = put("products.csv", "Layer,M,N,K,Sparsity,\n" + rows)
        layout = put("layout.csv", "Layer,\n" + "".join(f"p{i},\n" for i in range(len(shapes))))
        with contextlib.redirect_stdout(io.StringIO()):
            run = scalesim(save_disk_space=True, verbose=False, config=config, topology=topology,
                           layout=layout, input_type_gemm=True)
            run.run_scale(top_path=folder)
        with open(os.path.join(folder, "run", "COMPUTE_REPORT.csv")) as file:
            rows = [{key.strip(): value for key, value in row.items() if key} for row in csv.DictReader(file)]
        return [int(float(row["Total Cycles"])) for row in rows]


def main():
    found = {dataflow: cycles(dataflow, SHAPES) for dataflow in ("os", "ws")}
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "scalesim.txt")
    with open(path, "w") as file:
        file.write("# SCALE-Sim 3.0.0 on a 128 x 128 array (record_scalesim.py): [m, k] x [k, n], its cycles output\n"
                   "# stationary and weight stationary\n# m n k os ws\n")
        for shape, a, b in zip(SHAPES, found["os"], found["ws"]):
            file.write(" ".join(map(str, shape)) + f" {a} {b}\n")


if __name__ == "__main__":
    main()
