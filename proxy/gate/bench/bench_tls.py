"""Intercepted requests: the gate beside mitmproxy and smokescreen, which end TLS and add the same field, in one run; rounds are
interleaved.

    bench_tls.py [ROUNDS] [SECONDS]      needs root, h2load and nghttpd (nghttp2), node; mitmdump in PATH or SBX_PEERS

The load generator (h2load, 32 connections) speaks to the gate from a sandbox's namespace behind the real helper, by name and
without a proxy; to mitmproxy as its reverse proxy, which spares that one the CONNECT. smokescreen takes only CONNECT,
which h2load does not send: there the gate's proxy door and smokescreen stand behind a bench_connect each. Origins: node for HTTP/1.1, nghttpd for HTTP/2.
On a busy machine only the processor time a request says anything.
"""
import os
import re
import shutil
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tests"))
import lab  # noqa: E402
import tlslab  # noqa: E402

NAME, SECRET, CLIENTS, HOLD, REST_S, SMOKE = "api.example.com", "Bearer a-secret-of-a-usual-length-0123456789", 32, 300, 7, 4750
AUTHORITY = NAME.encode() + b":8443"
BIN = os.environ.get("SBX_BENCH_BIN", "build/bench/bin")
COUNTS = {"gate": 8000, "smokescreen": 1500}  # requests a second of a round, about
PORTS = {"h1": 443, "h2": 8443}
NODE = """require('https').createServer({key: require('fs').readFileSync(process.argv[2]), cert:
require('fs').readFileSync(process.argv[1])}, (q, r) => { r.setHeader('content-length', '5'); r.end(q.headers.authorization ?
'hello' : 'HELLO'); }).listen(443, '203.0.113.10', () => console.log('ready'));"""


def cpu_s(pid):
    with open("/proc/%d/stat" % pid) as f:
        fields = f.read().rsplit(") ", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def private_bytes(pid):
    with open("/proc/%d/smaps_rollup" % pid) as f:
        return 1024 * sum(int(line.split()[1]) for line in f if line.startswith("Private_"))


def h2load(kind, url, amount, run, *more):
    """Requests answered, those that failed, and the seconds that it took. `amount`: options that say how many, or how long."""
    args = ["h2load", "-c", str(CLIENTS), "-t", "1", *amount, *more] + (["--h1"] if kind == "h1" else ["-m", "4"])
    out = run(*args, url).stdout.decode()
    done = re.search(r"finished in ([0-9.]+)(m?)s,.*?(\d+) done, (\d+) succeeded, (\d+) failed", out, re.S)
    if not done or not int(done.group(4)):
        raise SystemExit("%s: no request was answered:\n%s" % (url, out))
    return int(done.group(4)), int(done.group(5)), float(done.group(1)) / (1000 if done.group(2) else 1)


def outside(*args):
    return subprocess.run(args, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=40)


def wait_for(host, port):
    end = time.monotonic() + 30
    while time.monotonic() < end:
        try:
            lab.socket.create_connection((host, port), 1).close()
            return
        except OSError:
            time.sleep(0.1)
    raise SystemExit("nobody listens at %s:%d" % (host, port))


class Mitm:
    def __init__(self, kind, world):
        program = shutil.which("mitmdump", path=os.environ.get("SBX_PEERS", "") + ":" + os.environ["PATH"])
        if not program:
            raise FileNotFoundError("mitmdump")
        self.port = 9000 + PORTS[kind]
        self.process = subprocess.Popen(
            [program, "-q", "--set", "confdir=" + world.dir, "--mode", "reverse:https://203.0.113.10:%d" % PORTS[kind],
             "--listen-host", lab.ORIGIN2, "--listen-port", str(self.port), "--ssl-insecure",
             "--modify-headers", "/~q/authorization/" + SECRET], stdin=subprocess.DEVNULL)
        wait_for(lab.ORIGIN2, self.port)


def frame(kind, flags, stream, payload=b""):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def ask_h2(tls):
    """One request of HTTP/2, and its reply to the end."""
    tls.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0) + frame(4, 1, 0) +
                frame(1, 5, 1, b"\x82\x87\x84\x01" + bytes([len(AUTHORITY)]) + AUTHORITY))
    while True:
        head = tlslab.read_exactly(tls, 9)
        tlslab.read_exactly(tls, int.from_bytes(head[:3], "big"))
        if head[4] & 1 and head[3] in (0, 1) and head[5:] == b"\0\0\0\1":
            return


def open_one(gate, ca, kind):
    s = gate.connect()
    s.sendall(b"CONNECT %s:%d HTTP/1.1\r\nHost: %s\r\n\r\n" % (NAME.encode(), PORTS[kind], NAME.encode()))
    lab.read_head(s)
    tls = tlslab.client(s, NAME, ca + ".crt", alpn=("h2",) if kind == "h2" else None)
    if kind == "h2":
        ask_h2(tls)
    else:
        tls.sendall(b"GET / HTTP/1.1\r\nHost: %s\r\n\r\n" % NAME.encode())
        lab.read_reply(tls)
    return tls


def memory(gate, ca, kind):
    """Bytes without, then of an intercepted connection that has had an answer, then of each where half have had none for a while:
    what those give up is not the system's again, but it is what the next ones take."""
    held = [open_one(gate, ca, kind) for _ in range(10)]
    before = private_bytes(gate.process.pid)
    held += [open_one(gate, ca, kind) for _ in range(HOLD)]
    at_once = (private_bytes(gate.process.pid) - before) / HOLD
    time.sleep(REST_S)
    held += [open_one(gate, ca, kind) for _ in range(HOLD)]
    half = (private_bytes(gate.process.pid) - before) / (2 * HOLD)
    for s in held:
        s.close()
    return before, at_once, half


def floor(cert, root):
    """Bytes of two TLS connections of OpenSSL alone."""
    return 1024 * float(subprocess.run([os.path.join(BIN, "bench_tls_floor"), *cert, root, NAME], check=True, stdout=subprocess.PIPE, timeout=60).stdout)


def measure(kind, pid, amount, url, run, *more):
    before = cpu_s(pid)
    good, bad, seconds = h2load(kind, url, amount, run, *more)
    return {"rate": good / seconds, "cpu": (cpu_s(pid) - before) * 1e6 / good, "failed": bad}


def compare(kind, rounds, seconds, sandbox, gate, world):
    rows = {"gate": [], "mitmproxy": []}
    try:
        mitm = Mitm(kind, world)
    except FileNotFoundError:
        print("LOUD: mitmproxy is not installed: the gate alone is measured")
        mitm = None
    port = "" if PORTS[kind] == 443 else ":%d" % PORTS[kind]
    try:
        for _ in range(rounds):
            rows["gate"].append(measure(kind, gate.process.pid, ("-D", str(seconds)), "https://%s%s/" % (NAME, port),
                                        lambda *a: sandbox.run(*a, proxy=False)))
            if mitm:
                rows["mitmproxy"].append(measure(kind, mitm.process.pid, ("-D", str(seconds)),
                                                 "https://%s:%d/" % (lab.ORIGIN2, mitm.port), outside))
    finally:
        if mitm:
            mitm.process.kill()
            mitm.process.wait()
    show(kind, rows, "mitmproxy", 20)


def smokescreen(world, cert_dir):
    program = shutil.which("smokescreen-role", path=os.environ.get("SBX_PEERS", "") + ":" + os.environ["PATH"])
    if not program:
        return None
    acl, conf = (os.path.join(cert_dir, n) for n in ("acl.yaml", "smokescreen.yaml"))
    with open(acl, "w") as f:
        f.write("version: v1\nservices:\n  - name: bench\n    project: bench\n    action: enforce\n    allowed_domains:\n      - %s\n"
                "    mitm_domains:\n      - domain: %s\n        add_headers:\n          Authorization: %s\n" % (NAME, NAME, SECRET))
    with open(conf, "w") as f:
        f.write("---\nip: %s\nport: %d\nallow_missing_role: true\nallow_ranges:\n  - 203.0.113.0/24\n"
                "transport_max_idle_conns: 1000\ntransport_max_idle_conns_per_host: 100\nmitm_ca_cert_file: %s.crt\nmitm_ca_key_file: %s.key\n" % (lab.ORIGIN2, SMOKE, world.path, world.path))
    hosts = os.path.join(cert_dir, "hosts")
    with open(hosts, "w") as f:
        f.write("%s %s\n" % (lab.ORIGIN, NAME))
    env = dict(os.environ, SSL_CERT_FILE=world.path + ".crt", SSL_CERT_DIR="/nonexistent")
    return subprocess.Popen(["unshare", "-m", "sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"', hosts, program, "--config-file", conf,
                             "--egress-acl-file", acl], env=env, **lab.quiet())


def by_connect(rounds, seconds, gate, world):
    """Both as proxies that are asked with CONNECT: HTTP/1.1, which is all that smokescreen speaks to a client."""
    peer = smokescreen(world, world.dir)
    if not peer:
        print("LOUD: smokescreen is not installed: there is nothing to compare the gate with")
        return
    doors = {"gate": (lab.PROXY[0], lab.PROXY[1], gate.process.pid), "smokescreen": (lab.ORIGIN2, SMOKE, peer.pid)}
    rows, ways = {name: [] for name in doors}, []
    try:
        for i, (host, port, _) in enumerate(doors.values()):
            ways.append(subprocess.Popen([os.path.join(BIN, "bench_connect"), str(SMOKE + 1 + i), host, str(port), NAME + ":443"],
                                         **lab.quiet()))
        for host, port in ((lab.ORIGIN2, SMOKE), ("127.0.0.1", SMOKE + 1), ("127.0.0.1", SMOKE + 2)):
            wait_for(host, port)
        for _ in range(rounds):
            for i, (name, (_, _, pid)) in enumerate(doors.items()):
                rows[name].append(measure("h1", pid, ("-n", str(COUNTS[name] * seconds)), "https://%s/" % NAME, outside,
                                          "--connect-to=127.0.0.1:%d" % (SMOKE + 1 + i)))
    finally:
        for way in ways:
            way.kill()
            way.wait()
        peer.kill()
        peer.wait()
    show("h1 by CONNECT", rows, "smokescreen", 1.5)


def show(kind, rows, peer, aim):
    for name, found in rows.items():
        if found:
            print("%s %-11s %9.0f requests/s %8.1f us of processor time a request, %d failed" % (
                kind, name, statistics.median(r["rate"] for r in found), statistics.median(r["cpu"] for r in found),
                sum(r["failed"] for r in found)))
    for figure, more in (("rate", True), ("cpu", False)) if rows[peer] else ():
        ratios = [a[figure] / b[figure] for a, b in zip(rows["gate"], rows[peer])]
        ratio = statistics.median(ratios) if more else 1 / statistics.median(ratios)
        print("%s gate to %s, %s: %.1f times better (aim: %s)" % (kind, peer, figure, ratio, aim))


def main():
    rounds, seconds = (int(v) for v in (sys.argv[1:] + ["3", "3"])[:2]) if len(sys.argv) > 2 else (3, 3)
    lab.enter()
    helper = os.environ.get("SBX_NETNS") or os.path.join(os.path.dirname(lab.GATE), "sbx-netns")
    ca, world, sandbox = tlslab.Authority("sandbox"), tlslab.Authority("world"), lab.Sandbox(helper)
    cert = world.leaf([NAME])
    node = subprocess.Popen(["node", "-e", NODE, cert[0], cert[1]], stdout=subprocess.PIPE)
    node.stdout.readline()
    h2 = tlslab.H2Origin(lab.ORIGIN, PORTS["h2"], cert, quiet=True)
    more = {"inject": [{"to": "%s:%d" % (NAME, p), "header": "Authorization", "secret": "key"} for p in PORTS.values()],
            "upstreamCa": world.pem}
    settings = dict(ca=ca.path, more=more)
    gate = lab.Gate([lab.rule(NAME)], {NAME: [lab.ORIGIN]}, netns=sandbox.connect(), **settings)
    broker = tlslab.Broker(gate, key=SECRET)
    try:
        for kind in PORTS:
            compare(kind, rounds, seconds, sandbox, gate, world)
        alone = floor(cert, world.path + ".crt")
        for kind in PORTS:
            gate.close()
            broker.close()
            gate = lab.Gate([lab.rule(NAME)], {NAME: [lab.ORIGIN]}, **settings)
            broker = tlslab.Broker(gate, key=SECRET)
            if kind == "h1":
                by_connect(rounds, seconds, gate, world)
            empty, at_once, half = memory(gate, ca.path, kind)
            print("%s memory: %.1f MiB, and an intercepted connection %.1f KiB; where half have had no request for %d s, each %.1f KiB (two TLS "
                  "connections of OpenSSL alone: %.1f KiB; aim: 10 MiB, 24 KiB)"
                  % (kind, empty / 2**20, at_once / 1024, REST_S, half / 1024, alone / 1024))
    finally:
        gate.close()
        broker.close()
        node.kill()
        node.wait()
        h2.close()
        sandbox.close()
        ca.close()
        world.close()


if __name__ == "__main__":
    main()
