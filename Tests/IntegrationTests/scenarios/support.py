# SPDX-License-Identifier: Apache-2.0
"""What all scenarios use: their declaration, a keychain of their own, the command, and programs
that use the library."""

import ctypes
import os
import random
import select
import shutil
import signal
import socket
import sqlite3
import subprocess
import tempfile
import time

import pages

COMMAND = os.environ.get("VALET_TEST_COMMAND", "")
AGENT = os.environ.get("VALET_TEST_AGENT", "")
# The words by which the command finds the agent's items.
AGENT_ITEMS = ("--app", "ValetTestAgent", "--id", "integration")
FILES = ("keychain.db", "keychain.db-wal", "keychain.db-shm", "keychain.lock", "device/device.key")


# As whom a scenario runs: as the caller of the tests, or as a user who is not root and whose quota
# of kernel keys nobody else uses. Only root can become another user.
CALLER, ORDINARY = "caller", "ordinary"
EVERY_USER = (CALLER, ORDINARY)
# The scripts that run some of the scenarios: the first one lets them take as long as they need.
CRASH_TEST, LEAK_TEST = "crash-test", "leak-test"
SCENARIOS = {}


class Failure(Exception):
    """The product did not do what the scenario requires."""


class Skip(Exception):
    """The machine lacks something that the scenario needs."""


class Scenario:
    """A function that takes a `World`, and how to run it."""

    def __init__(self, function, users, script, seconds):
        self.function, self.users, self.script, self.seconds = function, users, script, seconds
        self.name = f"{function.__module__}.{function.__name__}"
        first, _, _ = (function.__doc__ or "").strip().partition("\n\n")
        self.title = " ".join(first.split()).removesuffix(".")


def scenario(function=None, *, users=(CALLER,), script=None, seconds=900):
    """Declares a scenario: its title is the first paragraph of its documentation.

    The tests run it as each of `users`, and fail if it takes longer than `seconds`, which a busy
    machine needs a fraction of. `script` names the script that runs it, too."""
    def declare(function):
        declared = Scenario(function, users, script, seconds)
        titles = [other.title for other in SCENARIOS.values()]
        if not declared.title or declared.title in titles:
            raise ValueError(f"{declared.name} needs a title of its own: {declared.title!r}")
        SCENARIOS[declared.name] = declared
        return function
    return declare(function) if function else declare


def expect(condition, *words):
    if not condition:
        raise Failure(" ".join(str(word) for word in words))


def need_root():
    if os.geteuid() != 0:
        raise Skip("needs root")


def need_quota(world):
    """For scenarios that use up the user's quota of kernel keys, or lock all of the user's
    keychains."""
    if not world.is_alone:
        raise Skip("needs root, to run as a user of its own")


def add_user():
    """Adds a user whom only this process and its children see; returns the number, which is also
    that of the group. Takes root. Nobody else uses this user's quota of kernel keys."""
    number = random.randrange(100_000, 1_000_000)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(0x20000) < 0:  # CLONE_NEWNS
        # A user without a name is enough for most.
        return number
    with tempfile.NamedTemporaryFile("w", prefix="valet-passwd-") as file:
        with open("/etc/passwd", encoding="utf-8") as known:
            file.write(known.read().rstrip("\n") + "\n")
        file.write(f"valet-{number}:x:{number}:{number}::/nonexistent:/usr/sbin/nologin\n")
        file.flush()
        os.chmod(file.name, 0o644)
        subprocess.run(["mount", "--make-rprivate", "/"], check=True)
        subprocess.run(["mount", "--bind", file.name, "/etc/passwd"], check=True)
    return number


def become(number):
    os.setgroups([])
    os.setresgid(number, number, number)
    os.setresuid(number, number, number)


def clear_keys(number):
    """Removes the kernel keys of another user; takes root."""
    child = os.fork()
    if child == 0:
        become(number)
        ctypes.CDLL(None).syscall(250, 7, -4)  # KEYCTL_CLEAR of the user's keyring
        os._exit(0)
    os.waitpid(child, 0)


def need(program):
    if shutil.which(program) is None:
        raise Skip(f"needs {program}")


def is_listening(path):
    """Whether a socket takes connections: its file is there a moment before."""
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(path) == 0


def wait_for(condition, what):
    end = time.monotonic() + 20
    while not condition():
        if time.monotonic() > end:
            raise Failure(f"waited in vain for {what}")
        time.sleep(0.05)


class Outcome:
    def __init__(self, code, out, err, seconds):
        self.code, self.out, self.seconds = code, out, seconds
        self.err = err.decode(errors="replace")

    def __str__(self):
        return f"exit {self.code} after {self.seconds:.2f} s, {self.out[:80]!r}, {self.err.strip()}"


class World:
    """A temporary folder with a keychain, and every process that was started in it."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="valet-integration-")
        os.chmod(self.folder, 0o755)
        self.home = os.path.join(self.folder, "home")
        self.started = []
        # Whether the scenario may take as long as it needs, and whether its user runs nothing else.
        self.is_thorough = self.is_alone = False
        # Whose kernel keys go with the world.
        self.added_users = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.started:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                kill_session(process)
        for line in reversed(open("/proc/self/mounts").readlines()):
            if line.split()[1].startswith(self.folder + "/"):
                subprocess.run(["umount", "--lazy", line.split()[1]], check=False)
        for number in self.added_users:
            clear_keys(number)
        shutil.rmtree(self.folder, ignore_errors=True)

    def add_user(self):
        number = add_user()
        self.added_users.append(number)
        return number

    def path(self, name):
        return os.path.join(self.home, name)

    def environment(self, changes=None):
        values = {
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": self.folder,
            "VALET_HOME": self.home, "SWIFT_BACKTRACE": "enable=no",
        }
        values.update(changes or {})
        return {name: value for name, value in values.items() if value is not None}

    def start(self, words, env=None, **options):
        process = subprocess.Popen(
            words, env=self.environment(env), start_new_session=True, **options)
        self.started.append(process)
        return process

    def run(self, *words, input=b"", env=None, prefix=(), timeout=60, **options):
        """Runs the command; it is a failure if the command does not end in time."""
        begin = time.monotonic()
        process = self.start(
            [*prefix, options.pop("command", COMMAND), *words], env, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
        return self.finish(process, input, timeout, begin, words)

    def finish(self, process, input=b"", timeout=60, begin=None, words=()):
        begin = begin or time.monotonic()
        try:
            out, err = process.communicate(input, timeout)
        except subprocess.TimeoutExpired:
            kill_session(process)
            raise Failure(f"valet {' '.join(words)} hung for {timeout} s") from None
        self.started.remove(process)
        return Outcome(process.returncode, out, err, time.monotonic() - begin)

    def set(self, key, value, *words, **options):
        value = value if isinstance(value, bytes) else value.encode()
        outcome = self.run("set", key, *words, input=value, **options)
        expect(outcome.code == 0, f"set {key}:", outcome)

    def get(self, key, *words, **options):
        outcome = self.run("get", key, *words, **options)
        expect(outcome.code == 0, f"get {key}:", outcome)
        return outcome.out.decode()

    def fill(self, *keys):
        for key in keys:
            self.set(key, f"value of {key}")

    def check(self, *keys):
        for key in keys:
            value = self.get(key)
            expect(value == f"value of {key}", f"get {key}: {value!r}")

    def doctor(self, code=0):
        outcome = self.run("doctor")
        expect(outcome.code == code, "doctor:", outcome, outcome.out.decode())
        return outcome.out.decode()

    def agent(self, **options):
        return Agent(self, **options)

    def settle(self):
        """Moves everything into the database file; no process may be using the keychain."""
        connection = sqlite3.connect(self.path("keychain.db"), isolation_level=None)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()
        for suffix in ("-wal", "-shm"):
            if os.path.exists(self.path("keychain.db" + suffix)):
                os.remove(self.path("keychain.db" + suffix))

    def contents(self, *names):
        """Returns the bytes of files by name; None for a missing one."""
        found = {}
        for name in names or ("keychain.db", "keychain.db-wal", "device/device.key"):
            path = self.path(name)
            found[name] = open(path, "rb").read() if os.path.isfile(path) else None
        return found

    def names(self):
        """Returns the files of the keychain without those that SQLite creates and the one
        through which opened keys are shared."""
        found = set()
        for folder, _, files in os.walk(self.home):
            found |= {os.path.relpath(os.path.join(folder, file), self.home) for file in files}
        return {name for name in found - {"keychain.db-wal", "keychain.db-shm"}
                if not name.startswith("device/sharing.")}

    def doctored(self, statement, *parameters):
        """Changes the database of a keychain that no process uses, as somebody could who knows
        its format: the changed pages get checksums that fit."""
        connection = sqlite3.connect(self.path("keychain.db"), isolation_level=None)
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute(statement, parameters)
        connection.close()
        self.settle()
        pages.sum_anew(self.path("keychain.db"))


class Agent:
    """A process that uses the library, which must never write to the standard streams."""

    def __init__(self, world, env=None, program=None, prefix=(), log=None, descriptors=()):
        self.world = world
        answers, theirs = os.pipe()
        self.answers, self.rest = answers, b""
        self.streams = tempfile.TemporaryFile(dir=world.folder)
        self.process = world.start(
            [*prefix, program or AGENT, str(theirs)], env, stdin=subprocess.PIPE,
            stdout=self.streams, stderr=self.streams, pass_fds=(theirs, *descriptors))
        os.close(theirs)
        self.pid = self.process.pid

    def tell(self, line):
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def answer(self, timeout=60):
        end = time.monotonic() + timeout
        while b"\n" not in self.rest:
            ready, _, _ = select.select([self.answers], [], [], max(0, end - time.monotonic()))
            expect(ready, "the agent does not answer")
            read = os.read(self.answers, 1 << 20)
            if not read:
                raise Failure(f"the agent died: {self.process.wait(30)}, {self.printed()!r}")
            self.rest += read
        line, self.rest = self.rest.split(b"\n", 1)
        return line.decode()

    def ask(self, line, timeout=60):
        self.tell(line)
        return self.answer(timeout)

    def do(self, line, timeout=60):
        """Asks for something that must succeed; returns the answer."""
        answer = self.ask(line, timeout)
        expect(answer.startswith("ok"), f"{line}: {answer}")
        return answer[3:]

    def printed(self):
        self.streams.seek(0)
        return self.streams.read()

    def end(self):
        self.process.stdin.close()
        code = self.process.wait(30)
        self.world.started.remove(self.process)
        os.close(self.answers)
        expect(code == 0, f"the agent ended with {code}:", self.printed())
        expect(self.printed() == b"", "the library printed", self.printed())


def stop(process):
    """Stops a process, and returns when each of its threads has stopped. The signal alone does not
    wait: on a busy machine a thread runs on for tens of milliseconds, and may take a lock."""
    os.kill(process.pid, signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)


def kill_session(process):
    """Ends a process with its children: it leads a session of its own."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def private_mounts():
    """Gives this process mounts of its own, which end with it."""
    need_root()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(0x20000) != 0:  # CLONE_NEWNS
        raise Skip("needs a mount namespace: " + os.strerror(ctypes.get_errno()))
    mount("--make-rprivate", "/")


def mount(*words):
    done = subprocess.run(["mount", *words], capture_output=True)
    if done.returncode != 0:
        raise Skip(f"mount {' '.join(words)}: {done.stderr.decode().strip()}")
