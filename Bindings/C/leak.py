# SPDX-License-Identifier: Apache-2.0
"""Searches the memory of a program that has used a secret through libvalet: leak.py PROGRAM"""

import os
import re
import subprocess
import sys


def memory(pid):
    """Yields everything that the process can read."""
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as source:
        for line in open(f"/proc/{pid}/maps"):
            start, end, name = re.match(r"(\w+)-(\w+) \S+ \S+ \S+ \S+\s*(.*)", line).groups()
            if name.startswith(("[vvar", "[vsyscall")):
                continue
            start, end = int(start, 16), int(end, 16)
            try:
                yield os.pread(source.fileno(), end - start, start)
            except OSError:
                # Guard pages have no memory behind them.
                continue


def main(program):
    secret, canary = os.urandom(48), os.urandom(12).hex()
    process = subprocess.Popen(
        [program, "use-secret"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        env={**os.environ, "CANARY": canary})
    try:
        process.stdin.write(secret)
        process.stdin.close()
        if process.stdout.readline() != b"ready\n":
            sys.exit("leak: error: the program failed")
        regions = list(memory(process.pid))
    finally:
        process.kill()
        process.wait()
    parts = [secret[start:start + 16] for start in range(0, 48, 16)]
    if not any(f"canary-{canary}".encode() in region for region in regions):
        sys.exit("leak: error: the canary is not found: the search is worth nothing")
    if any(part in region for part in parts for region in regions):
        sys.exit("leak: error: a part of the secret is left in memory")
    print(f"leak: {sum(map(len, regions)) >> 20} MiB hold no part of the secret")


main(sys.argv[1])
