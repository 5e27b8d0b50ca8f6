"""The gate beside its peers in one run: squid, tinyproxy, mitmproxy, smokescreen where they are installed, and a relay
that only copies as the limit (bench_relay.c). Rounds are interleaved; a ratio is the median of the ratios of the rounds.

    bench.py DIRECTORY-OF-PROGRAMS [ROUNDS] [SECONDS] [PHASES] [CONTENDERS]      needs root; a build with SBX_BENCH

PHASES and CONTENDERS are regular expressions: only what they fit takes part.

The client sits in a namespace of its own. Gate and relay are measured twice: with the client in a sandbox's namespace behind
the real helper (leg "sandbox"), and with the client behind a veth pair, as all the peers are (leg "veth").
"""
import json
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tests"))
import lab  # noqa: E402

NAMES, FIRST = 32, 100  # destinations: net.h
OUTSIDE, INSIDE = lab.PROXY[0], "198.18.0.2"
HOLD = 1000  # tunnels whose memory is measured
# phase, mode of bench_client, tunnels, unit of the rate, of the processor time (factor to it)
PHASES = [("stream", "stream", 1, "MiB/s", "ms/GiB", 1024e3), ("tunnels", "tunnels", 8, "/s", "us", 1e6),
          ("trips over 32", "trips", 32, "/s", "us", 1e6), ("trips over 1", "trips", 1, "/s", "us", 1e6)]
# what the gate has to reach: phase, figure, peers (the better of them), factor, whether more is better
AIMS = [("stream", "rate", ["squid"], 1.3, True), ("stream", "rate", ["relay, sandbox"], 0.9, True),
        ("stream", "cpu", ["squid"], 0.9, False), ("tunnels", "rate", ["squid"], 1.4, True),
        ("tunnels", "rate", ["tinyproxy"], 1.0, True), ("trips over 32", "rate", ["squid", "tinyproxy"], 1.15, True),
        ("trips over 1", "rate", ["squid", "tinyproxy"], 0.97, True)]
CONFIGS = {
    "squid": "http_port %(address)s:%(port)d\nhttp_access allow all\ncache deny all\naccess_log none\ncache_log /dev/null\n"
             "pid_filename %(dir)s/pid\nshutdown_lifetime 0 seconds\ndns_nameservers " + lab.RESOLVER + "\n"
             "max_filedescriptors 16384\n",
    "tinyproxy": "Port %(port)d\nListen %(address)s\nMaxClients 2000\nTimeout 600\nLogLevel Error\nConnectPort 7443\n"
                 "ConnectPort 7444\n",
    "smokescreen": "---\nip: %(address)s\nport: %(port)d\nallow_missing_role: true\nallow_ranges:\n  - 203.0.113.0/24\n",
    "mitmproxy": "",
}
COMMANDS = {
    "squid": ["squid", "-N", "-f", "%(conf)s"],
    "tinyproxy": ["tinyproxy", "-d", "-c", "%(conf)s"],
    "smokescreen": ["smokescreen", "--config-file", "%(conf)s"],
    "mitmproxy": ["mitmdump", "-q", "--set", "confdir=%(dir)s", "--listen-host", "%(address)s", "--listen-port", "%(port)d",
                  "--ignore-hosts", ".*"],
}
SLOW = {"mitmproxy": 2, "smokescreen": 3}  # rounds in which they take part


class Namespace:
    """A client's namespace behind a veth pair, for peers that cannot take a socket made inside."""

    def __init__(self):
        self.process = subprocess.Popen(["unshare", "-n", "sleep", "100000"], **lab.quiet())
        mine = os.stat("/proc/self/ns/net").st_ino
        while os.stat("/proc/%d/ns/net" % self.process.pid).st_ino == mine:
            time.sleep(0.01)
        self.netns = os.open("/proc/%d/ns/net" % self.process.pid, os.O_RDONLY)
        inside = ["nsenter", "--net=/proc/%d/ns/net" % self.process.pid, "ip"]
        for args in (["ip", "link", "add", "bench0", "type", "veth", "peer", "name", "bench1", "netns", str(self.process.pid)],
                     ["ip", "address", "add", OUTSIDE + "/30", "dev", "bench0"], ["ip", "link", "set", "bench0", "up"],
                     inside + ["address", "add", INSIDE + "/30", "dev", "bench1"], inside + ["link", "set", "bench1", "up"],
                     inside + ["link", "set", "lo", "up"]):
            subprocess.run(args, check=True, **lab.quiet())

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.netns)


class Contender:
    def __init__(self, name, netns, address, process, close):
        self.name, self.netns, self.address, self.process, self.close = name, netns, address, process, close
        self.rounds = []

    def cpu_s(self):
        with open("/proc/%d/stat" % self.process.pid) as f:
            fields = f.read().rsplit(") ", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory_bytes(self):
        with open("/proc/%d/smaps_rollup" % self.process.pid) as f:
            return 1024 * sum(int(line.split()[1]) for line in f if line.startswith("Private_"))

    def client(self, tool, mode, seconds, n, **more):
        return subprocess.Popen([tool, self.address[0], str(self.address[1]), mode, str(seconds), str(n)],
                                preexec_fn=lambda: lab.enter_netns(self.netns), stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, text=True, **more)

    def measure(self, tool, phase, seconds, again=True):
        _, mode, n, _, _, factor = phase
        before = self.cpu_s()
        out = self.client(tool, mode, seconds, n).communicate(timeout=60 + 10 * seconds)[0].split()
        if len(out) != 6 and again and self.process.poll() is None:
            print("LOUD: %s: %s did not work, once more" % (self.name, phase[0]))
            return self.measure(tool, phase, seconds, False)
        if len(out) != 6 or (not int(out[0]) and self.name not in SLOW):
            raise SystemExit("%s: %s did not work: %r" % (self.name, phase[0], out))
        return {"rate": float(out[1]), "p50": float(out[2]), "p99": float(out[3]),
                "cpu": (self.cpu_s() - before) * factor / max(int(out[0]), 1)}

    def memory(self, tool):
        """Bytes without, and bytes a tunnel more with HOLD tunnels (the sockets' are the kernel's)."""
        empty = self.memory_bytes()
        client = self.client(tool, "hold", 0, HOLD)
        opened = int(client.stdout.readline().split()[1])
        each = (self.memory_bytes() - empty) / max(opened, 1)
        client.communicate()
        return empty, each, opened


def listen_inside(netns_socket, address):
    netns_socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    netns_socket.bind(address)
    netns_socket.listen(4096)
    return netns_socket


def ready(process):
    if process.stdout.readline().strip() != b"ready":
        raise SystemExit("a program of the benchmark does not start")
    return process


def gates(sandbox, veth):
    names = ["b%d.example.com" % i for i in range(NAMES)]
    hosts = {name: ["203.0.113.%d" % (FIRST + i)] for i, name in enumerate(names)}
    rules = [lab.rule("*.other.example.com")] + [lab.rule(n) for n in names]
    rules += [lab.rule("n%d.example.net" % i) for i in range(1000)]  # a policy of a usual size
    found = []
    real = lab.Gate(rules, hosts, netns=sandbox.connect())
    found.append(Contender("gate, sandbox", sandbox.netns, lab.PROXY, real.process, real.close))
    other = lab.Gate(rules, hosts)
    found.append(Contender("gate, veth", veth.netns, lab.PROXY, other.process, other.close))
    return found


def relays(tools, sandbox, veth):
    inside = listen_inside(sandbox.socket(), ("198.18.0.2", 3129))
    os.set_inheritable(inside.fileno(), True)
    found = []
    for name, netns, address, args, fds in (
            ("relay, sandbox", sandbox.netns, ("198.18.0.2", 3129), ["fd", str(inside.fileno())], [inside.fileno()]),
            ("relay, veth", veth.netns, (OUTSIDE, 3127), [OUTSIDE, "3127"], [])):
        p = ready(subprocess.Popen([tools + "/bench_relay"] + args, stdout=subprocess.PIPE, pass_fds=fds, user=lab.UID))
        found.append(Contender(name, netns, address, p, p.kill))
    inside.close()
    return found


def peer(name, port, veth, folder):
    command = shutil.which(COMMANDS[name][0], path=os.environ["PATH"] + ":/usr/sbin:" + os.environ.get("SBX_PEERS", ""))
    if not command:
        print("LOUD: %s is not installed, left out" % name)
        return []
    folder = os.path.join(folder, name)
    os.mkdir(folder)
    os.chmod(folder, 0o777)
    facts = {"port": port, "address": OUTSIDE, "dir": folder, "conf": folder + "/conf"}
    with open(facts["conf"], "w") as f:
        f.write(CONFIGS[name] % facts)
    process = subprocess.Popen([command] + [a % facts for a in COMMANDS[name][1:]], **lab.quiet())
    for _ in range(1000):
        try:
            socket.create_connection((OUTSIDE, port)).close()
            return [Contender(name, veth.netns, (OUTSIDE, port), process, process.kill)]
        except OSError:
            time.sleep(0.02)
    process.kill()
    raise SystemExit(name + " does not listen")


def fixed_names(folder):
    """Peers resolve by /etc/hosts: nobody waits for a resolver."""
    path = os.path.join(folder, "hosts")
    with open(path, "w") as f:
        f.write("127.0.0.1 localhost\n" + "".join(
            "203.0.113.%d b%d.example.com\n" % (FIRST + i, i) for i in range(NAMES)))
    os.chmod(path, 0o644)
    lab._check(lab._libc.mount(path.encode(), b"/etc/hosts", None, 1 << 12, None), "mount hosts")


def median(values):
    return statistics.median(values) if values else float("nan")


def table(contenders):
    for i, (phase, _, _, unit, cpu_unit, _) in enumerate(PHASES):
        print("\n%-16s %14s %14s %10s %10s" % (phase, unit, "cpu " + cpu_unit, "p50 us", "p99 us"))
        for c in contenders:
            rows = [r[i] for r in c.rounds]
            print("  %-14s %14.6g %14.4g %10.4g %10.4g" % (
                (c.name,) + tuple(median([r[k] for r in rows]) for k in ("rate", "cpu", "p50", "p99"))))


def ratios(gate, other, phase, figure):
    i = [p[0] for p in PHASES].index(phase) if phase in [p[0] for p in PHASES] else len(PHASES)
    if i == len(PHASES):
        return float("nan")
    pairs = [(a[i][figure], b[i][figure]) for a, b in zip(gate.rounds, other.rounds) if b[i][figure]]
    return median([a / b for a, b in pairs])


def aims(contenders):
    by_name, missed = {c.name: c for c in contenders}, 0
    gate = by_name.get("gate, sandbox")
    if not gate:
        return 0
    print("\n%-44s %8s %8s" % ("the gate in a sandbox against", "ratio", "aim"))
    for phase, figure, peers, want, more in AIMS:
        for who in [gate] + [c for c in contenders if c.name == "gate, veth"]:
            have = [ratios(who, by_name[p], phase, figure) for p in peers if p in by_name]
            if not have or have[0] != have[0] or (who is not gate and peers[0].startswith("relay")):
                continue
            ratio = min(have) if more else max(have)
            ok = ratio >= want if more else ratio <= want
            missed += who is gate and not ok
            print("%-44s %8.3f %s %-6g %s" % ("  %s %s, %s%s" % (phase, figure, " or ".join(peers), "" if who is gate else
                                              " (veth)"), ratio, ">=" if more else "<=", want, "" if ok else "MISSED"))
    return missed


def memory_table(contenders, tool):
    print("\nmemory           without MiB  KiB a tunnel (of %d held)" % HOLD)
    for c in contenders:
        empty, each, opened = c.memory(tool)
        print("  %-14s %11.1f %13.2f   %d" % (c.name, empty / 1048576, each / 1024, opened))


def main():
    tools, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 1
    PHASES[:] = [p for p in PHASES if re.search(sys.argv[4], p[0])] if len(sys.argv) > 4 else PHASES
    wanted = re.compile(sys.argv[5] if len(sys.argv) > 5 else "")
    lab.enter()
    for i in range(NAMES):
        lab._add_address(FIRST + i, "203.0.113.%d" % (FIRST + i))
    resolver = lab.Resolver()
    resolver.answers.update({"b%d.example.com" % i: ["203.0.113.%d" % (FIRST + i)] for i in range(NAMES)})
    folder = tempfile.mkdtemp(prefix="sbx-bench")
    os.chmod(folder, 0o755)
    fixed_names(folder)
    sandbox, veth, closing = lab.Sandbox(lab.HELPER), Namespace(), []
    try:
        origin = ready(subprocess.Popen([tools + "/bench_origin"], stdout=subprocess.PIPE))
        closing.append(origin.kill)
        contenders = gates(sandbox, veth) + relays(tools, sandbox, veth)
        for i, name in enumerate(CONFIGS):
            contenders += peer(name, 3200 + i, veth, folder) if wanted.search(name) else []
        closing += [c.close for c in contenders]
        contenders = [c for c in contenders if wanted.search(c.name)]
        for r in range(rounds):
            turn = [c for c in contenders if r < SLOW.get(c.name, rounds)]
            measured = {c.name: [] for c in turn}
            for phase in PHASES:
                for c in turn[r % len(turn):] + turn[:r % len(turn)]:
                    measured[c.name].append(c.measure(tools + "/bench_client", phase, seconds))
            for c in turn:
                c.rounds.append(measured[c.name])
        table(contenders)
        missed = aims(contenders)
        memory_table(contenders, tools + "/bench_client")
    finally:
        for close in closing:
            close()
        veth.close()
        sandbox.close()
        shutil.rmtree(folder)
    print(json.dumps({"missed": missed, "rounds": rounds, "seconds": seconds}))


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    main()
