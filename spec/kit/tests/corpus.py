#!/usr/bin/env python3
"""Each real kit of the corpus: is it what the reference makes of it (expected.jsonl), and still the same kit
after it was written as YAML, and after its migration?

usage: corpus.py PROGRAM CORPUS_DIR    exit 0: all the same; 1: each difference on a line of its own
CORPUS_DIR holds kits/ and expected.jsonl: rows of file, ok, artifact, warningFields, unknownFields, lines.
PROGRAM answers `kit inspect --output json|yaml FILE` and `kit migrate DIR`.
"""
import concurrent.futures
import json
import pathlib
import subprocess
import sys
import tempfile

program, corpus = sys.argv[1], pathlib.Path(sys.argv[2])
kits = corpus / "kits"


def inspect(form, path):
    done = subprocess.run([program, "kit", "inspect", "--output", form, str(path)],
                          capture_output=True, timeout=60)
    return done.returncode, done.stdout


def clean(artifact):
    """Without what a rewritten kit of version 1 cannot say again (see sbx/kit.h)."""
    artifact.pop("warnings", None)
    manifest = artifact["manifest"]
    if manifest.pop("schemaVersion") == "1":
        manifest.pop("interactiveOptions", None)
        return True
    return False


def by_yaml(path, directory):
    (directory / "spec.yaml").write_bytes(inspect("yaml", path)[1])


def by_migration(path, directory):
    (directory / "spec.yaml").write_bytes(path.read_bytes())
    done = subprocess.run([program, "kit", "migrate", str(directory)], capture_output=True, timeout=60)
    refused = done.returncode != 0
    backup = directory / "spec.yaml.bak"
    if refused and (backup.exists() or (directory / "spec.yaml").read_bytes() != path.read_bytes()):
        raise RuntimeError("a refused migration changed the kit")
    if not refused and backup.exists() and backup.read_bytes() != path.read_bytes():
        raise RuntimeError("the backup is another file")
    if refused and b"reserved for the runtime" in done.stderr:
        by_yaml(path, directory)
    return done.stderr


def check(path, rewrite):
    status, text = inspect("json", path)
    if status:
        return None
    want = json.loads(text)
    with tempfile.TemporaryDirectory() as directory:
        rewrite(path, pathlib.Path(directory))
        status, text = inspect("json", directory)
    if status:
        codes = {d["code"] for d in json.loads(text)["diagnostics"] if d["severity"] == "error"}
        if clean(want) and codes == {"reserved-variable"}:
            return ""  # S10: version 2 does not have these names
        return f"{path}: refused: {text.decode()[:300]}"
    got = json.loads(text)
    if clean(want):
        got["manifest"].pop("interactiveOptions", None)
        if want["manifest"]["kind"] == "mixin" and "extends" in want:
            want["requires"] = {"agent": want.pop("extends")}
    clean(got)
    return "" if got == want else f"{path}: another artifact"


def plain(artifact):
    artifact = {k: v for k, v in artifact.items() if k not in ("warnings", "files")}
    if "environment" in artifact:
        artifact["environment"] = {k: v for k, v in artifact["environment"].items() if k != "proxyManaged"}
    return artifact


def expected(row):
    path = kits / row["file"]
    status, text = inspect("json", path)
    got = json.loads(text)
    if row["ok"] != (status == 0):
        return f"{path}: {'refused' if row['ok'] else 'accepted'}"
    if not row["ok"]:
        lines = {d.get("line") for d in got["diagnostics"]}
        missed = set(row.get("lines", [])) - lines if row.get("unknownFields") else None
        return f"{path}: unknown fields in lines {missed} are not told" if missed else ""
    if plain(row["artifact"]) != plain(got):
        return f"{path}: another artifact than the reference's"
    names = row.get("warningFields", [])
    said = got.get("warnings", [])
    same = len(names) == len(said) and all(w.startswith(n) for n, w in zip(names, said))
    return "" if same else f"{path}: other warnings: {said}, want {names}"


paths = sorted(kits.rglob("*.yaml"))
rows = [json.loads(line) for line in open(corpus / "expected.jsonl", encoding="utf-8")]
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    jobs = [(p, how) for p in paths for how in (by_yaml, by_migration)]
    rewritten = [r for r in pool.map(check, *zip(*jobs)) if r is not None]
    results = list(pool.map(expected, rows))
bad = [r for r in rewritten + results if r]
print("\n".join(bad))
print(f"{len(rows)} kits, {len(rewritten) // 2} of them valid: {len(bad)} differ from the reference, or after they "
      "were rewritten or migrated")
sys.exit(1 if bad or not rewritten or not rows else 0)
