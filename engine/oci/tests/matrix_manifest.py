"""Rows of matrix.py: manifests that no tool would write, whose digest is right. Of a kit (in the registry) and of an image."""
import gzip
import json

from matrix_world import LAYER, LAYER_BYTES, MACHINE, MANIFEST, MIB, Pull, describe, put, row, sha


def put_text(reg, text):
    reg.manifests[sha(text)] = (MANIFEST, text)
    return sha(text)


def changed(r, place, change):
    """The good manifest of the place, changed as JSON or as text."""
    t = Pull(r, place)
    good = json.loads(r.reg.manifests[t.digest][1])
    made = change(good, r.reg)
    t.digest = put_text(r.reg, made if isinstance(made, bytes) else json.dumps(made).encode())
    return t


def refused(r, place, change, text):
    t = changed(r, place, change)
    t.fails(1, text)
    r.check("no blob was asked for", [x for x in r.reg.log if "/blobs/" in x], [])


def taken(r, place, change):
    t = changed(r, place, change)
    t.succeeds()
    r.check("nobody else was asked", [x for x in r.reg.log if x.startswith("away")], [])


def in_layer(**fields):
    def change(m, _):
        m["layers"][0].update(fields)
        m["layers"][0] = {k: v for k, v in m["layers"][0].items() if v is not None}
        return m
    return change


def text_of(m, old, new):
    data = json.dumps(m).encode()
    assert old in data
    return data.replace(old, new, 1)


def long(n):
    return lambda m, _: json.dumps({**m, "annotations": {"x": ""}}).encode().ljust(n)


# name: change, what is said of a kit's and of an image's; None: it is taken
BAD = {
    "of 4 MiB": (long(4 * MIB), None, None),
    "of 4 MiB and a byte": (long(4 * MIB + 1), "more than 4194304 bytes", "more than 4194304 bytes"),
    "empty": (lambda m, _: b"", "line 1", "not JSON"),
    "nested 100,000 deep": (lambda m, _: b'{"a":' + b"[" * 100000 + b"]" * 100000 + b"}", "maximum parsing depth", "not JSON"),
    "with a key twice": (lambda m, _: text_of(m, b'"config"', b'"layers": [], "config"'), "duplicate", "not JSON"),
    "with a key twice in a layer": (lambda m, _: text_of(m, b'"layers": [{', b'"layers": [{"size": 1, '), "duplicate", "not JSON"),
    "and more behind it": (lambda m, _: json.dumps(m).encode() + b"{}", "end of file expected", "not JSON"),
    "with a zero byte": (lambda m, _: text_of(m, b'"schemaVersion"', b'"a": "\\u0000", "schemaVersion"'), "\\u0000", "not JSON"),
    "that is no UTF-8": (lambda m, _: text_of(m, b'"schemaVersion"', b'"a": "\xff", "schemaVersion"'), "decode byte", "not JSON"),
    "that is a list": (lambda m, _: b"[]", "schemaVersion 2", "schemaVersion 2"),
    "of schemaVersion 1": (lambda m, _: {**m, "schemaVersion": 1}, "schemaVersion 2", "schema 1"),
    "without a configuration": (lambda m, _: {k: v for k, v in m.items() if k != "config"}, "not a kit", "configuration: no digest"),
    "whose layers are an object": (lambda m, _: {**m, "layers": {}}, "layers is not a list", "schemaVersion 2"),
    "with 200 layers": (lambda m, _: {**m, "layers": m["layers"] * 200}, "more than", "more than 128 layers"),
    "with a layer of sha512": (in_layer(digest="sha512:" + "0" * 128), "is not sha256:", "no digest and size"),
    "with a layer of md5": (in_layer(digest="md5:" + "0" * 32), "is not sha256:", "no digest and size"),
    "with a digest in upper case": (in_layer(digest=sha(LAYER_BYTES).upper()), "is not sha256:", "no digest and size"),
    "with a digest that is a path": (in_layer(digest="sha256:../../../../etc/passwd"), "is not sha256:", "no digest and size"),
    "without a digest": (in_layer(digest=None), "is not sha256:", "no digest and size"),
    "with a layer of -1 bytes": (in_layer(size=-1), "size is not a number", "no digest and size"),
    "with a layer of 1.5 bytes": (in_layer(size=1.5), "size is not a number", "no digest and size"),
    "with a layer of \"5\" bytes": (in_layer(size="5"), "size is not a number", "no digest and size"),
    "without a size": (in_layer(size=None), "size is not a number", "no digest and size"),
    "with a layer of 2^63 bytes": (in_layer(size=1 << 63), "too big", "not JSON"),
    "with a layer of 2^63 - 1 bytes": (in_layer(size=(1 << 63) - 1), "more than", "9223372036854775807 bytes"),
    "with urls of a layer": (in_layer(urls=["http://127.0.0.1:1/x", "file:///etc/passwd"]), None, None),
    "with data of a layer that is wrong": (in_layer(data="d3Jvbmc="), None, None),
    "of another mediaType": (lambda m, _: {**m, "mediaType": "text/plain"}, None, None),
}
for name, (make, *texts) in BAD.items():
    for p, text in zip(("layer", "image"), texts):
        if text is None:
            row(f"pull {p}: a manifest {name}", lambda r, p=p, c=make: taken(r, p, c))
        else:
            row(f"pull {p}: a manifest {name}", lambda r, p=p, c=make, x=text: refused(r, p, c, x))


# --- blobs that are named in a way that no tool would: it is fetched, and found wrong; or it is right, though odd
def bad_blob(r, place, change, text):
    changed(r, place, change).fails(1, text)


def config_is_layer(m, _):
    m["config"].update(digest=m["layers"][0]["digest"], size=100)
    return m


row("pull layer: a manifest whose configuration is the layer", lambda r: bad_blob(r, "layer", config_is_layer, "more than the 100 bytes"))
# whichever of the two comes first, the other is wrong
row("pull image: a manifest whose configuration is the layer", lambda r: bad_blob(r, "image", config_is_layer, sha(LAYER_BYTES)))
row("pull layer: a manifest with the layer twice", lambda r: refused(
    r, "layer", lambda m, _: {**m, "layers": m["layers"] * 2}, "two layers with files"))
row("pull image: a manifest with a layer of 0 bytes", lambda r: bad_blob(r, "image", in_layer(size=0), ""))
row("pull layer: a manifest with a layer of 0 bytes", lambda r: bad_blob(r, "layer", in_layer(size=0), ""))


def layer_twice(r):
    """As docker build makes of two equal COPY: the blob moves once."""
    t = Pull(r, "image")
    plain = sha(gzip.decompress(LAYER_BYTES))
    config = describe(json.dumps({"architecture": MACHINE, "os": "linux", "rootfs": {"type": "layers", "diff_ids": [plain] * 2}}).encode(),
                      "application/vnd.oci.image.config.v1+json", r.reg)
    t.digest = put(r.reg, {"schemaVersion": 2, "mediaType": MANIFEST, "config": config,
                           "layers": [describe(LAYER_BYTES, LAYER, r.reg)] * 2})
    t.succeeds()
    r.check("the blob moves once", r.reg.moved.get(sha(LAYER_BYTES)), len(LAYER_BYTES))


row("pull image: a manifest with the layer twice", layer_twice)


# --- indexes
def index(reg, entries):
    return put(reg, {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": entries})


def itself(r):
    """Indexes in indexes: an end is found."""
    t = Pull(r, "image")
    for _ in range(6):
        t.digest = index(r.reg, [{"mediaType": "application/vnd.oci.image.index.v1+json", "digest": t.digest, "size": 5,
                                  "platform": {"os": "linux", "architecture": MACHINE}}])
    t.fails(1, "nested deeper")


def nobodys(r, entries, text):
    t = Pull(r, "image")
    t.digest = index(r.reg, entries)
    t.fails(1, text)


row("pull image: an index six deep", itself)
row("pull image: an index of nothing", lambda r: nobodys(r, [], "no image for"))
row("pull image: an index of wrong digests", lambda r: nobodys(r, [{"digest": "sha512:" + "0" * 128}, {"digest": 5}, 7, None], "no image for"))
row("pull image: an index of what is not there", lambda r: nobodys(r, [{"digest": sha(b"x"), "size": 1}], "404"))
row("pull layer: an index", lambda r: refused(r, "layer", lambda m, g: json.loads(g.manifests[index(g, [])][1]), "an image index, not a kit"))


# --- a blob that the manifest names and the registry has not
def missing(r, place):
    t = Pull(r, place)
    data = r.reg.blobs.pop(t.at)
    t.fails(1, "404")
    r.reg.blobs[t.at] = data
    t.succeeds()


for p in ("config", "layer", "image"):
    row(f"pull {p}: it is not there", lambda r, p=p: missing(r, p))
