#!/usr/bin/env python3
"""Takes each guard of guards.txt out of its file in turn and runs test_pass: it must fail.

usage: guards.py BUILD     BUILD/bin/test_pass is built and passes

Only the changed file is compiled; its object comes before the core's archive when the test is linked
again, so nothing in the tree is touched."""
import concurrent.futures
import json
import os
import re
import shlex
import subprocess
import sys


def rows():
    here = os.path.dirname(os.path.abspath(__file__))
    for line in open(os.path.join(here, "guards.txt")):
        if line.strip() and not line.startswith("#"):
            file, guard, without = (part.strip().replace("\\|", "|") for part in re.split(r" \| | \|$", line.rstrip("\n"))[:3])
            yield file, guard, without


def normal(text):
    return re.sub(r"\s+", " ", text)


def take_out(text, guard, without):
    """The text without the guard, however its lines are broken; None unless it is there once."""
    pattern = r"\s+".join(re.escape(word) for word in guard.split())
    return re.sub(pattern, lambda _: without, text) if len(re.findall(pattern, text)) == 1 else None


def survives(build, root, number, row):
    """Why the tests do not notice that the guard is gone; None if they do."""
    file, guard, without = row
    name = f"{file}: {normal(guard)}"
    changed = take_out(open(os.path.join(root, file)).read(), guard, without)
    if changed is None:
        return f"{name}: want it once in the file"
    folder = os.path.join(build, "guards")
    source, object_file, program = (os.path.join(folder, f"{number}{end}") for end in (".cc", ".o", ".test"))
    with open(source, "w") as out:
        out.write(changed)
    command = next(c for c in json.load(open(os.path.join(build, "compile_commands.json"))) if c["file"].endswith("/" + file))
    words = shlex.split(command["command"])
    words[words.index("-o") + 1] = object_file
    words[-1] = source
    # Compiled once to run once: no optimisation, and without the precompiled header that wants it.
    words = ["-O0" if w == "-O2" else w for w in words if not w.endswith("ccache") and w not in ("-Werror", "-Winvalid-pch")]
    if "-include" in words:
        del words[words.index("-include"):words.index("-include") + 2]
    compiled = subprocess.run(words, cwd=command["directory"], capture_output=True, text=True)
    if compiled.returncode:
        return f"{name}: does not compile without it: {compiled.stderr[:300]}"
    commands = subprocess.run(["ninja", "-C", build, "-t", "commands", "bin/test_pass"], capture_output=True, text=True, check=True)
    link = next(l for l in reversed(commands.stdout.splitlines()) if "-o bin/test_pass" in l)
    link = link.replace("-o bin/test_pass", f"-o {program} {object_file}").split(" && ")
    subprocess.run(" && ".join(l for l in link if "gtest_discover" not in l and "cmake_" not in l), shell=True, cwd=build, check=True)
    result = subprocess.run([program, "--gtest_brief=1"], cwd=build, capture_output=True, timeout=120)
    for path in (source, object_file, program):
        os.remove(path)
    return f"{name}: no test notices that it is gone" if result.returncode == 0 else None


def main():
    build, root = os.path.abspath(sys.argv[1]), os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
    os.makedirs(os.path.join(build, "guards"), exist_ok=True)
    if subprocess.run([os.path.join(build, "bin/test_pass"), "--gtest_brief=1"], capture_output=True, cwd=build).returncode:
        sys.exit("test_pass: want it to pass with every guard in place")
    table = list(rows())
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(lambda n: survives(build, root, n, table[n]), range(len(table))))
    faults = [f for f in found if f]
    print("\n".join(faults))
    print(f"{len(table) - len(faults)} of {len(table)} guards are held by a test")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
