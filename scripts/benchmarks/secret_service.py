# SPDX-License-Identifier: Apache-2.0
"""`valet` beside `secret-tool` with gnome-keyring, each started anew for each secret."""

import contextlib
import os
import shutil
import statistics
import subprocess
import tempfile
import time

from .costs import VALET
from .figures import figure, note

_ITEMS = 50


def measure(programs, folder):
    """Times 50 new secrets and 50 lookups of each, in turns, in a new and empty keyring."""
    missing = [name for name in ("dbus-daemon", "gnome-keyring-daemon", "secret-tool")
               if not shutil.which(name)]
    if missing:
        note(f"skipped secret-tool: there is no {', '.join(missing)}; "
             "apt-get install dbus gnome-keyring libsecret-tools")
        return []
    with tempfile.TemporaryDirectory(dir=folder) as home, _keyring(home) as environment:
        commands = {
            "valet": ([programs.command, "set"], [programs.command, "get"], VALET),
            "secret-tool": (["secret-tool", "store", "--label=benchmark", "account"],
                            ["secret-tool", "lookup", "account"], ()),
        }
        found = []
        for verb, measure_name in ((0, "command: set new"), (1, "command: get")):
            times = {name: [] for name in commands}
            for number in range(_ITEMS):
                for name, command in commands.items():
                    arguments = [*command[verb], f"key-{number}", *command[2]]
                    times[name].append(_milliseconds(arguments, environment))
            middle = {name: statistics.median(each) for name, each in times.items()}
            found.append(figure(measure_name, _ITEMS, "ms", **middle))
        return found


@contextlib.contextmanager
def _keyring(home):
    """A bus and an unlocked keyring of their own; yields the environment that leads to them."""
    environment = dict(os.environ, HOME=home, XDG_DATA_HOME=home, XDG_RUNTIME_DIR=home,
                       VALET_HOME=os.path.join(home, "keychain"))
    with contextlib.ExitStack() as ends:
        def start(*command):
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       stderr=subprocess.DEVNULL, text=True, env=environment)
            ends.callback(process.wait)
            ends.callback(process.terminate)
            return process

        bus = start("dbus-daemon", "--session", "--nofork", "--print-address=1")
        environment["DBUS_SESSION_BUS_ADDRESS"] = bus.stdout.readline().strip()
        daemon = start("gnome-keyring-daemon", "--foreground", "--unlock", "--components=secrets")
        daemon.stdin.write("benchmark")
        daemon.stdin.close()
        # It says where its control socket is when it is ready.
        daemon.stdout.readline()
        yield environment


def _milliseconds(command, environment):
    begun = time.monotonic()
    subprocess.run(command, input=b"a secret of some 30 characters", check=True, timeout=20,
                   stdout=subprocess.DEVNULL, env=environment)
    return (time.monotonic() - begun) * 1000
