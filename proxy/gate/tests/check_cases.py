#!/usr/bin/env python3
"""cases.tsv: each attack and edge case names the tests that hold it, or the decision that leaves it out.

usage: check_cases.py TREE    exit 0: all do; 1: each fault on a line
A test is FILE:TEST below proxy/ (Python method or cmocka function); its name holds the case's id. What is left out
is "-" and the reason, which begins with a decision's id or with the part of the project that has the case.
"""
import pathlib
import re
import sys

CASES = ("A1 A3 A5 A6 A8 A10 A11 A13 A15 A16 A18 B2 B3 B5 B7 B8 B10 B12 B13 B15 B17 B18 B20 B22 C1 C3 C5 C6 C8 C10 C11 C13 "
         "C15 C16 C18 D1 D2 D4 D6 D7 D9 D11 D12 D14 D16 D17 D19 D21 D22 E2 E4 E5 E7 E9 E10 E12 E14 E15 E17 F2 F3 F5 F7 F8 F10 "
         "F12 F13 F15 F17 F18 F20 F22 F23 G1 G3 G4 G6 G8 G9 G11 G13 G14 G16 G18").split()
REASON = re.compile(r"(decision [A-Z]\d+|credentials|runtime|not yet): .")

tree = pathlib.Path(sys.argv[1])
known = set()
for path in list((tree / "proxy").rglob("tests/*.py")) + list((tree / "proxy").rglob("tests/test_*.c")):
    text = path.read_text(encoding="utf-8")
    known |= {"%s:%s" % (path.name, name) for name in
              re.findall(r"^    def (test_\w+)\(" if path.suffix == ".py" else r"cmocka_unit_test\w*\((\w+)", text, re.M)}
bad, seen, held = [], [], 0
table = tree / "proxy/gate/tests/cases.tsv"
for number, line in enumerate(table.read_text(encoding="utf-8").splitlines(), 1):
    if line.startswith("#"):
        continue
    where = "cases.tsv:%d: " % number
    cells = line.split("\t")
    if len(cells) != 4 or not all(cells[:3]):
        bad.append(where + "wants case, subject, tests, remark")
        continue
    case, _, tests, remark = cells
    seen.append(case)
    if tests == "-":
        if not REASON.match(remark):
            bad.append(where + "a case without a test wants its reason")
        continue
    held += 1
    for test in tests.split(" "):
        if test not in known:
            bad.append(where + "no test " + test)
        if not re.search(r"_%s(_|$)" % case, test):
            bad.append(where + "the name of %s does not hold %s" % (test, case))
if seen != CASES:
    bad.append("cases.tsv: missing %s; unknown, twice or out of order %s" % (
        [c for c in CASES if c not in seen], [c for c in seen if c not in CASES or seen.count(c) > 1]))
print("\n".join(bad) or "%d cases: %d held by tests, %d left out with their reason" % (len(seen), held, len(seen) - held))
sys.exit(bool(bad))
