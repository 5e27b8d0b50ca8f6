"""The gate under load: 2,000 tunnels at once for a minute to servers that answer slowly, stall, reset and flood; then 10,000
connections to servers that never read and to one that never accepts. Nothing may leak or get stuck, and a lone user beside all
that is served as if he were alone.

    load.py DIRECTORY-OF-PROGRAMS [SECONDS]      default 60; needs root; a build with SBX_BENCH

The lone user has two programs: one does a round trip on an open tunnel every 5 ms, one opens a tunnel every 5 ms. The crowd has
2,200 tunnels and up to 400 more that are reset, and does each second what the table PACED says; then, for a shorter time, as much as the machine gives (UNPACED).

Two processors are shared by all of it, and what is asked about is the gate's turn-taking. So the lone user, the server that
answers him and the gate do not wait for a processor (SCHED_RR), alone as in the crowd: on other machines the crowd would take none
from them, and the machine's other work shall not count. The crowd's programs take turns every 0.1 ms (Linux 6.12), as many machines
would come, not in bursts of 3 ms. That a full gate leaves the kernel 5 % of each second for the rest shows in "longest".
The peers, a relay that only copies (bench_relay.c) and squid, stand in the same crowds: what the kernel alone makes one wait.

The gate runs as in real use: unprivileged, with a soft limit of 1,024 open files. Exit status 1: something was missed.
"""
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import bench  # noqa: E402
import lab  # noqa: E402

# mode, tunnels at once, a second: round trips are 10 a tunnel, resets so many tunnels (0: each anew at once), the flood MiB
PACED = [("slow", 800, 0), ("stall", 600, 0), ("reset", 400, 1500), ("flood", 800, 200)]
UNPACED = [("slow", 800, 0), ("stall", 600, 0), ("reset", 400, 0), ("flood", 800, 1000)]
MANY = 10000
missed = []


def check(what, ok, figure, strict=True):
    print("  %-62s %s%s" % (what, figure, "" if ok or not strict else "  MISSED"), flush=True)
    if not ok and strict:
        missed.append(what)


def never_waits(pid=0, priority=2):
    os.sched_setscheduler(pid, os.SCHED_RR, os.sched_param(priority))


class Load:
    """The lone user and the crowd, through one contender (see bench.Contender)."""

    def __init__(self, tools, contender, stats=None):
        self.tools, self.contender, self.stats = tools, contender, stats
        never_waits(contender.process.pid, 1)

    def client(self, mode, seconds, n, rate=0, lone=False):
        def prepare():
            if lone:
                never_waits()
            else:
                os.nice(10)
            lab.enter_netns(self.contender.netns)
        address, port = self.contender.address
        return subprocess.Popen([self.tools + "/bench_client", address, str(port), mode, str(seconds), str(n), str(rate)],
                                preexec_fn=prepare, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)

    def result(self, client):
        out = client.communicate(timeout=600)[0].split()
        if client.returncode or len(out) != 6:
            raise SystemExit("a client of the load broke off: %r" % out)
        return {"count": int(out[0]), "p50": float(out[2]), "p99": float(out[3]), "max": float(out[4]),
                "failed": int(out[5])}

    def lone(self, seconds):
        return [self.client(mode, seconds, 1, lone=True) for mode in ("quiet", "visit")]

    def idle(self, seconds):
        return [self.result(c) for c in self.lone(seconds)]

    def facts(self):
        pid = self.contender.process.pid
        with open("/proc/%d/smaps_rollup" % pid) as f:
            memory = sum(int(line.split()[1]) for line in f if line.startswith("Private_"))
        return {"fds": len(os.listdir("/proc/%d/fd" % pid)), "kib": memory,
                "tunnels": self.stats(op="stats")["connections"] if self.stats else 0}

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
        with open("/proc/%d/schedstat" % self.contender.process.pid) as f:
            return [int(x) for x in f.read().split()[:2]]

    def crowd(self, kind, seconds):
        clients = [(mode, self.client(mode, seconds + 1, n, rate)) for mode, n, rate in kind]
        time.sleep(1)  # they come first
        before = self.times()
        alone = self.lone(seconds - 1)
        time.sleep(min(2, seconds / 2))
        held = self.facts()
        lone = [self.result(c) for c in alone]
        spent = tuple((b - a) / 1e7 / (seconds - 1) for a, b in zip(before, self.times()))
        crowd = {mode: self.result(c) for mode, c in clients}
        print("  %s ran %.0f %% of the time and waited %.0f %% for a processor; %d tunnels, %d descriptors, %d KiB; a second: " % (
            (self.contender.name,) + spent + (held["tunnels"], held["fds"], held["kib"])) +
            ", ".join("%s %.0f" % (mode, r["count"] / (seconds + 1)) for mode, r in crowd.items()), flush=True)
        return held, lone

    def many(self, mode, seconds):
        alone = self.lone(seconds)  # who is there first stays; newcomers are refused once the gate is full of connected ones
        time.sleep(0.5)
        crowd = self.client(mode, seconds + 1, MANY)
        lone = [self.result(c) for c in alone]
        held = self.facts()
        crowd.communicate(timeout=600)
        return held, lone


def judge_lone(name, idle, lone, strict=True, bounded=True):
    for what, before, now in zip(("trip on an open tunnel", "new tunnel"), idle, lone):
        check("%s: %s: answers" % (name, what), now["count"] + now["failed"] > 0 or not bounded,
              "%d, %d refused" % (now["count"], now["failed"]))
        if not now["count"]:
            continue
        check("%s: %s: longest <= 1 s" % (name, what), now["max"] <= 1e6, "%.1f ms" % (now["max"] / 1e3), bounded)
        check("%s: %s: p99 <= 2 x idle" % (name, what), now["p99"] <= 2 * before["p99"],
              "%.2f x (%.0f us, idle %.0f; p50 %.0f, idle %.0f)" % (now["p99"] / before["p99"], now["p99"], before["p99"],
                                                                    now["p50"], before["p50"]), strict)


def run(load, seconds):
    first = load.facts()
    idle = load.idle(max(5, seconds // 6))
    print("idle: %(fds)d descriptors, %(kib)d KiB" % first)
    print("crowd, paced, for %d s" % seconds)
    held, lone = load.crowd(PACED, seconds)
    check("tunnels at once >= 2,000", held["tunnels"] >= 2000, held["tunnels"])
    judge_lone("crowd", idle, lone)
    after = load.settled(first["fds"])
    check("no descriptor is left", after["fds"] <= first["fds"], "%d, before %d" % (after["fds"], first["fds"]))
    check("no connection is stuck", not after["tunnels"], after["tunnels"])
    print("crowd, as fast as it can, for %d s" % max(5, seconds // 4))
    judge_lone("unpaced", idle, load.crowd(UNPACED, max(5, seconds // 4))[1], strict=False)
    again = load.settled(first["fds"])
    check("memory does not grow with a second crowd", again["kib"] <= 1.1 * after["kib"] + 1024,
          "%d KiB, %d before" % (again["kib"], after["kib"]))
    for mode in ("stall", "deaf"):
        held, lone = load.many(mode, max(5, min(20, seconds)))
        print("%d connections, %s: %d held, %d descriptors, %d KiB" % (MANY, mode, held["tunnels"], held["fds"], held["kib"]))
        judge_lone("10,000 " + mode, idle, lone, strict=False)
        left = load.settled(first["fds"])
        check("10,000 %s: nothing is left" % mode, left["fds"] <= first["fds"] and not left["tunnels"],
              "%(fds)d descriptors, %(tunnels)d connections" % left)


def compare(load, seconds):
    """A peer in the same crowds; it has no aims."""
    name = load.contender.name
    print("%s, beside" % name)
    idle = load.idle(5)
    for kind, crowd in (("paced", PACED), ("unpaced", UNPACED)):
        judge_lone("%s, %s" % (name, kind), idle, load.crowd(crowd, seconds)[1], strict=False, bounded=False)


def peers(tools, sandbox, veth, folder):
    """Makers of them: one at a time."""
    def relay():
        both = bench.relays(tools, sandbox, veth)
        return both[0], [c.close for c in both]

    def squid():
        if not shutil.which("squid", path=os.environ["PATH"] + ":/usr/sbin"):
            print("LOUD: squid is not installed, left out")
            return None, []
        resolver = lab.Resolver()
        resolver.answers.update({"b%d.example.com" % i: ["203.0.113.%d" % (bench.FIRST + i)] for i in range(bench.NAMES)})
        found = bench.peer("squid", 3200, veth, folder)[0]
        return found, [found.close]
    return [relay, squid]


def main():
    tools, seconds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 60
    lab.enter()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard < MANY + 1000:
        lab.skip("the hard limit of open files is %d" % hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, hard))
    os.environ["BENCH_SLICE_US"] = "100"
    for i in range(bench.NAMES):
        lab._add_address(bench.FIRST + i, "203.0.113.%d" % (bench.FIRST + i))
    with tempfile.TemporaryDirectory(prefix="sbx-load") as folder:
        os.chmod(folder, 0o755)
        bench.fixed_names(folder)
        hosts = {"b%d.example.com" % i: ["203.0.113.%d" % (bench.FIRST + i)] for i in range(bench.NAMES)}
        sandbox = lab.Sandbox(lab.HELPER)
        origins = [bench.ready(subprocess.Popen(command, stdout=subprocess.PIPE)) for command in
                   (["nice", "-n", "10", tools + "/bench_origin", "small"], [tools + "/bench_origin", "lone"])]
        never_waits(origins[1].pid)
        veth = None
        gate = lab.Gate([lab.rule("**.example.com")], hosts, netns=sandbox.connect())
        try:
            run(Load(tools, bench.Contender("the gate", sandbox.netns, lab.PROXY, gate.process, gate.close), gate.control), seconds)
            code = gate.close()
            check("the gate ends well", code == 0, code)
            veth = bench.Namespace()
            for make in peers(tools, sandbox, veth, folder):
                contender, ends = make()
                try:
                    if contender:
                        compare(Load(tools, contender), max(5, seconds // 6))
                finally:
                    for end in ends:
                        end()
        finally:
            gate.close()
            for origin in origins:
                origin.kill()
            if veth:
                veth.close()
            sandbox.close()
    print("missed: %s" % (", ".join(missed) or "nothing"))
    sys.exit(bool(missed))


if __name__ == "__main__":
    main()
