#!/usr/bin/env python3
"""Faults x places: what a registry, the network, the disk and SIGKILL can do to a push and a pull, at the
manifest, the configuration, the layer and the layer of an image. For each: the error (or success, where
the fault passes), nothing half-made, and how many bytes the next run moves.

Each fault is at each place where it can be, except: an archive is only wrong when it is pulled (what is pushed is packed here); a
manifest cannot be resumed, mounted or too long without another digest; kits have no index. What archives of images may have,
engine/store's tests say. Stalls, and a helper that hangs, take minutes: with SBX_MATRIX=all.

usage: matrix.py [PATTERN]    SBX_BIN, and pull_image beside it; rows whose name has PATTERN.
SBX_MATRIX=all: a run for each of the cuts and kills too, not only one with them all.
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import matrix_cache  # noqa: E402,F401 # each adds its rows
import matrix_content  # noqa: E402,F401
import matrix_disk  # noqa: E402,F401
import matrix_lists  # noqa: E402,F401
import matrix_login  # noqa: E402,F401
import matrix_manifest  # noqa: E402,F401
import matrix_network  # noqa: E402,F401
import matrix_strange  # noqa: E402,F401
import matrix_tls  # noqa: E402,F401
from matrix_world import rows, run_rows  # noqa: E402

sys.exit(run_rows([x for x in rows if len(sys.argv) < 2 or sys.argv[1] in x[0]]))
