#!/usr/bin/env python3
"""Every stable code of a finding about kits has its section in docs/diagnostics.md, and no other has.

usage: check-diagnostics.py TREE    exit 0: all match; 1: each difference on a line of its own
"""
import pathlib
import re
import sys

# A code is the first string literal behind a severity, a position-taking helper, or a status.
CALL = re.compile(
    r"(?:SBX_ERROR \? \"bad-value\" :|SBX_(?:ERROR|WARNING|NOTE)|SBX_SYNTAX|SBX_LIMIT|refuse\(diags|sbx_compose_conflict\([^\",]+|sbx_decode_warn\([^\"]+)"
    r"[^\";{}]*?\"([a-z]+[0-9a-z]*(?:-[0-9a-z]+)+)\"")

tree = pathlib.Path(sys.argv[1])
used = {}
for folder in ("spec/yaml", "spec/kit", "spec/bindings", "engine/resolve", "engine/plan"):
    for path in sorted((tree / folder).glob("*.c")):
        for match in CALL.finditer(path.read_text(encoding="utf-8")):
            used.setdefault(match.group(1), path.relative_to(tree))
page = (tree / "docs/diagnostics.md").read_text(encoding="utf-8")
documented = set(re.findall(r"^### ([a-z0-9-]+)$", page, re.M))
bad = [f"{where}: {code} is not in docs/diagnostics.md" for code, where in used.items()
       if code not in documented]
bad += [f"docs/diagnostics.md: {code} is never reported" for code in documented - set(used)]
classes = set(re.findall(r"\[SBX_[A-Z_]+\] = \{ \"([a-z-]+)\", [1-9]", (tree / "spec/base/err.c").read_text(encoding="utf-8")))
table = page[page.find("## Failures of a command"):]
bad += [f"spec/base/err.c: {code} is not in the table of docs/diagnostics.md" for code in classes if f"`{code}`" not in table]
if len(used) < 30 or len(classes) < 10:
    bad.append(f"only {len(used)} codes found: the search is broken")
print("\n".join(sorted(bad)) or f"{len(used)} codes, each documented")
sys.exit(bool(bad))
