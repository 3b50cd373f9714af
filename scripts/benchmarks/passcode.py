# SPDX-License-Identifier: Apache-2.0
"""What a passcode costs those who read, and how soon a locked keychain answers."""

import os
import statistics
import subprocess

from .figures import note

_DEAREST_RATIO = 1.3
_SLOWEST_ANSWER = 5000


def _tell(programs, folder, words):
    """Lets another program change the keychain in `folder`. It answers on descriptor 1; the keys
    stay in the kernel when it ends."""
    environment = dict(os.environ, VALET_HOME=os.path.join(folder, "keychain"))
    done = subprocess.run([programs.agent, "1"], input=words + "\n", stdout=subprocess.PIPE,
                          text=True, env=environment, check=False)
    if not any(line.startswith("ok") for line in done.stdout.splitlines()):
        raise SystemExit(f"benchmark: error: the agent could not {words.split()[0]}")


def check(stage):
    """Reads with and without a passcode in turns; returns what is too slow."""
    programs, size = stage.programs, 1000
    os.environ["VALET_LOCK_STATE"] = "kernel"
    folders = {name: stage.empty(name) for name in ("open", "unlocked")}
    for folder in folders.values():
        programs.run("populate", size, folder)
    _tell(programs, folders["unlocked"], "passcode set benchmark")
    try:
        times = {name: [] for name in folders}
        for _ in range(5):
            for name, folder in folders.items():
                times[name].append(float(programs.run("get", size, folder)[0]))
        _tell(programs, folders["unlocked"], "lock")
        answers = programs.run("locked", 1, folders["unlocked"])[0].split()
    finally:
        _tell(programs, folders["unlocked"], "lock all")
    plain, guarded = (statistics.median(times[name]) for name in ("open", "unlocked"))
    answer, slowest = (float(number) for number in answers)
    print(f"get, us: {plain:.2f} without a passcode, {guarded:.2f} unlocked, "
          f"ratio {guarded / plain:.2f}")
    print(f"locked answer, us: {answer:.2f}; the slowest of 1,001 {slowest:.2f}")
    note("a ratio above 1.3, or a locked answer above 5 ms, is an error")
    limits = ((guarded / plain <= _DEAREST_RATIO, "an unlocked read costs over 1.3 plain ones"),
              (answer <= _SLOWEST_ANSWER, "a locked answer takes more than 5 ms"))
    return [text for is_kept, text in limits if not is_kept]
