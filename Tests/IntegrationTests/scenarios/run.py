# SPDX-License-Identifier: Apache-2.0
"""usage: run.py [--ordinary-user | --lonely-user] [--thorough] MODULE.SCENARIO

Runs one scenario against $VALET_TEST_COMMAND and $VALET_TEST_AGENT. Exits 0 if the product did
what it should, 77 if the machine lacks something, 1 with the reason otherwise.

--ordinary-user   as user 65534, where started by root
--lonely-user     as a user of its own, which takes root: nobody else uses up its quota of keys
--thorough        as long as it takes, not as long as a test run may take
"""

import importlib
import os
import random
import shutil
import signal
import sys
import tempfile
import traceback

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import support  # noqa: E402

USERS = {"--ordinary-user": 65534, "--lonely-user": random.randrange(100_000, 1_000_000)}


def copy_programs():
    """Puts the programs where everybody can run them; before scenarios are imported, which ask
    for their paths."""
    folder = tempfile.mkdtemp(prefix="valet-programs-")
    os.chmod(folder, 0o755)
    for name in ("COMMAND", "AGENT"):
        copy = shutil.copy(getattr(support, name), folder)
        os.chmod(copy, 0o755)
        setattr(support, name, copy)
    return folder


def become(user, folder):
    """Gives up root, in a child; the programs in the folder go when it has ended."""
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        shutil.rmtree(folder)
        sys.exit(os.waitstatus_to_exitcode(status))
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)


def main(arguments):
    options = {word for word in arguments if word.startswith("--")}
    names = [word for word in arguments if not word.startswith("--")]
    if len(names) != 1 or options - {*USERS, "--thorough"}:
        print(__doc__)
        return 64
    module, _, function = names[0].partition(".")
    # The caller may have blocked signals that scenarios send.
    signal.pthread_sigmask(signal.SIG_SETMASK, set())
    # So that whatever was started is ended on the way out.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    users = [USERS[option] for option in options & set(USERS)] if os.geteuid() == 0 else []
    folder = copy_programs() if users else None
    scenario = getattr(importlib.import_module(module), function)
    try:
        if "--lonely-user" in options:
            support.need_root()
        for user in users:
            become(user, folder)
        with support.World() as world:
            world.is_thorough = "--thorough" in options
            scenario(world)
    except support.Skip as reason:
        print(f"skipped: {reason}")
        return 77
    except support.Failure as failure:
        place = traceback.extract_tb(failure.__traceback__)[-2]
        print(f"{os.path.basename(place.filename)}:{place.lineno}: {failure}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
