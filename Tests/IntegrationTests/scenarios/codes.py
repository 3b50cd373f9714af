# SPDX-License-Identifier: Apache-2.0
"""One-time codes, shown by several programs."""

import subprocess
import time

from support import COMMAND, EVERY_USER, expect, need, scenario

KEY = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"


# Promise: 4.13
@scenario(users=EVERY_USER)
def of_a_counter(world):
    """Programs at once show different codes of a counter."""
    world.set("k", f"otpauth://hotp/a?secret={KEY}&counter=0")
    started = [world.start([COMMAND, "otp", "k"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
               for _ in range(12)]
    outcomes = [world.finish(process) for process in started]
    codes = {outcome.out for outcome in outcomes}
    expect(all(outcome.code == 0 for outcome in outcomes), *outcomes)
    expect(len(codes) == len(started), codes)
    expect(world.get("k").endswith("counter=12"), world.get("k"))


@scenario
def as_others(world):
    """The codes are those that another program shows."""
    need("oathtool")
    for words, options in (((), ("--totp",)), (("--digits", "8", "--algorithm", "SHA256"),
                                               ("--totp=sha256", "-d", "8")),
                           (("--period", "45", "--algorithm", "SHA512"),
                            ("--totp=sha512", "-s", "45s"))):
        outcome = world.run("otp", "add", "k", "--force", *words, input=KEY.encode())
        expect(outcome.code == 0, outcome)
        for _ in range(3):
            # A period may end between the two.
            other = subprocess.run(["oathtool", *options, "-b", KEY], capture_output=True,
                                   check=True).stdout.decode().strip()
            outcome = world.run("otp", "k")
            if outcome.out.decode() == other:
                break
            time.sleep(1)
        expect(outcome.out.decode() == other, options, outcome, other)
        expect(outcome.err.endswith(" s left\n"), outcome.err)
