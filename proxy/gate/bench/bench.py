"""The gate beside tinyproxy and squid: tunnels a second (8 clients), one stream (GiB/s), 64-byte round
trips a second (32 tunnels). Prints a table with ratios; needs root and a build with SBX_BENCH.

    bench.py BENCH-PROXY [SECONDS]
"""
import os
import shutil
import subprocess
import sys
import tempfile
import time
import socket

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tests"))
import lab  # noqa: E402

NAME = "bench.example.com"


def cpu_seconds(pid):
    with open("/proc/%d/stat" % pid) as f:
        fields = f.read().rsplit(") ", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(tool, port, seconds, pid):
    """The three figures, each with the processor time the proxy spent on one unit of it (us, ms a GiB)."""
    row = []
    for phase, factor in (("tunnels", 1e6), ("stream", 1e3), ("trips", 1e6)):
        before = cpu_seconds(pid)
        out = subprocess.run([tool, lab.PROXY[0], str(port), lab.ORIGIN, NAME, str(seconds), phase],
                             check=True, stdout=subprocess.PIPE, timeout=60 + 10 * seconds).stdout
        rate = float(out)
        row.append((rate, (cpu_seconds(pid) - before) * factor / (rate * seconds)))
    return row


def wait_for(port):
    for _ in range(500):
        try:
            socket.create_connection((lab.PROXY[0], port)).close()
            return
        except OSError:
            time.sleep(0.02)
    raise SystemExit("the peer does not listen")


def peer(tool, seconds, port, config, args):
    folder = tempfile.mkdtemp(prefix="sbx-bench")
    os.chmod(folder, 0o777)
    path = os.path.join(folder, "conf")
    with open(path, "w") as f:
        f.write(config % {"port": port, "address": lab.PROXY[0], "dir": folder})
    process = subprocess.Popen([a.replace("CONF", path) for a in args], **lab.quiet())
    try:
        wait_for(port)
        return measure(tool, port, seconds, process.pid)
    finally:
        process.terminate()
        process.wait(20)
        shutil.rmtree(folder)


PEERS = {
    "tinyproxy": (3129, "Port %(port)d\nListen %(address)s\nMaxClients 1000\nTimeout 600\nLogLevel Error\n"
                        "ConnectPort 7443\nConnectPort 7444\n", ["tinyproxy", "-d", "-c", "CONF"]),
    "squid": (3130, "http_port %(address)s:%(port)d\nhttp_access allow all\ncache deny all\naccess_log none\n"
                    "cache_log /dev/null\npid_filename %(dir)s/pid\nshutdown_lifetime 0 seconds\n"
                    "dns_nameservers 203.0.113.53\n", ["squid", "-N", "-f", "CONF"]),
}


def main():
    tool, seconds = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 3
    lab.enter()
    resolver = lab.Resolver()
    resolver.answers[NAME] = [lab.ORIGIN]
    with tempfile.NamedTemporaryFile("w", prefix="sbx-hosts") as f:
        f.write("%s %s\n127.0.0.1 localhost\n" % (lab.ORIGIN, NAME))  # peers must not wait for Python
        f.flush()
        os.chmod(f.name, 0o644)
        lab._check(lab._libc.mount(f.name.encode(), b"/etc/hosts", None, 1 << 12, None), "mount hosts")
    gate = lab.Gate([lab.rule(NAME)], {NAME: [lab.ORIGIN]})
    rows = {"gate": measure(tool, lab.PROXY[1], seconds, gate.process.pid)}
    gate.close()
    for name, (port, config, args) in PEERS.items():
        if shutil.which(args[0]):
            rows[name] = peer(tool, seconds, port, config, args)
        else:
            print("LOUD: %s is not installed, left out" % name)
    print("%-10s %26s %26s %26s" % ("", "tunnels/s (us each)", "GiB/s (ms a GiB)", "64-byte rr/s (us each)"))
    for name, row in rows.items():
        cells = ["%g (%.3g)%s" % (rate, cost, "" if name == "gate" else " %.2fx" % (rows["gate"][i][0] / rate))
                 for i, (rate, cost) in enumerate(row)]
        print("%-10s %26s %26s %26s" % (name, *cells))


if __name__ == "__main__":
    main()
