#!/usr/bin/env python3
"""The JSON Schemas against a real validator: they accept what the loader takes without a finding, and
refuse unknown fields.

usage: schema.py PROGRAM VECTORS.jsonl [KITS_DIR]    exit 0; 1: each difference on a line; 77: no validator
PROGRAM answers `kit schema --version 1|2` and `kit inspect --output json FILE`.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

try:
    import jsonschema
    import yaml
except ImportError as missing:
    print(f"SKIPPED: {missing} (Debian: python3-jsonschema python3-yaml)")
    sys.exit(77)

program = sys.argv[1]


class Loader(yaml.SafeLoader):
    """Dates and unknown tags stay text."""


Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in rows if not tag.endswith(("timestamp", "float"))]
    for first, rows in yaml.SafeLoader.yaml_implicit_resolvers.items()}
Loader.add_implicit_resolver("tag:yaml.org,2002:float",
                             re.compile(r"^[-+]?(\.[0-9]+|[0-9][0-9_]*(\.[0-9]*)?)([eE][-+]?[0-9]+)?$"),
                             list("-+.0123456789"))
Loader.add_constructor(None, lambda loader, node: loader.construct_scalar(node)
                       if isinstance(node, yaml.ScalarNode) else loader.construct_mapping(node, True)
                       if isinstance(node, yaml.MappingNode) else loader.construct_sequence(node, True))


def texts_as_keys(value):
    if isinstance(value, dict):
        return {str(k): texts_as_keys(v) for k, v in value.items()}
    if isinstance(value, list):
        return [texts_as_keys(v) for v in value]
    return value


def schema(version):
    text = subprocess.run([program, "kit", "schema", "--version", version], capture_output=True,
                          check=True, timeout=60).stdout
    parsed = json.loads(text)
    jsonschema.Draft202012Validator.check_schema(parsed)
    return jsonschema.Draft202012Validator(parsed)


schemas = {version: schema(version) for version in "12"}


def findings(path):
    """The findings of a refused kit and True, or the lines about a valid one and False."""
    done = subprocess.run([program, "kit", "inspect", "--output", "json", path], capture_output=True,
                          text=True, errors="replace", timeout=60)
    found = [] if not done.returncode else json.loads(done.stdout)["diagnostics"]
    if done.returncode:
        return found, True
    return done.stderr, False


def check(row):
    ident, text = row
    try:
        value = texts_as_keys(next(yaml.load_all(text, Loader)))
    except Exception:  # other YAML than the loader's: merge keys, tabs, control characters
        return None
    version = str(value.get("schemaVersion")) if isinstance(value, dict) else ""
    if version not in schemas:
        return None
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8", newline="") as file:
        file.write(text)
        file.flush()
        found, failed = findings(file.name)
    errors = list(schemas[version].iter_errors(value))
    if failed and any(d["code"] == "unknown-field" for d in found) and not errors:
        return f"{ident}: the schema takes unknown fields"
    loose = not failed and re.search(r"is read as|empty list item|entry with an empty key|version is a string"
                                     r"|proxyManaged: has no effect", found)
    if not failed and not loose and errors:
        e = errors[0]
        return f"{ident}: the schema refuses: {'.'.join(map(str, e.path))}: {e.message[:200]}"
    return "refused" if errors else "taken"


rows = [(r["id"], r["spec"]) for r in map(json.loads, open(sys.argv[2], encoding="utf-8"))]
if len(sys.argv) > 3 and os.path.isdir(sys.argv[3]):
    rows += [(str(p), p.read_text(encoding="utf-8")) for p in sorted(pathlib.Path(sys.argv[3]).rglob("*.yaml"))]
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    results = [r for r in pool.map(check, rows) if r]
bad = [r for r in results if r not in ("taken", "refused")]
print("\n".join(bad[:20]))
print(f"{len(rows)} specs: {results.count('taken')} taken, {results.count('refused')} refused, "
      f"{len(bad)} differ")
sys.exit(1 if bad or results.count("taken") < 100 or results.count("refused") < 100 else 0)
