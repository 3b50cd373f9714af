# SPDX-License-Identifier: Apache-2.0
"""The memory of a process after it has handled a secret."""

import base64
import contextlib
import fcntl
import json
import os
import platform
import re
import resource
import select
import subprocess
import termios
import time

from seats import Seat
from support import (COMMAND, LEAK_TEST, ORDINARY, Failure, Skip, expect, kill_session, need,
                     need_root, scenario)

FAKE_PINENTRY = os.path.join(
    os.path.dirname(__file__), "..", "..", "Platform", "UserPresenceTests", "fake-pinentry")
# Starts a program that is held for a minute at its end.
HOLDING = ("strace", "-o", "/dev/null", "-e", "trace=exit_group", "-e",
           "inject=exit_group:delay_enter=60000000")
EXIT_GROUP = {"x86_64": "231 ", "aarch64": "94 "}


def pattern(seed):
    """Returns 64 bytes that no file contains; the agent makes the same."""
    state, found = seed, bytearray()
    for _ in range(64):
        state = (state * 1_664_525 + 1_013_904_223) & 0xFFFF_FFFF
        found.append(state >> 24)
    return bytes(found)


def inherited(pid):
    """Returns the names of the files that a process has open beside the standard ones."""
    names = []
    for number in set(os.listdir(f"/proc/{pid}/fd")) - {"0", "1", "2"}:
        with contextlib.suppress(FileNotFoundError):
            names.append(os.readlink(f"/proc/{pid}/fd/{number}"))
    return names


# Promise: 4.1
@scenario(script=LEAK_TEST)
def after_use(world):
    """A secret that was stored, read and removed is not in the memory of its process."""
    search(world, "leak")


# Promise: 4.17, 5.4
@scenario(script=LEAK_TEST)
def after_unlocking(world):
    """A passcode is not in the memory of the process that has unlocked with it."""
    search(world, "leakpasscode", {"VALET_LOCK_STATE": "process"})


@scenario(script=LEAK_TEST)
def after_opening(world):
    """An application password is not in the memory of the process that has used it."""
    search(world, "leakpassword", {"VALET_LOCK_STATE": "process"})


# Promise: 4.16
@scenario(users=(ORDINARY,))
def into_the_swap(world):
    """Where memory cannot be locked everything works, and valet doctor warns of swapping."""
    need("prlimit")
    for limit in (0, 64 << 10):
        prefix = ("prlimit", f"--memlock={limit}")
        stored = world.run("set", f"key {limit}", input=b"value", prefix=prefix)
        expect(stored.code == 0 and not stored.err, stored)
        expect(world.run("get", f"key {limit}", prefix=prefix).out == b"value", limit)
        found = world.run("doctor", prefix=prefix)
        expect(found.code == 0, found)
        expect(b"warning: secrets may be swapped out: locking" in found.out, found.out)
        expect(b"ulimit -l" in found.out, found.out)
        report = json.loads(world.run("doctor", "--json", prefix=prefix).out)
        said = [entry for entry in report["findings"] if "swapped out" in entry["message"]]
        expect([entry["severity"] for entry in said] == ["warning"], report)
    if resource.getrlimit(resource.RLIMIT_MEMLOCK)[0] >= 1 << 20:
        found = world.run("doctor")
        expect(b"guarded, and not swapped out" in found.out, found.out)


def search(world, verb, env=None):
    agent = world.agent(env=env)
    agent.do(verb)
    regions = list(memory(agent.pid))
    expect(found(regions, pattern(2)), "the canary is not found: the search is worth nothing")
    places = found(regions, pattern(1))
    expect(not places, "parts of the secret are left at", places)
    agent.end()
    total = sum(len(data) for _, data in regions)
    print(f"{total >> 20} MiB searched")


def found(regions, secret):
    """Returns the regions that contain 16 successive bytes of the secret."""
    parts = [secret[start:start + 16] for start in range(0, 64, 16)]
    return [name for name, data in regions if any(part in data for part in parts)]


def memory(pid):
    try:
        with open(f"/proc/{pid}/mem", "rb", buffering=0) as source:
            for line in open(f"/proc/{pid}/maps"):
                match = re.match(r"(\w+)-(\w+) (\S+) \S+ \S+ \S+\s*(.*)", line)
                start, end = int(match[1], 16), int(match[2], 16)
                if match[4] in ("[vvar]", "[vsyscall]", "[vvar_vclock]"):
                    continue
                try:
                    data = os.pread(source.fileno(), end - start, start)
                except OSError:
                    # Guard pages have no memory behind them.
                    continue
                yield f"{match[1]} {match[3]} {match[4]}", data
    except PermissionError as error:
        raise Skip(f"needs to read another process's memory: {error}") from None


@scenario
def of_the_command(world):
    """A passcode is not in the memory of the command however it was given."""
    need("strace")
    # Only root can read the memory of a command that forbids tracing.
    need_root()
    passcode, canary = pattern(3)[:32].hex().encode(), pattern(4)[:32].hex().encode()
    for way in (by_descriptor, by_terminal, by_pinentry):
        world.home = f"{world.folder}/{way.__name__}"
        env = {"VALET_LOCK_STATE": "kernel", "CANARY": canary.decode()}
        world.set("a", "value of a")
        try:
            for words in (("passcode", "set"), ("unlock",)):
                process = way(world, words, env, passcode)
                regions = list(memory(held(process)))
                expect(found(regions, canary), "the search finds nothing:", way.__name__)
                places = found(regions, passcode)
                expect(not places, way.__name__, *words, "leaves the passcode at", places)
                kill_session(process)
                world.started.remove(process)
                expect(world.run("get", "a", env=env).code == 0, "not unlocked:", way.__name__)
                world.run("lock", "--all", env=env)
        finally:
            world.run("lock", "--all", env=env)


# Promise: 4.3
@scenario
def of_helpers(world):
    """A password is not in the memory of the helper, import or export that has handled it."""
    need("strace")
    need_root()
    password, canary = pattern(5)[:32].hex(), pattern(6)[:32].hex()
    place = "protocol=https\nhost=example.com\nusername=u\n"
    login = json.dumps({"ServerURL": "a", "Username": "u", "Secret": password})
    for words, input in ((("git-credential", "store"), f"{place}password={password}\n"),
                         (("git-credential", "get"), place),
                         (("docker-credential", "store"), login),
                         (("docker-credential", "get"), "a"),
                         (("import", "--from", "csv"), f"name,password\na,{password}\n"),
                         (("import", "--from", "json"), json.dumps({"b": password})),
                         (("import", "--from", "dotenv"), f"C='{password}'\n"),
                         (("export", "--format", "json", "--yes"), "")):
        process = start(world, words, {"CANARY": canary}, stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        process.stdin.write(input.encode())
        process.stdin.close()
        regions = list(memory(held(process, COMMAND)))
        expect(found(regions, canary.encode()), "the search finds nothing:", words)
        places = found(regions, password.encode())
        expect(not places, *words, "leaves the password at", places)
        if "get" in words or "export" in words:
            shown = os.read(process.stdout.fileno(), 65536)
            expect(password.encode() in shown, words, shown)
        kill_session(process)
        process.stdout.close()
        world.started.remove(process)


# Promise: 4.14
@scenario(script=LEAK_TEST)
def of_new_verbs(world):
    """Secrets that were made, that make codes, were edited or copied are not in memory."""
    need("strace")
    need_root()
    key, canary = pattern(5).hex(), pattern(6)[:32].hex()
    base32 = base64.b32encode(bytes.fromhex(key)).decode()
    uri = f"otpauth://hotp/a?secret={base32}&counter=1"
    world.set("edited", f"{key}\n")
    env = {"CANARY": canary, "EDITOR": "sed -i s/^/x/", "VISUAL": None, "DISPLAY": None,
           "WAYLAND_DISPLAY": None}
    for words, input in ((("generate", "a", "--length", "200"), ""),
                         (("generate", "b", "--words", "40"), ""),
                         (("otp", "add", "c"), base32), (("otp", "add", "d"), uri),
                         (("otp", "c"), ""), (("otp", "d"), ""),
                         (("edit", "edited"), None), (("copy", "edited"), None)):
        if input is None:
            process = Seat(world, *words, env=env, prefix=HOLDING).process
        else:
            process = start(world, words, env, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
            process.stdin.write(input.encode())
            process.stdin.close()
        regions = list(memory(held(process)))
        expect(found(regions, canary.encode()), "the search finds nothing:", words)
        name = words[-1] if words[0] != "generate" else words[1]
        stored = world.run("get", name).out
        expect(len(stored) > 64, words, stored)
        for secret in {stored, stored[-64:], key.encode(), base32.encode()}:
            places = found(regions, secret)
            expect(not places, *words, "leaves a secret at", places)
        if words[0] != "generate":
            places = found(regions, bytes.fromhex(key))
            expect(not places, *words, "leaves the key at", places)
        kill_session(process)
        world.started.remove(process)
    expect(world.run("get", "edited").out == f"x{key}\n".encode(), "not edited")


def shell(script):
    return ("--", "sh", "-c", script)


@scenario
def of_references(world):
    """`run`, `inject` and `read` leave no secret in their memory, arguments or variables."""
    need("strace")
    need_root()
    secret, canary = pattern(7)[:32].hex(), pattern(8)[:32].hex()
    world.set("a", secret)
    variables = f"{world.folder}/variables"
    with open(variables, "w") as file:
        file.write("K=valet:a\nURL=x://u:{{ valet:a }}@host\n")
    hidden, masked = b"<hidden by valet>", ("run", "--mask")
    for words, input, shown in (
            (("read", "valet:a"), "", secret.encode()),
            (("inject",), "x {{ valet:a }} y", f"x {secret} y".encode()),
            ((*masked, "--env", "K=a", *shell('echo "$K"; echo "$K" >&2')), "", hidden + b"\n"),
            ((*masked, "--file", "K=a", *shell('cat "$K"')), "", hidden),
            ((*masked, "--stdin", "a", "--", "cat"), "", hidden),
            ((*masked, "--env-file", variables, *shell('echo "$K$URL"')), "",
             hidden + b"x://u:" + hidden + b"@host\n")):
        process = start(world, words, {"CANARY": canary}, stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE)
        process.stdin.write(input.encode())
        process.stdin.close()
        pid = held(process)
        regions = list(memory(pid))
        expect(found(regions, canary.encode()), "the search finds nothing:", words)
        places = found(regions, secret.encode())
        expect(not places, *words, "leaves the secret at", places)
        expect(secret not in text(pid, "cmdline") + text(pid, "environ"), words)
        expect(os.read(process.stdout.fileno(), 65536) == shown, words)
        kill_session(process)
        process.stdout.close()
        world.started.remove(process)


@scenario
def of_a_program(world):
    """A program gets its secret where the caller asked for it, no descriptor, and no core file."""
    need_root()
    secret = pattern(9)[:32].hex()
    world.set("a", secret)
    for options in ((), ("--mask",)):
        for way, is_in_environment in (("--env=K=a", True), ("--file=K=a", False),
                                       ("--stdin=a", False)):
            words = [COMMAND, "run", *options, way, "--", "sleep", "60"]
            process = world.start(words, stdin=subprocess.DEVNULL)
            program = child_of(process, "sleep") if options else process.pid
            wait_until(lambda: text(program, "cmdline").startswith("sleep"), "no program:", words)
            expect(secret not in text(program, "cmdline"), words)
            expect((secret in text(program, "environ")) == is_in_environment, words)
            expect(re.search("core file size +0 +0 ", text(program, "limits")), words)
            # The loader of the program has its libraries open for a moment.
            wait_until(
                lambda: [name.startswith("/memfd:valet") for name in inherited(program)]
                == [True] * (way == "--file=K=a"), words, "inherits", inherited(program))
            if options:
                supervisor = text(process.pid, "cmdline") + text(process.pid, "environ")
                expect(secret not in supervisor, words)
            kill_session(process)
            world.started.remove(process)


@scenario
def into_messages(world):
    """No message about a program, a template or a file of variables contains a secret."""
    secret = pattern(10)[:32].hex()
    world.set("a", secret)
    world.set("zero", secret.encode() + b"\0")
    lines = {"quotes": f"A=1\nK='{secret}\n", "missing": f"K={secret}{{{{ valet:b }}}}\n",
             "open": f"K={secret} {{{{ valet:a }}\n"}
    for name, content in lines.items():
        with open(f"{world.folder}/{name}", "w") as file:
            file.write(content)
    for code, words, input in (
            (127, ("run", "--env", "K=a", "--", "no-such-program"), ""),
            (126, ("run", "--mask", "--stdin", "a", "--", "/etc/passwd"), ""),
            (1, ("run", "--env", "K=zero", "--", "true"), ""),
            (44, ("run", "--env", "K=a", "--env", "L=b", "--", "true"), ""),
            (64, ("run", "--env-file", f"{world.folder}/quotes", "--", "true"), ""),
            (44, ("run", "--env-file", f"{world.folder}/missing", "--", "true"), ""),
            (64, ("run", "--env-file", f"{world.folder}/open", "--", "true"), ""),
            (44, ("inject",), f"{secret} {{{{ valet:a }}}} {{{{ valet:b }}}}"),
            (64, ("inject",), f"{{{{ valet:a }}}}\n{secret} {{{{ valet:a }}")):
        outcome = world.run(*words, input=input.encode())
        expect(outcome.code == code, words, outcome)
        expect(not outcome.out and outcome.err.startswith("valet: error: "), words, outcome)
        expect(secret not in outcome.err, words, outcome)


def child_of(process, name):
    """Returns the number of the child of that name, once there is one."""
    def children():
        return [int(child) for child in text(process.pid, f"task/{process.pid}/children").split()
                if text(child, "comm").strip() == name]
    wait_until(children, "no child:", name)
    return children()[0]


def wait_until(is_so, *words):
    end = time.monotonic() + 30
    while not is_so():
        expect(time.monotonic() < end, *words)
        time.sleep(0.01)


def start(world, words, env, program=COMMAND, **options):
    """Starts a run that is held for a minute at its end."""
    command = [*HOLDING, program, *words]
    return world.start(command, env, **{"stderr": subprocess.DEVNULL, **options})


def held(process, program=COMMAND):
    """Returns the number of the process that such a run holds at its end."""
    end = time.monotonic() + 30
    while time.monotonic() < end and process.poll() is None:
        for child in text(process.pid, f"task/{process.pid}/children").split():
            # strace begins with children of its own, which test the kernel.
            is_command = text(child, "cmdline").startswith(program)
            if is_command and text(child, "syscall").startswith(EXIT_GROUP[platform.machine()]):
                return int(child)
        time.sleep(0.01)
    raise Failure("the command does not come to its end")


def text(pid, name):
    """Returns a file of /proc about a process; an empty text once it has ended."""
    try:
        with open(f"/proc/{pid}/{name}", encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


def by_descriptor(world, words, env, passcode):
    read, write = os.pipe()
    os.write(write, passcode + b"\n")
    os.close(write)
    process = start(
        world, (*words, "--passcode-fd", str(read)), env, stdin=subprocess.DEVNULL,
        pass_fds=(read,))
    os.close(read)
    return process


def by_terminal(world, words, env, passcode):
    terminal, theirs = os.openpty()
    process = start(world, words, env, stdin=theirs, stdout=theirs,
                    preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
    os.close(theirs)
    prompts = (b"New passcode: ", b"New passcode, again: ")
    for prompt in prompts if "set" in words else (b"Passcode: ",):
        wait_for(terminal, prompt)
        os.write(terminal, passcode + b"\n")
    return process


def wait_for(terminal, prompt):
    """Waits until a terminal shows the prompt and does not echo what is typed."""
    shown, end = b"", time.monotonic() + 20
    while prompt not in shown or termios.tcgetattr(terminal)[3] & termios.ECHO:
        expect(time.monotonic() < end, "no prompt:", shown)
        if select.select([terminal], [], [], 0.01)[0]:
            shown += os.read(terminal, 65536)


def by_pinentry(world, words, env, passcode):
    folder = os.path.join(world.folder, "-".join(("pinentry", *words)))
    os.mkdir(folder)
    os.symlink(os.path.realpath(FAKE_PINENTRY), f"{folder}/pinentry")
    with open(f"{folder}/answers", "wb") as file:
        file.write((b"TWICE " if "set" in words else b"PIN ") + passcode + b"\n")
    return start(world, words, env | {"VALET_PINENTRY": f"{folder}/pinentry"},
                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
