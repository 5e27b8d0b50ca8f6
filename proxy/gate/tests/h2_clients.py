"""HTTP/2 of Go and node through an intercepted connection, with a server of Go behind it (scripts/soak.sh h2).

Needs root (namespaces), go; node is left out where it is missing.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import gate_h2
import lab
import tlslab
from lab import ORIGIN

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "h2_clients")


class Clients(gate_h2.Case):
    origin = False

    def setUp(self):
        super().setUp()
        peer = subprocess.Popen([PEER, "serve", ORIGIN + ":443", *gate_h2.world.leaf([gate_h2.NAME])],
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(peer.stdout.close)
        self.addCleanup(peer.communicate)
        self.assertEqual(peer.stdout.readline(), b"ready\n")

    def run_client(self, *args, last):
        r = subprocess.run(args, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=100,
                           env={"PATH": os.environ.get("PATH", ""), "HOME": self.dir,
                                "HTTPS_PROXY": "http://%s:%d" % lab.PROXY})
        self.assertEqual((r.returncode, r.stdout.splitlines()[-1:]), (0, [last]), r.stdout[-2000:])

    def test_go(self):
        self.run_client(PEER, "call", gate_h2.URL, sandbox_ca.path + ".crt", last=b"500 at once")

    def test_node(self):
        if not shutil.which("node"):
            self.skipTest("node is missing (scripts/install-deps.sh soak)")
        self.run_client("node", os.path.join(HERE, "client.js"), lab.PROXY[0], str(lab.PROXY[1]),
                        sandbox_ca.path + ".crt", gate_h2.URL, last=b"extended CONNECT is not offered")


if __name__ == "__main__":
    if not shutil.which("go"):
        lab.skip("this test needs go (scripts/install-deps.sh soak)")
    made = tempfile.mkdtemp(prefix="sbx-gate-h2-peer")
    PEER = os.path.join(made, "peer")
    subprocess.run(["go", "build", "-o", PEER, os.path.join(HERE, "peer.go")], check=True,
                   env=dict(os.environ, GO111MODULE="off", GOFLAGS=""))
    lab.enter()
    sandbox_ca = gate_h2.sandbox_ca = tlslab.Authority("sandbox")
    gate_h2.world = tlslab.Authority("world")
    try:
        unittest.main(verbosity=2)
    finally:
        sandbox_ca.close()
        gate_h2.world.close()
        shutil.rmtree(made)
