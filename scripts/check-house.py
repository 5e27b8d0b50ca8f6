#!/usr/bin/env python3
"""House rules that a compiler does not know. Run by ctest as `house`.

* a function has at most 60 lines;
* an include goes down the floors, never up or across: spec < proxy, spec < engine; engine never includes
  proxy; inside engine cli > sandbox > plan > the rest; inside spec kit > yaml, policy, ref > base;
* each module folder with C sources has a README.md;
* nothing committed carries a path of the machine it was written on.

usage: check-house.py [TREE]    exit 0: all hold; 1: each breach on a line of its own
"""
import os
import re
import subprocess
import sys

FUNCTION_LINES_MAX = 60

# A folder may include headers of these folders (prefixes), and of itself. The longest matching key counts.
FLOORS = {
    "spec/base": [],
    "spec/policy": ["spec/base"],
    "spec/ref": ["spec/base"],
    "spec/yaml": ["spec/base"],
    "spec/kit": ["spec/base", "spec/yaml", "spec/policy", "spec/ref"],
    "spec/bindings": ["spec/base", "spec/yaml", "spec/policy", "spec/ref", "spec/kit"],
    "proxy": ["spec"],
    "engine/late": ["spec"],
    "engine/login": ["spec"],
    "engine/store": ["spec", "engine/late"],
    "engine/oci": ["spec", "engine/late", "engine/login", "engine/store"],
    "engine/git": ["spec", "engine/late", "engine/login", "engine/store"],
    "engine/runtime": ["spec", "engine/late", "engine/login", "engine/store", "engine/oci"],
    "engine/resolve": ["spec", "engine/store", "engine/late", "engine/oci", "engine/git", "kits"],
    "engine/plan": ["spec", "engine/runtime", "engine/resolve"],
    "engine/sandbox": ["spec", "engine/runtime", "engine/store", "engine/resolve", "engine/plan"],
    "engine/cli": ["spec", "engine", "kits"],
    "kits": ["spec"],
}
# The public headers of spec lie in one folder for installation; each belongs to the floor that implements it.
SPEC_HEADERS = {
    "spec/policy": {"policy.h", "policy_json.h"},
    "spec/ref": {"ref.h"},
    "spec/yaml": {"yaml.h"},
    "spec/kit": {"kit.h", "migrate.h", "embedded.h"},
    "spec/bindings": {"settings.h", "bindings.h", "user.h"},
}
MACHINE = re.compile(r"/work/(main|shared|brief|wt|\.library)\b")


def tracked(tree):
    out = subprocess.run(["git", "-C", tree, "ls-files", "-co", "--exclude-standard"],
                         capture_output=True, text=True)
    if out.returncode == 0:
        return [f for f in out.stdout.splitlines() if os.path.isfile(os.path.join(tree, f))]
    found = []
    for folder, dirs, files in os.walk(tree):
        dirs[:] = [d for d in dirs if d not in (".git", "build")]
        found += [os.path.relpath(os.path.join(folder, f), tree) for f in files]
    return found


def floor_of(path):
    name = os.path.basename(path)
    if path.startswith("spec/include/"):
        for floor, headers in SPEC_HEADERS.items():
            if name in headers:
                return floor
        return "spec/base"
    keys = [k for k in FLOORS if path == k or path.startswith(k + "/")]
    return max(keys, key=len) if keys else None


def long_functions(path, lines):
    start = name = None
    for number, line in enumerate(lines, 1):
        if start is None:
            if line.startswith("{"):
                start = number
                back = number - 2
                while back > 0 and lines[back - 1].strip() and lines[back - 1][0] not in "#/}*":
                    back -= 1
                name, start = lines[back if lines[back].strip() else back + 1].strip(), back + 1
        elif line.startswith("}"):
            length = number - start + 1
            if length > FUNCTION_LINES_MAX and line.rstrip() == "}":
                yield f"{path}:{start}: function of {length} lines (at most {FUNCTION_LINES_MAX}): {name}"
            start = None


def climbing_includes(path, lines, headers):
    floor = floor_of(path)
    if floor is None:
        return
    for number, line in enumerate(lines, 1):
        m = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
        if not m:
            continue
        beside = os.path.normpath(os.path.join(os.path.dirname(path), m[1]))
        targets = [beside] if beside in headers else \
            [h for h in headers if h == m[1] or h.endswith("/" + m[1])]
        owners = {floor_of(t) for t in targets} - {None}
        allowed = [floor] + FLOORS[floor]
        if owners and not any(o == a or o.startswith(a + "/") for o in owners for a in allowed):
            yield (f"{path}:{number}: {floor} includes \"{m[1]}\" of {', '.join(sorted(owners))}: "
                   f"only {', '.join(allowed)} lie below it")


def main():
    tree = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    files = tracked(tree)
    headers = {f for f in files if f.endswith(".h")}
    breaches, folders = [], set()
    for path in sorted(files):
        text = open(os.path.join(tree, path), "rb").read()
        if b"\0" in text[:4096]:
            continue
        lines = text.decode("utf-8", "replace").splitlines()
        if path != "scripts/check-house.py":
            breaches += [f"{path}:{n}: a path of the machine it was written on"
                         for n, l in enumerate(lines, 1) if MACHINE.search(l)]
        if not path.endswith((".c", ".h")):
            continue
        breaches += long_functions(path, lines)
        breaches += climbing_includes(path, lines, headers)
        parts = path.split("/")
        if path.endswith(".c") and floor_of(path) and "tests" not in parts and "fuzz" not in parts:
            folders.add(os.path.dirname(path))
    breaches += [f"{d}: no README.md" for d in sorted(folders)
                 if f"{d}/README.md" not in files and f"{os.path.dirname(d)}/README.md" not in files]
    for b in breaches:
        print(b)
    print(f"checked {len(files)} files: {len(breaches)} breaches")
    return 1 if breaches or not files else 0


sys.exit(main())
