"""Generates every network of tests/models/reference under build/models, if it is not there yet.

The hashes in the reference manifests say whether this machine made the same weights and inputs; the
manifest that is written names the generated inputs and the stored outputs of the reference.
"""
import hashlib
import json
import os
import shutil
import subprocess
import sys

import numpy as np
import onnx
from onnx import numpy_helper

SOURCE, TARGET = "tests/models/reference", "build/models"


def hashes(folder, manifest):
    """sha256 over the raw initialiser bytes in file order, and over each input's elements."""
    weights = hashlib.sha256()
    for tensor in onnx.load(os.path.join(folder, "model.onnx"), load_external_data=True).graph.initializer:
        weights.update(numpy_helper.to_array(tensor).tobytes())
    inputs = [hashlib.sha256(np.load(os.path.join(folder, i["file"])).tobytes()).hexdigest() for i in manifest["inputs"]]
    return weights.hexdigest(), inputs


def make(name):
    with open(os.path.join(SOURCE, name, "manifest.json")) as f:
        reference = json.load(f)
    folder = os.path.join(TARGET, name)
    done = os.path.join(folder, "manifest.json")
    stamp = json.dumps(reference, sort_keys=True)
    if os.path.exists(done):
        with open(done) as f:
            if json.load(f).get("stamp") == stamp:
                return
    command = [sys.executable, "tests/models/generate.py", *reference["generate"].split(), "--out", folder]
    subprocess.run(command, check=True)
    with open(done) as f:
        manifest = json.load(f)
    got_weights, got_inputs = hashes(folder, manifest)
    if got_weights != reference["weights_sha256"] or got_inputs != reference["inputs_sha256"]:
        sys.exit(f"tools/models: {name}: want weights {reference['weights_sha256']}, got {got_weights} (or its inputs differ)")
    for output in reference["outputs"]:
        shutil.copy(os.path.join(SOURCE, name, output["file"]), folder)
    manifest.update(outputs=reference["outputs"], source=reference["source"], stamp=stamp)
    with open(done, "w") as f:
        json.dump(manifest, f, indent=1)
    print(f"{name}: made and checked")


if __name__ == "__main__":
    for name in sys.argv[1:] or sorted(os.listdir(SOURCE)):
        make(name)
