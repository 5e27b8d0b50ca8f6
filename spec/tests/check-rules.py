#!/usr/bin/env python3
"""docs/rules.tsv: each rule of the specification names a test that keeps it and one that breaks it; both exist.

usage: check-rules.py TREE    exit 0: all do; 1: each fault on a line
The first line names the columns: page and heading, what it says, the test that keeps it, the test that breaks it,
what settled it ("specification", or the reason for something else). A test is one of
  FILE.c:FUNCTION           a function that a tests/ folder runs
  cases/NAME                a spec of spec/kit/tests/cases and its findings
  cases/NAME: TEXT          the same, and TEXT is in the findings
  PATH/tests/SCRIPT.sh      a script of a tests/ folder
"""
import pathlib
import re
import sys

COLUMNS = ["rule", "what it says", "test that keeps it", "test that breaks it", "settled by"]


def known_tests(tree):
    known = {}
    for path in (tree / "spec/kit/tests/cases").iterdir():
        if (path / "want.txt").exists():
            known[f"cases/{path.name}"] = (path / "want.txt").read_text(encoding="utf-8")
    for top in ("spec", "engine", "proxy"):
        for path in (tree / top).rglob("tests/*"):
            if path.suffix == ".sh":
                known[str(path.relative_to(tree))] = ""
            if path.suffix == ".c":
                text = path.read_text(encoding="utf-8")
                called = set(re.findall(r"(?:cmocka_unit_test\w*|\w*TEST)\((\w+)", text))
                for name in called & set(re.findall(r"static void (\w+)\(void \*\*", text)):
                    known[f"{path.name}:{name}"] = ""
    return known


def is_known(test, known):
    name, _, text = test.partition(": ")
    return name in known and text in known[name]


def faults(lines, known):
    rules = set()
    if lines[:1] != ["# " + "\t".join(COLUMNS)]:
        yield "1: the first line does not name the columns"
    for number, line in enumerate(lines[1:], 2):
        cells = line.split("\t")
        if len(cells) != len(COLUMNS) or not all(c.strip() for c in cells):
            yield f"{number}: wants {len(COLUMNS)} cells"
            continue
        if (cells[0], cells[1]) in rules:
            yield f"{number}: twice"
        rules.add((cells[0], cells[1]))
        for test in cells[2:4]:
            if not is_known(test, known):
                yield f"{number}: no test {test}"


def check_the_check():
    """What it has to notice, on a table of its own."""
    head = "# " + "\t".join(COLUMNS)
    known = {"test_a.c:holds": "", "cases/x": "spec.yaml:1:1: is required"}
    good = "a\tb\ttest_a.c:holds\tcases/x: is required\tspecification"
    assert not list(faults([head, good], known))
    for bad in ([good], [head, good, good], [head, good.rsplit("\t", 1)[0]], [head, good.replace("\tb\t", "\t\t")],
                [head, good.replace("holds", "gone")], [head, good.replace("is required", "is missing")],
                [head, good.replace("cases/x", "cases/y")], [head.rsplit("\t", 1)[0], good]):
        assert len(list(faults(bad, known))) >= 1, bad


check_the_check()
tree = pathlib.Path(sys.argv[1])
table = (tree / "docs/rules.tsv").read_text(encoding="utf-8").splitlines()
bad = [f"docs/rules.tsv:{fault}" for fault in faults(table, known_tests(tree))]
if len(table) < 150:
    bad.append(f"docs/rules.tsv: only {len(table)} lines")
print("\n".join(bad) or f"{len(table) - 1} rules, each with its tests")
sys.exit(bool(bad))
