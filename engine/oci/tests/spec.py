#!/usr/bin/env python3
"""What the distribution specification asks of a client and docker-registry 2.8 never does: warnings, lists in
pages, the referrers API, refusals of HEAD; and ways there: proxies. Each test is one server and one command.

usage: spec.py   (SBX_BIN: the program)
"""
import base64
import hashlib
import json
import os
import shutil
import ssl
import subprocess
import sys
import tempfile
import threading
from http.server import ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from answers import Answers

SBX = os.environ["SBX_BIN"]
INDEX = "application/vnd.oci.image.index.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
TYPE = "application/vnd.docker.sandbox.kit.v2"
SPEC = b'schemaVersion: "2"\nkind: mixin\nname: mix\n'
work = tempfile.mkdtemp()
checks, failed = 0, []


def digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


KIT = json.dumps({"schemaVersion": 2, "mediaType": MANIFEST, "artifactType": TYPE, "layers": [], "config": {
    "mediaType": TYPE + ".spec+yaml", "digest": digest(SPEC), "size": len(SPEC)}}).encode()


def check(what, good, told=""):
    global checks  # pylint: disable=global-statement
    checks += 1
    if not good:
        failed.append(what)
        print(f"FAILED: {what}: {str(told)[:900]}")


class Registry(Answers):
    """Serves KIT as x/kit:1; `rules` are tried first: a function of the request that answers and returns True."""

    def rule(self):
        return False

    def handle_one(self):
        length = int(self.headers.get("Content-Length") or 0)
        self.body = self.rfile.read(length)
        self.server.log.append((self.command, self.path, self.headers.get("Authorization", "-")))
        if self.rule():
            return None
        path = urlsplit(self.path).path
        if path == "/v2/":
            return self.answer(200)
        if path in ("/v2/x/kit/manifests/1", "/v2/x/kit/manifests/" + digest(KIT)):
            return self.answer(200, KIT, Content_Type=MANIFEST, Docker_Content_Digest=digest(KIT))
        if path == "/v2/x/kit/blobs/" + digest(SPEC):
            return self.answer(200, SPEC)
        return self.refuse(404, "MANIFEST_UNKNOWN", "there is nothing of that name")

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = handle_one


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass


def serve(rule=None, handler=Registry):
    kind = type("Bound", (handler,), {"rule": rule} if rule else {})
    server = Server(("127.0.0.1", 0), kind)
    server.log = []
    threading.Thread(target=server.serve_forever, daemon=True, args=(0.02,)).start()
    return server, f"127.0.0.1:{server.server_port}"


def sbx(*words, **env):
    home = {"HOME": work, "XDG_CACHE_HOME": tempfile.mkdtemp(dir=work), "XDG_CONFIG_HOME": work + "/config",
            "XDG_STATE_HOME": work + "/state", "DOCKER_CONFIG": work + "/docker", "PATH": os.environ["PATH"]}
    home.update({k: v for k, v in os.environ.items() if k.startswith(("ASAN", "UBSAN", "LSAN"))})
    return subprocess.run([SBX, "--no-input", *words], env={**home, **env}, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=60, check=False)


def test_warnings():
    def rule(self):
        if self.path.endswith("/manifests/1") or "/blobs/" in self.path:
            self.send_response_only = lambda code, message=None: (
                Answers.send_response_only(self, code, message),
                self.send_header("Warning", '299 - "this kit is \\x1b[31mold"'.replace("\\x1b", "\x1b")),
                self.send_header("Warning", '110 cache "Response is stale"'))
        return False
    server, host = serve(rule)
    done = sbx("kit", "inspect", f"{host}/x/kit:1")
    server.shutdown()
    check("a warning is told", f"{host} says: this kit is " in done.stderr and done.returncode == 0, done.stderr)
    check("once", done.stderr.count("says:") == 1, done.stderr)
    check("without its control characters, and none of a cache", "\x1b" not in done.stderr and "stale" not in done.stderr, done.stderr)
    check("stdout is as ever", "Name           mix" in done.stdout and "old" not in done.stdout, done.stdout)


def test_words_of_a_refused_head():
    server, host = serve()
    done = sbx("kit", "resolve", f"{host}/x/kit:2")
    check("HEAD has no words, GET has", "404, MANIFEST_UNKNOWN: there is nothing of that name" in done.stderr, done.stderr)
    server.shutdown()

    def rule(self):
        if self.command == "HEAD":
            self.answer(405)
        return self.command == "HEAD"
    server, host = serve(rule)
    done = sbx("kit", "resolve", f"{host}/x/kit:1")
    check("a registry without HEAD", done.stdout.strip() == f"oci://{host}/x/kit@{digest(KIT)}", done)
    server.shutdown()


def test_a_wrong_login_is_tried_once():
    def rule(self):
        self.refuse(401, "UNAUTHORIZED", "wrong", WWW_Authenticate='Basic realm="x"')
        return True
    server, host = serve(rule)
    os.makedirs(work + "/docker", exist_ok=True)
    with open(work + "/docker/config.json", "w", encoding="utf-8") as f:
        json.dump({"auths": {host: {"auth": base64.b64encode(b"hugo:wrong").decode()}}}, f)
    done = sbx("kit", "resolve", f"{host}/x/kit:1")
    tried = [given for _, path, given in server.log if given != "-"]
    check("accounts are locked by less", done.returncode == 3 and len(tried) == 1, (done, server.log))
    os.remove(work + "/docker/config.json")
    server.shutdown()


def paged(key, values, content):
    """Lists one value a page."""
    def rule(self):
        url = urlsplit(self.path)
        if not url.path.endswith(content[0]):
            return False
        at = int(parse_qs(url.query).get("at", ["0"])[0])
        more = {"Link": f'<{url.path}?at={at + 1}>; rel="next"'} if at + 1 < len(values) else {}
        self.answer(200, json.dumps({"schemaVersion": 2, "mediaType": INDEX, key: [values[at]]}).encode(), Content_Type=content[1], **more)
        return True
    return rule


def test_pages():
    server, host = serve(paged("tags", ["a", "b", "c"], ("/tags/list", "application/json")))
    done = sbx("kit", "inspect", f"{host}/x/kit", "--tags")
    check("all pages of tags", done.stdout.split() == ["a", "b", "c"], done)
    server.shutdown()
    entries = [{"mediaType": MANIFEST, "digest": "sha256:" + c * 64, "size": 1, "artifactType": f"a/{c}"} for c in "abc"]
    server, host = serve(paged("manifests", entries, ("/referrers/" + digest(KIT), INDEX)))
    done = sbx("kit", "inspect", f"{host}/x/kit:1", "--referrers", "--json")
    check("all pages of referrers", [r["artifactType"] for r in json.loads(done.stdout or "{}").get("referrers", [])] ==
          ["a/a", "a/b", "a/c"], done)
    server.shutdown()


def test_pages_elsewhere():
    """A list that goes on at another host must not take the log-in along."""
    thief, there = serve()
    login = "Basic " + base64.b64encode(b"hugo:s3cret").decode()

    def rule(self):
        if self.headers.get("Authorization") != login:
            self.refuse(401, "UNAUTHORIZED", "who?", WWW_Authenticate='Basic realm="x"')
        elif "/tags/list" in self.path or "/referrers/" in self.path:
            self.answer(200, json.dumps({"schemaVersion": 2, "tags": ["a"], "manifests": []}).encode(), Content_Type=INDEX,
                        Link=f'<http://{there}{self.path}>; rel="next"')
        else:
            return False
        return True
    server, host = serve(rule)
    os.makedirs(work + "/docker", exist_ok=True)
    with open(work + "/docker/config.json", "w", encoding="utf-8") as f:
        json.dump({"auths": {host: {"auth": login[6:]}}}, f)
    for what in (["--tags", f"{host}/x/kit"], ["--referrers", f"{host}/x/kit:1"]):
        done = sbx("kit", "inspect", *what)
        check(f"{what[0]}: refused", done.returncode == 1 and "continues its list elsewhere" in done.stderr, done)
    check("nobody was asked there", thief.log == [], thief.log)
    os.remove(work + "/docker/config.json")
    server.shutdown()
    thief.shutdown()


def test_referrers_tag_of_another_kind():
    """404 of the API, and the tag of the schema is somebody's kit: there are no referrers, and none is written over it."""
    put = []

    def rule(self):
        if self.command == "PUT":
            put.append(self.path)
            self.answer(201)
        elif "/manifests/sha256-" in self.path:
            self.answer(200, KIT, Content_Type=MANIFEST)
        elif self.command == "HEAD" and "/blobs/" in self.path:
            self.answer(200)
        else:
            return False
        return True
    server, host = serve(rule)
    done = sbx("kit", "inspect", f"{host}/x/kit:1", "--referrers", "--json")
    check("no referrers", json.loads(done.stdout or "{}").get("referrers") == [], done)
    with open(work + "/note", "w", encoding="utf-8") as f:
        f.write("x")
    done = sbx("kit", "attach", f"{host}/x/kit:1", work + "/note", "--type", "a/b")
    check("not overwritten", done.returncode == 1 and "is no list of referrers" in done.stderr and
          not any("sha256-" in p for p in put), (done, put))
    server.shutdown()


def test_images_that_are_none():
    for text, kind, image, kit in (
            (b'{"schemaVersion": 1, "name": "x/kit", "fsLayers": [], "history": []}',
             "application/vnd.docker.distribution.manifest.v1+prettyjws", "of before 2016 (schema 1)", "not a manifest of schemaVersion 2"),
            (b'{"schemaVersion": 2, "manifests": [], "layers": [], "config": {}}', INDEX, "both an image and an index", "an image index, not a kit"),
            (b'{"schemaVersion": 2, "manifests": []}', INDEX, "no image for linux/", "an image index, not a kit")):
        def rule(self, text=text, kind=kind):
            if "/manifests/" in self.path:
                self.answer(200, text, Content_Type=kind)
                return True
            return False
        server, host = serve(rule)
        done = subprocess.run([os.path.join(os.path.dirname(SBX), "pull_image"), work + "/images", work + "/imagecache", f"{host}/x/kit:1"],
                              capture_output=True, text=True, timeout=60, check=False)
        check("told what it is", done.returncode != 0 and image in done.stderr, done)
        done = sbx("kit", "pull", f"{host}/x/kit@{digest(text)}", work + "/no")
        check("nor is it a kit", done.returncode == 1 and kit in done.stderr, done)
        server.shutdown()


class Keeper(Registry):
    """Takes what is sent, too: the server's `blobs` and `manifests`, by repository and digest or tag."""

    def rule(self):
        url = urlsplit(self.path)
        repository, _, rest = url.path[4:].rpartition("/manifests/") if "/manifests/" in url.path else url.path[4:].partition("/blobs/")
        blobs, manifests = self.server.blobs, self.server.manifests
        if "/manifests/" in url.path and self.command == "PUT":
            manifests[repository, rest] = manifests[repository, digest(self.body)] = (self.headers["Content-Type"], self.body)
            self.answer(201)
        elif (repository, rest) in manifests and self.command in ("GET", "HEAD"):
            kind, text = manifests[repository, rest]
            self.answer(200, text, Content_Type=kind, Docker_Content_Digest=digest(text))
        elif (repository, rest) in blobs and self.command in ("GET", "HEAD"):
            self.answer(200, blobs[repository, rest])
        elif self.command == "POST" and "mount" in url.query:
            asked = parse_qs(url.query)
            blobs[repository, asked["mount"][0]] = blobs[asked["from"][0], asked["mount"][0]]
            self.answer(201, Location="/x")
        elif self.command == "POST":
            self.answer(202, Location=url.path + "1")
        elif self.command == "PUT":
            blobs[repository, parse_qs(url.query)["digest"][0]] = self.body
            self.answer(201)
        else:
            return False
        return True


def keep(rule=None):
    handler = type("Ruled", (Keeper,), {"rule": lambda self: rule(self) or Keeper.rule(self)}) if rule else Keeper
    server, host = serve(handler=handler)
    server.blobs, server.manifests = {}, {}
    return server, host


def write_kit(name, text):
    os.makedirs(f"{work}/{name}", exist_ok=True)
    with open(f"{work}/{name}/spec.yaml", "w", encoding="utf-8") as f:
        f.write(text)
    return f"{work}/{name}"


def bearer(tokens, good=()):
    """A registry that wants tokens, with `good` each for one request; `tokens` gets the queries for them."""
    lock = threading.Lock()

    def rule(self):
        with lock:
            if self.path.startswith("/token"):
                tokens.append(urlsplit(self.path).query)
                if good != ():
                    good.add(f"Bearer t{len(tokens)}")
                self.answer(200, json.dumps({"token": f"t{len(tokens)}"}).encode())
                return True
            given = self.headers.get("Authorization", "-")
            if given.startswith("Bearer t") and (good == () or given in good):
                if good != ():
                    good.remove(given)
                return False
        realm = f'Bearer realm="http://{self.headers["Host"]}/token",service="s"'
        self.refuse(401, "UNAUTHORIZED", "a token, please", WWW_Authenticate=realm)
        return True
    return rule


def test_tokens_that_expire():
    tokens = []
    server, host = serve(bearer(tokens, set()))
    done = sbx("kit", "pull", f"{host}/x/kit@{digest(KIT)}", work + "/tokens")
    check("a token that is no longer good is asked for anew", done.returncode == 0 and len(tokens) >= 2, (done, tokens))
    check("for what is done", all(parse_qs(q)["scope"] == ["repository:x/kit:pull"] for q in tokens), tokens)
    server.shutdown()


def test_uploads_mounts_and_their_scopes():
    tokens = []
    server, host = keep(bearer(tokens))
    config = b"{}"
    image = json.dumps({"schemaVersion": 2, "mediaType": MANIFEST, "layers": [], "config": {
        "mediaType": "application/vnd.oci.image.config.v1+json", "digest": digest(config), "size": 2}}).encode()
    server.blobs["base", digest(config)] = config
    server.manifests["base", "1"] = server.manifests["base", digest(image)] = (MANIFEST, image)
    kit = write_kit("agent", f'schemaVersion: "2"\nkind: sandbox\nname: agent\nsandbox: {{ image: "{host}/base:1" }}\n')
    done = sbx("kit", "push", kit, f"{host}/me/agent:1")
    check("pushed", done.returncode == 0, done)
    check("the anchor is the image", server.manifests.get(("me/agent", "_kit_1")) == (MANIFEST, image), server.manifests.keys())
    posts = [path for command, path, _ in server.log if command == "POST"]
    check("its blob was mounted", f"/v2/me/agent/blobs/uploads/?mount={digest(config)}&from=base" in posts, posts)
    check("a mount asks for both scopes, one a parameter",
          ["repository:me/agent:pull,push", "repository:base:pull"] in [parse_qs(q)["scope"] for q in tokens], tokens)
    server.log.clear()
    done = sbx("kit", "push", kit, f"{host}/me/agent:2")
    sent = [f"{command} {path}" for command, path, given in server.log if given != "-" and command in ("POST", "PUT", "PATCH")]
    check("what is there is asked for and not sent", done.returncode == 0 and sorted(sent) == [
        "PUT /v2/me/agent/manifests/2", "PUT /v2/me/agent/manifests/_kit_2"], sent)
    server.shutdown()


def test_least_chunks():
    """A registry that wants large chunks gets them, but for the last one."""
    least, size, chunks = 12 << 20, 20 << 20, []
    held = {"data": b"", "cut": False}

    def rule(self):
        if self.command == "POST":
            self.answer(202, Location=self.path + "1", OCI_Chunk_Min_Length=str(least))
        elif self.command == "PATCH":
            chunks.append(len(self.body))
            held["data"] += self.body
            self.answer(202, Location=self.path, Range=f"0-{len(held['data']) - 1}")
        elif self.command == "PUT" and len(self.body) > least and not held["cut"]:
            held["cut"] = self.close_connection = True  # no answer
        elif self.command == "PUT" and not self.body and "digest=" in self.path:
            self.server.blobs["x/big", parse_qs(urlsplit(self.path).query)["digest"][0]] = held["data"]
            self.answer(201)
        else:
            return False
        return True
    server, host = keep(rule)
    kit = write_kit("big", SPEC.decode())
    os.makedirs(kit + "/files/home")
    with open(kit + "/files/home/noise", "wb") as f:
        f.write(os.urandom(size))
    done = sbx("kit", "push", kit, f"{host}/x/big:1")
    check("pushed in chunks", done.returncode == 0 and held["cut"] and sum(chunks) > size, (done, chunks))
    check("none but the last is smaller", all(n >= least for n in chunks[:-1]) and len(chunks) == 2, chunks)
    server.shutdown()


def test_deleting_by_tag():
    """202: the tag is gone. 400 and 405: not by tag, so by digest."""
    for status in (202, 400, 405):
        gone = []

        def rule(self, status=status, gone=gone):
            if self.command == "DELETE":
                reference = self.path.rpartition("/")[2]
                gone.append(reference)
                if status == 202 or ":" in reference:
                    self.answer(202)
                else:
                    self.refuse(status, "UNSUPPORTED", "not by tag")
                return True
            if self.path.endswith("/tags/list"):
                self.answer(200, b'{"tags": ["1", "2"]}')
                return True
            return False
        server, host = serve(rule)
        done = sbx("kit", "delete", f"{host}/x/kit:1")
        check(f"{status}: deleted", done.returncode == 0 and gone == (["1"] if status == 202 else ["1", digest(KIT)]), (done, gone))
        server.shutdown()


def certificates():
    """A CA, a server's and a client's certificate."""
    def run(*words):
        subprocess.run(["openssl", *words], cwd=work, check=True, capture_output=True)
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    run("req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=ca")
    for name in ("server", "client"):
        run("req", *key, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        with open(f"{work}/{name}.ext", "w", encoding="utf-8") as f:
            f.write("subjectAltName=IP:127.0.0.1\n")
        run("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out", f"{name}.pem",
            "-days", "2", "-extfile", f"{name}.ext")


def test_pages_behind_tls():
    """Registries behind a server that speaks TLS for them write http into their addresses."""
    certificates()

    def rule(self):
        if "/tags/list" not in self.path:
            return False
        more = {} if "last=" in self.path else {"Link": f'<http://{self.headers["Host"]}{self.path}?last=a>; rel="next"'}
        self.answer(200, json.dumps({"tags": ["b" if "last=" in self.path else "a"]}).encode(), **more)
        return True
    server = Server(("127.0.0.1", 0), type("Paged", (Registry,), {"rule": rule}))
    server.log = []
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(work + "/server.pem", work + "/server.key")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True, args=(0.02,)).start()
    done = sbx("kit", "inspect", "--tags", f"127.0.0.1:{server.server_port}/x/kit", SSL_CERT_FILE=work + "/ca.pem")
    check("the list goes on over TLS", done.stdout.split() == ["a", "b"], done)
    server.shutdown()


def test_certificates_of_clients():
    certificates()
    server = Server(("127.0.0.1", 0), Registry)
    server.log = []
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(work + "/server.pem", work + "/server.key")
    context.load_verify_locations(work + "/ca.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True, args=(0.02,)).start()
    host = f"127.0.0.1:{server.server_port}"
    resolve, want = ("kit", "resolve", f"{host}/x/kit:1"), f"oci://{host}/x/kit@{digest(KIT)}"
    for tool in ("docker", "containers"):
        place = f"{work}/config/{tool}/certs.d/{host}"
        os.makedirs(place)
        shutil.copy(work + "/ca.pem", place + "/ca.crt")
        for _ in range(10):  # with TLS 1.3 the end of the connection may overtake the server's word
            done = sbx(*resolve)
            if "put NAME.cert and NAME.key into" in done.stderr:
                break
        check(f"{tool}: without one it is refused", done.returncode == 1 and "put NAME.cert and NAME.key into" in done.stderr, done)
        shutil.copy(work + "/client.pem", place + "/client.cert")
        done = sbx(*resolve)
        check(f"{tool}: a certificate without its key is told", done.returncode == 1 and "client.key" in done.stderr, done)
        shutil.copy(work + "/client.key", place + "/client.key")
        done = sbx(*resolve)
        check(f"{tool}: with both it is let in", done.stdout.strip() == want, done)
        whole = place
        if os.geteuid() == 0 and os.path.isdir(f"/etc/{tool}"):  # the system's, in a mount namespace of its own
            script = (f"mount -t tmpfs none /etc/{tool} && mkdir -p /etc/{tool}/certs.d && cp -r {whole} /etc/{tool}/certs.d/ && "
                      f"HOME={work}/none XDG_CONFIG_HOME={work}/none XDG_CACHE_HOME={work}/none exec {SBX} " + " ".join(resolve))
            done = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, timeout=60, check=False)
            if "unshare" in done.stderr or "mount" in done.stderr:
                print(f"not tried: /etc/{tool}/certs.d: {done.stderr.strip()}")
            else:
                check(f"/etc/{tool}/certs.d", done.stdout.strip() == want, done)
        shutil.rmtree(place)
    server.shutdown()


def test_lists_that_others_write_too():
    others = {"mediaType": MANIFEST, "digest": "sha256:" + "a" * 64, "size": 1}
    taken = []

    def rule(self):
        if "/referrers/" in self.path:
            return self.refuse(404, "NOT_FOUND", "no such API") or True
        if self.command == "PUT" and "/manifests/sha256-" in self.path and not taken:
            taken.append(self.path)  # somebody else's comes behind it
            name = self.path.rpartition("/")[2]
            self.server.manifests["x/kit", name] = (INDEX, json.dumps({"schemaVersion": 2, "manifests": [others]}).encode())
            self.answer(201)
            return True
        return False
    server, host = keep(rule)
    server.blobs["x/kit", digest(SPEC)] = SPEC
    for name in ("1", digest(KIT)):
        server.manifests["x/kit", name] = (MANIFEST, KIT)
    with open(work + "/note", "w", encoding="utf-8") as f:
        f.write("x")
    done = sbx("kit", "attach", f"{host}/x/kit:1", work + "/note", "--type", "a/b")
    check("attached", done.returncode == 0 and len(taken) == 1, done)
    done = sbx("kit", "inspect", f"{host}/x/kit:1", "--referrers", "--json")
    check("both are listed", len(json.loads(done.stdout or '{"referrers": []}')["referrers"]) == 2, done)
    server.shutdown()


def test_mirrors_are_only_read():
    """A mirror that lags behind must not say what is deleted or attached to."""
    old = KIT.replace(b'"layers": []', b'"layers" : []')

    def stale(self):
        if "/manifests/1" in self.path:
            self.answer(200, old, Content_Type=MANIFEST, Docker_Content_Digest=digest(old))
            return True
        return False
    mirror, there = serve(stale)
    gone = []

    def rule(self):
        if self.command == "DELETE":
            gone.append(self.path.rpartition("/")[2])
            self.answer(202 if ":" in gone[-1] else 405)
        elif self.path.endswith("/tags/list"):
            self.answer(200, b'{"tags": ["1"]}')
        else:
            return False
        return True
    server, host = keep(rule)
    for name in ("1", digest(KIT)):
        server.manifests["x/kit", name] = (MANIFEST, KIT)
    os.makedirs(work + "/config/sbx", exist_ok=True)
    with open(work + "/config/sbx/settings.yaml", "w", encoding="utf-8") as f:
        f.write(f'registries: {{ "{host}": {{ mirrors: ["http://{there}"] }} }}\n')
    done = sbx("kit", "resolve", f"{host}/x/kit:1")
    check("read from the mirror", digest(old) in done.stdout, done)
    done = sbx("kit", "attach", f"{host}/x/kit:1", work + "/note", "--type", "a/b")
    made = [json.loads(text) for _, text in server.manifests.values() if b'"subject"' in text]
    check("attached to what the registry has", done.returncode == 0 and {m["subject"]["digest"] for m in made} == {digest(KIT)}, (done, made))
    done = sbx("kit", "delete", f"{host}/x/kit:1")
    check("deleted what the registry has", done.returncode == 0 and gone == ["1", digest(KIT)], (done, gone))
    os.remove(work + "/config/sbx/settings.yaml")
    server.shutdown()
    mirror.shutdown()


class Proxy(Registry):
    """Answers itself as the registry whose address it is asked for; CONNECT is noted and refused."""

    def do_CONNECT(self):
        self.server.log.append(("CONNECT", self.path, self.headers.get("Proxy-Authorization", "-")))
        self.refuse(403, "DENIED", "not through here")


def test_proxies():
    proxy, there = serve(handler=Proxy)
    name = "registry.example.com"

    def asked(*words, **env):
        proxy.log.clear()
        done = sbx(*words, **env)
        return done, [f"{command} {path}" for command, path, _ in proxy.log]
    resolve = ("kit", "resolve", "--plain-http", f"{name}/x/kit:1")
    for variable in ("http_proxy", "HTTP_PROXY"):
        done, log = asked(*resolve, **{variable: f"http://{there}"})
        check(f"{variable} is followed", digest(KIT) in done.stdout and log == [f"HEAD http://{name}/v2/x/kit/manifests/1"],
              (done, log))
    done, log = asked("kit", "pull", "--plain-http", f"{name}/x/kit@{digest(KIT)}", work + "/all", all_proxy=f"http://{there}")
    check("all_proxy too", done.returncode == 0 and log[-1] == f"GET http://{name}/v2/x/kit/blobs/{digest(SPEC)}", (done, log))
    done, log = asked(*resolve, HTTP_PROXY=f"http://{there}", NO_PROXY="other.example.com,.example.com")
    check("not for NO_PROXY", done.returncode == 1 and log == [], (done, log))
    done, log = asked(*resolve, HTTP_PROXY=f"http://{there}", http_proxy="")
    check("an empty one switches it off", done.returncode == 1 and log == [], (done, log))
    done, log = asked(*resolve, HTTP_PROXY=f"http://{there}", REQUEST_METHOD="GET")
    check("nor in a CGI program", done.returncode == 1 and log == [], (done, log))
    for variable in ("https_proxy", "HTTPS_PROXY"):
        done, log = asked("kit", "resolve", f"{name}/x/kit:1", **{variable: f"http://hugo:pass@{there}"})
        check(f"{variable} is followed", done.returncode == 1 and set(log) == {f"CONNECT {name}:443"} and
              "403" in done.stderr, (done, log))
        check("with its log-in, and none in words", proxy.log[0][2].startswith("Basic ") and "pass" not in done.stderr, done)
    server, host = serve()
    done, log = asked("kit", "resolve", f"{host}/x/kit:1", HTTP_PROXY=f"http://{there}", http_proxy=f"http://{there}")
    check("this machine needs none", digest(KIT) in done.stdout and log == [], (done, log))
    server.shutdown()
    proxy.shutdown()


try:
    for test in [value for name, value in list(globals().items()) if name.startswith("test_")]:
        test()
finally:
    shutil.rmtree(work, ignore_errors=True)
print(f"{checks - len(failed)} of {checks} checks passed")
sys.exit(1 if failed else 0)
