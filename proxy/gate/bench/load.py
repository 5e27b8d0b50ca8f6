"""The gate under load: 2,000 tunnels at once for a minute to servers that answer slowly, stall, reset and flood; then 10,000
connections to servers that never read and to one that never accepts. Nothing may leak or get stuck, and a lone user beside all
that is served as if he were alone.

    load.py DIRECTORY-OF-PROGRAMS [SECONDS]      default 60; needs root; a build with SBX_BENCH

The gate runs as in real use: unprivileged, with a soft limit of 1,024 open files. Exit status 1: something was missed.
"""
import os
import resource
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import bench  # noqa: E402
import lab  # noqa: E402

CROWD = [("slow", 700, 0), ("stall", 500, 0), ("reset", 400, 0), ("flood", 700, 200)]  # mode, tunnels, MiB/s
MANY = 10000
# The gate and the lone user go before the load and whatever else the machine does: what is asked about is the gate's turn-taking.
URGENT = -10
missed = []


def check(what, ok, figure):
    print("  %-62s %s%s" % (what, figure, "" if ok else "  MISSED"), flush=True)
    if not ok:
        missed.append(what)


class Load:
    def __init__(self, tools, gate, sandbox):
        self.tools, self.gate, self.sandbox = tools, gate, sandbox

    def client(self, mode, seconds, n, rate=0, nice=10):
        return subprocess.Popen(
            [self.tools + "/bench_client", lab.PROXY[0], str(lab.PROXY[1]), mode, str(seconds), str(n), str(rate)],
            preexec_fn=lambda: (os.nice(nice), lab.enter_netns(self.sandbox.netns)), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, text=True)

    def result(self, client):
        out = client.communicate(timeout=600)[0].split()
        if client.returncode or len(out) != 6:
            raise SystemExit("a client of the load broke off: %r" % out)
        return {"count": int(out[0]), "p50": float(out[2]), "p99": float(out[3]), "max": float(out[4]),
                "failed": int(out[5])}

    def lone(self, seconds):
        return [self.client(mode, seconds, 1, nice=URGENT) for mode in ("quiet", "visit")]

    def facts(self):
        pid = self.gate.process.pid
        with open("/proc/%d/smaps_rollup" % pid) as f:
            memory = sum(int(line.split()[1]) for line in f if line.startswith("Private_"))
        return {"fds": len(os.listdir("/proc/%d/fd" % pid)), "kib": memory,
                "tunnels": self.gate.control(op="stats")["connections"]}

    def settled(self, fds):
        """Waits until nothing of the load is left; what it waits for is its own end."""
        end = time.monotonic() + 30
        while time.monotonic() < end:
            facts = self.facts()
            if facts["fds"] <= fds and not facts["tunnels"]:
                return facts
            time.sleep(0.1)
        return self.facts()

    def times(self):
        """ns on a processor, and waiting for one."""
        with open("/proc/%d/schedstat" % self.gate.process.pid) as f:
            return [int(x) for x in f.read().split()[:2]]

    def crowd(self, seconds):
        clients = [(mode, self.client(mode, seconds + 1, n, rate)) for mode, n, rate in CROWD]
        time.sleep(1)  # they come first
        alone = self.lone(seconds - 1)
        time.sleep(min(2, seconds / 2))
        held = self.facts()
        lone = [self.result(c) for c in alone]
        return held, lone, {mode: self.result(c) for mode, c in clients}

    def many(self, mode, seconds):
        alone = self.lone(seconds)  # who is there first stays; newcomers are refused once the gate is full of connected ones
        time.sleep(0.5)
        crowd = self.client(mode, seconds + 1, MANY)
        lone = [self.result(c) for c in alone]
        held = self.facts()
        crowd.communicate(timeout=600)
        return held, lone


def judge_lone(load, name, idle, lone, strict=True):
    for what, before, now in zip(("round trip on an open tunnel", "new tunnel"), idle, lone):
        check("%s: %s: answers" % (name, what), now["count"] + now["failed"] > 0, "%d, %d refused" % (now["count"], now["failed"]))
        if not now["count"]:
            continue
        check("%s: %s: longest <= 1 s" % (name, what), now["max"] <= 1e6, "%.1f ms" % (now["max"] / 1e3))
        if strict:
            check("%s: %s: p99 <= 2 x idle" % (name, what), now["p99"] <= 2 * before["p99"],
                  "%.0f us, idle %.0f (p50 %.0f, idle %.0f)" % (now["p99"], before["p99"], now["p50"], before["p50"]))


def run(load, seconds):
    first = load.facts()
    idle = [load.result(c) for c in load.lone(min(5, seconds))]
    print("idle: %(fds)d descriptors, %(kib)d KiB" % first)
    before = load.times()
    held, lone, crowd = load.crowd(seconds)
    spent = [(b - a) / 1e7 / (seconds + 1) for a, b in zip(before, load.times())]
    print("the gate ran %.0f %% of the time and waited %.0f %% for a processor" % tuple(spent))
    print("crowd for %d s: %d tunnels, %d descriptors, %d KiB; " % (seconds, held["tunnels"], held["fds"], held["kib"]) +
          ", ".join("%s %d" % (mode, r["count"]) for mode, r in crowd.items()))
    check("tunnels at once >= 2,000", held["tunnels"] >= 2000, held["tunnels"])
    judge_lone(load, "crowd", idle, lone)
    after = load.settled(first["fds"])
    check("no descriptor is left", after["fds"] <= first["fds"], "%d, before %d" % (after["fds"], first["fds"]))
    check("no connection is stuck", not after["tunnels"], after["tunnels"])
    load.crowd(max(5, seconds // 4))
    again = load.settled(first["fds"])
    check("memory does not grow with a second crowd", again["kib"] <= 1.1 * after["kib"] + 1024,
          "%d KiB, %d before" % (again["kib"], after["kib"]))
    for mode in ("stall", "deaf"):
        held, lone = load.many(mode, max(5, min(20, seconds)))
        print("%d connections, %s: %d held, %d descriptors, %d KiB" % (MANY, mode, held["tunnels"], held["fds"], held["kib"]))
        judge_lone(load, "10,000 " + mode, idle, lone, strict=False)
        left = load.settled(first["fds"])
        check("10,000 %s: nothing is left" % mode, left["fds"] <= first["fds"] and not left["tunnels"],
              "%(fds)d descriptors, %(tunnels)d connections" % left)


def main():
    tools, seconds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 60
    lab.enter()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard < MANY + 1000:
        lab.skip("the hard limit of open files is %d" % hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, hard))
    for i in range(bench.NAMES):
        lab._add_address(bench.FIRST + i, "203.0.113.%d" % (bench.FIRST + i))
    with tempfile.TemporaryDirectory(prefix="sbx-load") as folder:
        os.chmod(folder, 0o755)
        hosts = {"b%d.example.com" % i: ["203.0.113.%d" % (bench.FIRST + i)] for i in range(bench.NAMES)}
        sandbox = lab.Sandbox(lab.HELPER)
        origins = [bench.ready(subprocess.Popen(command, stdout=subprocess.PIPE)) for command in
                   (["nice", "-n", "10", tools + "/bench_origin", "small"], [tools + "/bench_origin", "lone"])]
        gate = lab.Gate([lab.rule("**.example.com")], hosts, netns=sandbox.connect())
        for process in (gate.process, origins[1]):
            os.setpriority(os.PRIO_PROCESS, process.pid, URGENT)
        try:
            run(Load(tools, gate, sandbox), seconds)
        finally:
            code = gate.close()
            for origin in origins:
                origin.kill()
            sandbox.close()
    check("the gate ends well", code == 0, code)
    print("missed: %s" % (", ".join(missed) or "nothing"))
    sys.exit(bool(missed))


if __name__ == "__main__":
    main()
