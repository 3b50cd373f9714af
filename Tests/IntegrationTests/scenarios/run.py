# SPDX-License-Identifier: Apache-2.0
"""usage: run.py [--ordinary-user] [--thorough] MODULE.SCENARIO
       run.py --list
       run.py --names crash-test | leak-test

Runs one scenario against $VALET_TEST_COMMAND and $VALET_TEST_AGENT. Exits 0 if the product did
what it should, 77 if the machine lacks something, 1 with the reason otherwise. Without an option
the scenario runs as the first user that it declares.

--ordinary-user   as a user of its own, where started by root: nobody else uses its quota of keys
--thorough        as long as it takes, not as long as a test run may take
--list            prints every scenario with its title and its user, as JSON; for those of several
                  users, with all of them under VALET_TEST_USERS=every
--names           prints the names of the scenarios that a script runs, one a line
"""

import glob
import importlib
import json
import os
import shutil
import signal
import sys
import tempfile
import traceback
import zlib

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import support  # noqa: E402

ORDINARY = "--ordinary-user"


def declared():
    """All scenarios; a module that cannot be loaded is an error."""
    for path in sorted(glob.glob(f"{glob.escape(HERE)}/*.py")):
        if path != os.path.abspath(__file__):
            importlib.import_module(os.path.basename(path).removesuffix(".py"))
    return support.SCENARIOS.values()


def list_all():
    print(json.dumps([
        {"name": one.name, "title": one.title, "user": user}
        for one in declared() for user in users(one)]))


def users(one):
    """Whom a test run runs a scenario as: one of its users, always the same, or with
    VALET_TEST_USERS=every all of them."""
    if os.environ.get("VALET_TEST_USERS") == "every":
        return one.users
    chosen = zlib.crc32(one.name.encode()) % len(one.users)
    return one.users[chosen:chosen + 1]


def list_names(script):
    names = [one.name for one in declared() if one.script == script]
    if not names:
        sys.exit(f"no scenario is declared for {script}")
    print("\n".join(names))


def copy_programs():
    """Copies the programs to where every user can run them. Scenarios ask for their paths when
    they are imported, so that this comes first."""
    folder = tempfile.mkdtemp(prefix="valet-programs-")
    os.chmod(folder, 0o755)
    for name in ("COMMAND", "AGENT"):
        copy = shutil.copy(getattr(support, name), folder)
        os.chmod(copy, 0o755)
        setattr(support, name, copy)
    # The command looks for it beside itself.
    path = os.path.join(os.path.dirname(os.environ.get("VALET_TEST_COMMAND", "")), "valet-sync")
    if os.path.exists(path):
        os.chmod(shutil.copy(path, folder), 0o755)
    return folder


def give_up_root(folder):
    """Becomes a user of its own in a child; its parent cleans up at the end."""
    number = support.add_user()
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        support.clear_keys(number)
        shutil.rmtree(folder)
        sys.exit(os.waitstatus_to_exitcode(status))
    support.become(number)


def find(name):
    importlib.import_module(name.partition(".")[0])
    if name not in support.SCENARIOS:
        sys.exit(f"there is no scenario {name}")
    return support.SCENARIOS[name]


def run(name, user, is_thorough):
    # The caller may have blocked signals that scenarios send.
    signal.pthread_sigmask(signal.SIG_SETMASK, set())
    # An exception on the way out ends every process that was started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    is_another = user != support.CALLER and os.geteuid() == 0
    folder = copy_programs() if is_another else None
    scenario = find(name)
    if is_another:
        give_up_root(folder)
    try:
        if not is_thorough:
            limit_time(scenario.seconds)
        with support.World() as world:
            world.is_thorough = is_thorough
            world.is_alone = is_another
            scenario.function(world)
    except support.Skip as reason:
        print(f"skipped: {reason}")
        return 77
    except support.Failure as failure:
        place = traceback.extract_tb(failure.__traceback__)[-2]
        print(f"{os.path.basename(place.filename)}:{place.lineno}: {failure}")
        return 1
    return 0


def limit_time(seconds):
    def fail(*_):
        raise support.Failure(f"the scenario has not ended after {seconds} s")
    signal.signal(signal.SIGALRM, fail)
    signal.alarm(seconds)


def main(arguments):
    if {"-h", "--help"} & set(arguments):
        print(__doc__)
        return 0
    options = [word for word in arguments if word.startswith("--")]
    names = [word for word in arguments if not word.startswith("--")]
    if options == ["--list"] and not names:
        list_all()
        return 0
    if options == ["--names"] and len(names) == 1:
        list_names(names[0])
        return 0
    if len(names) != 1 or set(options) - {ORDINARY, "--thorough"}:
        print(__doc__)
        return 64
    if ORDINARY not in options and find(names[0]).users[0] == support.ORDINARY:
        # Anew, as the scenarios have their programs' paths already.
        os.execv(sys.executable, [sys.executable, __file__, ORDINARY, *arguments])
    user = support.ORDINARY if ORDINARY in options else support.CALLER
    return run(names[0], user, "--thorough" in options)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
