#!/usr/bin/env python3
"""Rules of the tree that a compiler does not know: layers, words, sizes. Run from the root."""
import collections
import os
import re
import subprocess
import sys

LAYERS = "base config op graph driver model claim cost pass place plan dispatch session vm script api".split()
# No vendor or backend has a name in the core.
VENDORS = re.compile(r"\b(cuda|nvidia|rocm|hip|amd|vulkan|metal|apple|tpu|openblas|intel|avx)\b", re.I)
WORDS = re.compile(r"\b\w*(Manager|Helper|Util|Impl|Process)\b")
MOST_LINES = {"plugins": 300, "core/pass": 120, "core/session/session.cc": 150}
ALLOWED = "tests/rules/allowed.txt"  # FILE LINES REASON; the list may only shrink


def tracked():
    out = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True, check=True).stdout
    return [f for f in out.splitlines() if os.path.exists(f)]


def one_definition(files):
    """A class of one namespace has one definition: two of a name are one to the linker."""
    seen = {}
    for file in files:
        if not re.match(r"(core|tools|conformance)/.*\.h$", file):
            continue
        text = open(file).read()
        namespace = re.search(r"^namespace ([\w:]+)", text, re.M)
        for name in re.findall(r"^(?:class|struct|enum class) (\w+)(?!\w|::)[^;]*?\{", text, re.M):
            other = seen.setdefault((namespace and namespace[1], name), file)
            if other != file:
                yield f"{file}: {name} is defined in {other} too"


def layers(files):
    for file in files:
        if not file.startswith("core/"):
            continue
        here = file.split("/")[1]
        for number, line in enumerate(open(file), 1):
            found = re.match(r'#include "core/(\w+)/', line)
            if found and LAYERS.index(found[1]) > LAYERS.index(here):
                yield f"{file}:{number}: {here} may not look right, at {found[1]}"
            if VENDORS.search(line) and not line.startswith("//") and "include" not in line:
                yield f"{file}:{number}: a vendor's name in the core: {line.strip()}"


def plugins(files):
    for file in files:
        if not file.startswith(("plugins/", "plugin-api/")):
            continue
        if file.endswith((".cc", ".h", ".c")):
            for number, line in enumerate(open(file), 1):
                if re.match(r'#include "(core|tools|tests)/', line):
                    yield f"{file}:{number}: plugins include plugin-api only"


def words(files):
    for file in files:
        if not file.endswith((".cc", ".h", ".c")) or file.startswith("tests/models"):
            continue
        for number, line in enumerate(open(file), 1):
            code = re.sub(r'//.*|"[^"]*"', "", line)
            if found := WORDS.search(code):
                yield f"{file}:{number}: a name that says nothing: {found[0]}"


def most(file):
    for prefix, lines in MOST_LINES.items():
        if file.startswith(prefix):
            return lines
    return 400


def sizes(files):
    allowed = {}
    for line in open(ALLOWED):
        if line.strip() and not line.startswith("#"):
            name, lines, _ = line.split(maxsplit=2)
            allowed[name] = int(lines)
    total = 0
    for file in files:
        if not file.endswith((".cc", ".h", ".c", ".def", ".py")) or file.startswith("tests/models"):
            continue
        n = sum(1 for _ in open(file))
        total += n if file.startswith("core/") else 0
        if n > allowed.get(file, most(file)):
            yield f"{file}: want at most {allowed.get(file, most(file))} lines, got {n}"
        if file in allowed and n <= most(file):
            yield f"{ALLOWED}: {file} fits now; take it off the list"
    if total > allowed.get("core", 15000):
        yield f"core: want at most {allowed.get('core', 15000)} lines, got {total}"


# The first line of a function: not of a type, a namespace or a block inside one.
FUNCTION = re.compile(r"^( {0,2})(?!namespace|struct|class|enum|extern|constexpr|const |static const|#|//|typedef|union|\}|INSTANTIATE"
                      r"|if|for|while|switch|do|else)(\S.*\)( const)?( noexcept)?( override)?( -> \S+)?) \{$")


def functions(files):
    for file in files:
        if not file.endswith((".cc", ".h", ".c", ".hpp")) or file.startswith("tests/models"):
            continue
        first, close = None, ""
        for number, line in enumerate(open(file), 1):
            line = line.rstrip("\n")
            if first is None:
                if found := FUNCTION.match(line):
                    first, close = number, found[1] + "}"
            elif line in (close, "}"):
                if line == close and number - first >= 60:
                    yield f"{file}:{first}: want at most 60 lines in a function, got {number - first + 1}"
                first = None


def readmes(files):
    headings = ["## What it is", "## Where in the flow", "## Files", "## Rules", "## How to add"]
    folders = {"core/" + f.split("/")[1] for f in files if f.startswith("core/") and f.count("/") > 1}
    folders |= {"plugins/" + f.split("/")[1] for f in files if f.startswith("plugins/") and f.count("/") > 1}
    sources = collections.Counter(os.path.dirname(f) for f in files if f.endswith((".cc", ".h")) and not f.startswith("tests/"))
    folders |= {folder for folder, n in sources.items() if n > 8}
    folders |= {"core", "plugins", "plugin-api", "configs", "tests", "conformance", "tools", "tests/property"}
    for folder in sorted(folders):
        path = folder + "/README.md"
        if path not in files:
            yield f"{path}: want a README"
            continue
        text = open(path).read()
        for heading in headings:
            if heading not in text:
                yield f"{path}: want the heading '{heading}'"


def places(files):
    for file in files:
        if file.startswith(("tests/models/real", "tests/models/reference")) or not file.endswith((".md", ".cc", ".h", ".txt", ".py", ".toml", ".cmake", ".c")):
            continue
        for number, line in enumerate(open(file, errors="replace"), 1):
            if re.search(r"/work/|/home/\w|/root/", line) and file != "tests/rules/rules.py":
                yield f"{file}:{number}: a path of one machine"


def main():
    files = tracked()
    faults = [fault for rule in (layers, one_definition, plugins, words, sizes, functions, readmes, places) for fault in rule(files)]
    print("\n".join(faults) or f"{len(files)} files keep the rules")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
