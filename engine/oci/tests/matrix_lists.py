"""Rows of matrix.py: lists of tags and of referrers, look-ups and deletes, of a registry that answers what no registry would."""
import json
import os

from matrix_world import MANIFEST, SBX, Pull, row, sha

INDEX = "application/vnd.oci.image.index.v1+json"
BELL = "\x1b]0;x\x07"


def ask(r, words, answers, status, text, most=20):
    """`answers`: begin of a path: (status, body, headers) or a function of the handler."""
    t = Pull(r, "config")

    def hook(h):
        r.reg.count(r.reg.asked, "all")
        for path, answer in answers.items():
            if path in h.path:
                code, body, headers = answer(h) if callable(answer) else answer
                h.drain()
                h.answer(code, body if isinstance(body, bytes) else json.dumps(body).encode(), **headers)
                return True
        return False
    r.reg.hook = hook
    out = r.run([SBX, "--no-input", "kit", *(w.replace("HOST", r.reg.host).replace("DIGEST", t.digest) for w in words)], status, text)
    r.check("nothing of a terminal's in it", any(x in out for x in "\x1b\x07"), False)
    r.check("it is not asked for ever", r.reg.asked["all"] <= most)
    r.check("nobody else was asked", [x for x in r.reg.log if x.startswith("away")], [])


TAGS = ["inspect", "HOST/x", "--tags"]
REFERRERS = ["inspect", "HOST/x@DIGEST", "--referrers"]


def page(name, body, n=[0]):  # pylint: disable=dangerous-default-value
    """A list that never ends: each page names the next one."""
    def answer(h):
        n[0] += 1
        return 200, {name: body(n[0])}, {"Link": f'<{h.path.split("?")[0]}?n={n[0]}>; rel="next"', "Content_Type": INDEX}
    return answer


def entry(**more):
    return {"mediaType": MANIFEST, "digest": sha(b"x"), "size": 1, **more}


def lists(r, body, status, text):
    ask(r, REFERRERS, {"/referrers/": (200, body, {"Content_Type": INDEX})}, status, text)


row("tags: with control characters", lambda r: ask(r, TAGS, {"/tags/": (200, {"tags": [BELL, "a\nb", "1"]}, {})}, 0, "1"))
row("tags: of all kinds of JSON", lambda r: ask(r, TAGS, {"/tags/": (200, {"tags": [5, None, {}, ["x"], "1"]}, {})}, 0, "1"))
row("tags: no list", lambda r: ask(r, TAGS, {"/tags/": (200, {"tags": {"a": "b"}}, {})}, 1, "list of tags is not one"))
row("tags: no JSON", lambda r: ask(r, TAGS, {"/tags/": (200, b"tags", {})}, 1, "list of tags is not one"))
row("tags: pages in a circle", lambda r: ask(r, TAGS, {"/tags/": lambda h: (200, {"tags": []}, {"Link": f"<{h.path}>; rel=next"})}, 0, ""))
row("tags: the next page is nowhere", lambda r: ask(r, TAGS, {"/tags/": (200, {"tags": ["1"]}, {"Link": "<file:///etc/passwd>; rel=next"})}, 1,
                                                   "elsewhere"))
row("tags: the next page is at another host", lambda r: ask(r, TAGS, {"/tags/": lambda h: (
    200, {"tags": ["1"]}, {"Link": f"<http://{h.reg.other}/v2/>; rel=next"})}, 1, "elsewhere"))
row("tags: 17 MiB", lambda r: ask(r, TAGS, {"/tags/": (200, b" " * (17 << 20), {})}, 1, "more than"))
row("tags: more than anybody has", lambda r: ask(r, TAGS, {"/tags/": (200, {"tags": ["x"] * 100001}, {})}, 1, "more than 100000"))
row("referrers: of all kinds of JSON", lambda r: lists(r, {"manifests": [
    5, None, [], {}, entry(size=-5), entry(size="x", artifactType=7, annotations=[]), entry(artifactType=BELL, digest=BELL,
                                                                                    annotations={"org.opencontainers.image.created": BELL})]}, 0,
    "TYPE"))
row("referrers: no list", lambda r: lists(r, {"manifests": 5}, 1, "no index"))
row("referrers: null", lambda r: lists(r, {"manifests": None}, 0, ""))
row("referrers: no JSON", lambda r: lists(r, b"[", 1, "no index"))
row("referrers: 5 MiB", lambda r: lists(r, b" " * (5 << 20), 1, "more than 4194304"))
row("referrers: more than anybody has", lambda r: lists(r, {"manifests": [entry()] * 10001}, 1, "more than 10000"))
row("referrers: a list without an end", lambda r: ask(r, REFERRERS, {"/referrers/": page("manifests", lambda n: [entry()] * 2500)}, 1,
                                                      "more than 10000"))
if os.environ.get("SBX_MATRIX") == "all":
    row("referrers: one on a page, and no end", lambda r: ask(r, REFERRERS, {"/referrers/": page("manifests", lambda n: [entry()])}, 1,
                                                              "more than 1000 pages", 1010))
row("referrers: a page is missing", lambda r: ask(r, REFERRERS, {"/referrers/": lambda h: (404, {}, {}) if "n=" in h.path else (
    200, {"manifests": [entry()]}, {"Link": f"<{h.path}?n=1>; rel=next", "Content_Type": INDEX})}, 1, "404"))

# --- what a tag is
for name, headers, status, text in (
        ("no digest", {}, 0, "@sha256:"), ("a digest of sha512", {"Docker_Content_Digest": "sha512:" + "0" * 128}, 0, "@sha256:"),
        ("a path for a digest", {"Docker_Content_Digest": "sha256:../../x"}, 0, "@sha256:")):
    row(f"resolve: {name}", lambda r, h=headers, s=status, x=text: ask(r, ["resolve", "HOST/x:1"], {"/manifests/1": lambda q: (
        200, q.reg.manifests["1"][1], {"Content_Type": MANIFEST, **h})}, s, x))
row("resolve: another digest than the content's", lambda r: ask(r, ["inspect", "HOST/x:1"], {"/manifests/1": lambda q: (
    200, q.reg.manifests["1"][1], {"Content_Type": MANIFEST, "Docker_Content_Digest": sha(b"other")})}, 1, "404"))
row("delete: no", lambda r: ask(r, ["delete", "HOST/x:1", "--force"], {"/tags/": (200, {"tags": ["1"]}, {}), "/manifests/": lambda h: (405, {}, {}) if h.command == "DELETE" else (
    200, h.reg.manifests["1"][1], {"Content_Type": MANIFEST})}, 1, "does not let anybody delete"))


# --- addresses of a user's that are none
for name in ("../x/y@sha256:" + "0" * 64, "oci://../../etc/x@sha256:" + "0" * 64, "oci://..:5000/x@sha256:" + "0" * 64,
             "oci://a/../b@sha256:" + "0" * 64, "oci://u:p@127.0.0.1:1/x@sha256:" + "0" * 64, "oci://127.0.0.1:99999/x@sha256:" + "0" * 64,
             "oci://127.0.0.1:1/x@sha512:" + "0" * 128, "oci://127.0.0.1:1/x?a=b@sha256:" + "0" * 64, "oci://[::1/x@sha256:" + "0" * 64,
             "oci://127.0.0.1:1/%2e%2e/x@sha256:" + "0" * 64, "oci://127.0.0.1:1/x\n@sha256:" + "0" * 64):
    row(f"an address that is none: {name[:24]!r}", lambda r, n=name: r.run([SBX, "--no-input", "kit", "pull", n, "out"], 1, n[:9]))
