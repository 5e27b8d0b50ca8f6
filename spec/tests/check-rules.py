#!/usr/bin/env python3
"""docs/rules.tsv: each rule of the specification names a test that keeps it and one that breaks it; both exist.

usage: check-rules.py TREE    exit 0: all do; 1: each fault on a line
A test is FILE.c:FUNCTION of some tests/ folder, or cases/NAME of spec/kit/tests.
"""
import pathlib
import re
import sys

tree = pathlib.Path(sys.argv[1])
known = {f"cases/{p.name}" for p in (tree / "spec/kit/tests/cases").iterdir() if (p / "want.txt").exists()}
for top in ("spec", "engine", "proxy"):
    for path in (tree / top).rglob("tests/test_*.c"):
        text = path.read_text(encoding="utf-8")
        called = set(re.findall(r"(?:cmocka_unit_test\w*|\w*TEST)\((\w+)", text))
        known |= {f"{path.name}:{name}" for name in called}
bad, rules = [], set()
for number, line in enumerate((tree / "docs/rules.tsv").read_text(encoding="utf-8").splitlines(), 1):
    if line.startswith("#"):
        continue
    cells = line.split("\t")
    if len(cells) != 4 or not all(cells):
        bad.append(f"docs/rules.tsv:{number}: wants four cells")
        continue
    if (cells[0], cells[1]) in rules:
        bad.append(f"docs/rules.tsv:{number}: twice")
    rules.add((cells[0], cells[1]))
    bad += [f"docs/rules.tsv:{number}: no test {test}" for test in cells[2:] if test not in known]
if len(rules) < 40:
    bad.append(f"only {len(rules)} rules")
print("\n".join(bad) or f"{len(rules)} rules, each with its tests")
sys.exit(bool(bad))
