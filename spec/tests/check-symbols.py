#!/usr/bin/env python3
"""The shared library exports exactly what its headers declare and sbx-spec.map lists; and it has no writable data.

usage: check-symbols.py SPEC_DIR LIBRARY.so [--write]    exit 0: all match; 1: each difference on a line
--write puts the headers' names into the map
"""
import pathlib
import re
import subprocess
import sys

VERSION = "SBX_SPEC_0"


def declared(folder):
    """Functions and data of the headers: names before "(" or ";" outside of braces and parentheses."""
    names = set()
    for path in sorted(folder.glob("*.h")):
        text = re.sub(r"/\*.*?\*/", " ", path.read_text(encoding="utf-8"), flags=re.S)
        text = re.sub(r"^\s*#(?:.*\\\n)*.*$", "", text, flags=re.M)
        text = re.sub(r"typedef[^;{]*;", ";", text)
        text = re.sub(r"static inline[^{;]*\{(?:[^{}]|\{[^{}]*\})*\}", ";", text)
        while re.search(r"\{[^{}]*\}", text):
            text = re.sub(r"\{[^{}]*\}", " ", text)
        for statement in text.split(";"):
            m = re.search(r"\b(sbx_\w+)\s*\(", statement)
            if m and "(*" not in statement[: m.end() + 1]:
                names.add(m.group(1))
            m = re.search(r"\bextern\b.*\b(sbx_\w+)(?:\[\])?\s*$", statement, re.S)
            if m:
                names.add(m.group(1))
    return names


def main():
    spec, library = pathlib.Path(sys.argv[1]), sys.argv[2]
    names = declared(spec / "include/sbx")
    script = spec / "sbx-spec.map"
    if "--write" in sys.argv:
        script.write_text("/* What the shared library exports; kept in step by tests/check-symbols.py. */\n"
                          f"{VERSION} {{\n  global:\n"
                          + "".join(f"    {n};\n" for n in sorted(names)) + "  local:\n    *;\n};\n")
    listed = set(re.findall(r"^    (sbx_\w+);$", script.read_text(), re.M))
    out = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    exported = {m.group(1) for m in re.finditer(rf" [TDRB] (\w+)@@{VERSION}$", out, re.M)}
    others = {line.split()[-1] for line in out.splitlines()
              if f"@@{VERSION}" not in line and line.split()[-1].split("@")[0] != VERSION}
    bad = [f"{n}: declared, not in the map" for n in names - listed]
    bad += [f"{n}: in the map, not declared" for n in listed - names]
    bad += [f"{n}: not exported (is it defined?)" for n in listed - exported]
    bad += [f"{n}: exported without a version" for n in others]
    sections = subprocess.run(["size", "-A", library], capture_output=True, text=True, check=True).stdout
    for name, most in ((".data", 16), (".bss", 16)):  # what the compiler's start files put there
        m = re.search(rf"^{re.escape(name)}\s+(\d+)", sections, re.M)
        if m and int(m.group(1)) > most:
            bad.append(f"{name}: {m.group(1)} bytes of writable data: global state")
    print("\n".join(sorted(bad)) or f"{len(names)} names")
    return bool(bad)


sys.exit(main())
