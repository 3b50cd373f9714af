# SPDX-License-Identifier: Apache-2.0
"""Programs that the command starts or becomes: what they inherit, and how they end."""

import json
import os
import signal
import subprocess
import sys
import time

from support import COMMAND, expect, need, need_root, scenario, wait_for

PASSCODE = b"correct horse\n"
# The descriptors of the program itself, without the one that reads the folder.
INHERITED = """
import os
folder = "/proc/self/fd"
numbers = sorted(int(name) for name in os.listdir(folder) if os.path.lexists(f"{folder}/{name}"))
print(numbers, os.environ.get("VALET_PASSCODE_FD"), os.read(0, 99))
"""
# A pinentry that notes what it and the gpg that caused it have inherited, and answers.
PINENTRY = """#!/bin/sh
note() { ls -l "/proc/$1/fd"; tr '\\0' '\\n' < "/proc/$1/environ"; }
note $$ > "$0.own"
for process in /proc/[0-9]*; do
    [ "$(cat $process/comm 2>/dev/null)" = gpg ] || continue
    grep -q "$0.store" $process/cmdline && note ${process#/proc/} > "$0.gpg"
done
echo OK
while read -r word rest; do
    case $word in GETPIN) echo "D correct horse"; echo OK ;; BYE) exit ;; *) echo OK ;; esac
done
"""


def piped(data):
    read, write = os.pipe()
    os.write(write, data)
    os.close(write)
    return read


def inherited(world, *options, env=None, input=b"", also=()):
    """What a program of `valet run` inherits while the passcode is in a descriptor."""
    descriptor = piped(PASSCODE)
    outcome = world.run(
        "run", *options, "--env", "A=a", "--", sys.executable, "-c", INHERITED, input=input,
        env={"VALET_PASSCODE_FD": str(descriptor), **(env or {})}, pass_fds=(descriptor, *also))
    os.close(descriptor)
    expect(outcome.code == 0, options, outcome)
    return outcome.out.decode().strip()


# Promise: 4.7
@scenario
def nothing_of_the_passcode(world):
    """A program that the command starts has no descriptor and no variable of the passcode."""
    world.set("a", "value")
    other = piped(b"")
    for own in ({}, {"VALET_LOCK_STATE": "process"}):
        if own:
            descriptor = piped(PASSCODE)
            outcome = world.run("passcode", "set", "--passcode-fd", str(descriptor), env=own,
                                pass_fds=(descriptor,))
            expect(outcome.code == 0, outcome)
            os.close(descriptor)
        for options in ((), ("--mask",)):
            found = inherited(world, *options, env=own, input=b"input")
            expect(found == "[0, 1, 2] None b'input'", own, options, found)
            found = inherited(world, *options, env=own, also=(other,))
            expect(found == f"[0, 1, 2, {other}] None b''", own, options, found)
            found = inherited(world, *options, env={**own, "VALET_PASSCODE_FD": "0"},
                              input=PASSCODE)
            expect(found.endswith("] None b''"), own, options, found)
    os.close(other)


def check_note(path, descriptor):
    """A program has noted its descriptors and variables: none is that of the caller."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    expect("-> /dev/null" in text and "PATH=" in text, "nothing was noted:", text)
    expect(f"pipe:[{os.fstat(descriptor).st_ino}]" not in text and "VALET_" not in text, text)


def write_pinentry(world):
    path = os.path.join(world.folder, "pinentry")
    with open(path, "w", encoding="ascii") as file:
        file.write(PINENTRY)
    os.chmod(path, 0o700)
    return path


@scenario
def nothing_for_pinentry(world):
    """A pinentry that the command starts has no descriptor and no variable of the caller."""
    world.set("a", "value")
    path = write_pinentry(world)
    secret = piped(b"another\n")
    env = {"VALET_PINENTRY": path, "DISPLAY": ":9", "VALET_LOCK_STATE": "process"}
    outcome = world.run("passcode", "set", env=env, pass_fds=(secret,))
    expect(outcome.code == 0, outcome)
    check_note(path + ".own", secret)
    os.close(secret)


@scenario
def nothing_for_gpg(world):
    """The gpg that an import starts has no descriptor and no variable of the caller."""
    need("gpg")
    path = write_pinentry(world)
    gnupg = os.path.join(world.folder, "gpg")
    os.mkdir(gnupg, 0o700)
    env = {"GNUPGHOME": gnupg}
    with open(os.path.join(gnupg, "gpg-agent.conf"), "w", encoding="ascii") as file:
        file.write(f"pinentry-program {path}\n")
    store = path + ".store"
    os.mkdir(store)
    descriptor = piped(PASSCODE)
    try:
        made = world.run(
            "--batch", "--quiet", "--pinentry-mode", "loopback", "--passphrase", "correct horse",
            "--symmetric", "--output", f"{store}/a.gpg", input=b"value", env=env, command="gpg")
        expect(made.code == 0, made)
        world.run("--kill", "all", env=env, command="gpgconf")
        outcome = world.run(
            "import", "--from", "pass", store, pass_fds=(descriptor,),
            env={**env, "VALET_PASSCODE_FD": str(descriptor)})
        expect(outcome.code == 0 and world.get("a") == "value", outcome)
        check_note(path + ".gpg", descriptor)
        expect(os.read(descriptor, 99) == PASSCODE, "the passcode was read")
    finally:
        os.close(descriptor)
        world.run("--kill", "all", env=env, command="gpgconf")


def is_alive(number):
    try:
        with open(f"/proc/{number}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def children(number):
    with open(f"/proc/{number}/task/{number}/children", encoding="ascii") as file:
        return [int(word) for word in file.read().split()]


def masked(world, *words, ignoring=(), blocking=(), closing=None, **options):
    def prepare():
        if closing is not None:
            os.close(closing)
        for number in ignoring:
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, blocking)
    return world.start(
        [COMMAND, "run", "--mask", "--env", "A=a", "--", *words], preexec_fn=prepare, **options)


# Promise: 4.8
@scenario
def ends_with_the_command(world):
    """A masked program ends with the command, whatever the command's caller ignores or blocks."""
    world.set("a", "hunter2-hunter2")
    every = set(signal.valid_signals()) - {signal.SIGKILL, signal.SIGSTOP}
    for ignoring, blocking in (
            ((), ()), ((signal.SIGCHLD,), ()), ((), every), (every - {signal.SIGPIPE}, every)):
        process = masked(world, "sh", "-c", "echo $A; exit 3", stdout=subprocess.PIPE,
                         ignoring=ignoring, blocking=blocking)
        output, _ = process.communicate(timeout=20)
        expect(process.returncode == 3 and output == b"<hidden by valet>\n", ignoring, output)
        process = masked(world, "sleep", "60", ignoring=ignoring, blocking=blocking)
        wait_for(lambda: children(process.pid), "the program")
        program = children(process.pid)[0]
        process.kill()
        process.wait()
        wait_for(lambda: not is_alive(program), "the end of the program")


@scenario
def closed_output(world):
    """Output of a masked program that the caller has closed counts as not written."""
    world.set("a", "hunter2-hunter2")
    for number in (1, 2):
        process = masked(world, "sh", "-c", f"echo text >&{number}; exit 0", stderr=subprocess.PIPE,
                         closing=number)
        _, errors = process.communicate(timeout=20)
        expect(process.returncode == 1, number, process.returncode, errors)


CATCHER = """
import os, signal, sys, time
def show(number, _):
    os.write(1, b"%d\\n" % number)
for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD}:
    signal.signal(number, show)
signal.pthread_sigmask(signal.SIG_SETMASK, ())
os.write(1, b"ready\\n")
while True:
    time.sleep(1)
"""


@scenario
def passes_signals_on(world):
    """A masked program gets every signal that is sent to the command, also an ignored one."""
    world.set("a", "hunter2-hunter2")
    numbers = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD}
    for ignoring in ((), (signal.SIGHUP, signal.SIGINT, signal.SIGPIPE)):
        process = masked(world, sys.executable, "-c", CATCHER, stdout=subprocess.PIPE,
                         ignoring=ignoring, blocking=(signal.SIGUSR1, signal.SIGTERM))
        expect(process.stdout.readline() == b"ready\n", "no program")
        for number in sorted(numbers):
            process.send_signal(number)
            line = process.stdout.readline()
            expect(line == b"%d\n" % number, number, line)
        process.kill()
        process.communicate()


@scenario
def output_that_nobody_takes(world):
    """SIGTERM ends a masked program and the command also while nobody reads their output."""
    world.set("a", "hunter2-hunter2")
    read, write = os.pipe()
    process = masked(world, sys.executable, "-uc", "while 1: print('y' * 1000)", stdout=write)
    os.close(write)
    wait_for(lambda: children(process.pid), "the program")
    program = children(process.pid)[0]
    time.sleep(1)
    process.terminate()
    expect(process.wait(10) == -signal.SIGTERM, process.returncode)
    expect(not is_alive(program), "the program goes on")
    os.close(read)
    with open("/dev/full", "wb") as full:
        process = masked(world, "echo", "x", stdout=full, stderr=subprocess.PIPE)
    _, errors = process.communicate(timeout=20)
    expect(process.returncode == 1 and b"No space left on device" in errors, errors)


@scenario
def in_the_background(world):
    """What programs in the background write is masked, and does not keep the command."""
    world.set("a", "hunter2-hunter2")
    begin = time.monotonic()
    process = masked(world, "sh", "-c", "(sleep 2; echo late $A) & echo early",
                     stdout=subprocess.PIPE)
    process.wait(20)
    expect(time.monotonic() - begin < 1.8, "the command waits")
    output, _ = process.communicate(timeout=20)
    expect(output == b"early\nlate <hidden by valet>\n", output)


@scenario
def variables_of_a_pipe(world):
    """A file of variables that is a pipe without a writer does not keep the command."""
    world.set("a", "value")
    path = os.path.join(world.folder, "pipe")
    os.mkfifo(path)
    outcome = world.run("run", "--env-file", path, "--", "true")
    expect(outcome.code == 1 and "30 s" in outcome.err and outcome.seconds < 40, outcome)
    outcome = world.run("run", "--env-file", "-", "--", "sh", "-c", "echo $A; cat",
                        input=b"A=valet:a\n")
    expect(outcome.code == 0 and outcome.out == b"value\n", outcome)
    outcome = world.run("run", "--env-file", "-", "--", "true",
                        env={"VALET_PASSCODE_FD": "0"}, input=b"A=1\n")
    expect(outcome.code == 64, outcome)


@scenario
def variables_of_a_valet(world):
    """All secrets of a valet become variables, except those that no variable can have."""
    for key, value in (("A", "1"), ("B_2", "it's"), ("c-d", "x"), ("Z", b"a\0b")):
        world.set(key, value, "--id", "deploy")
    world.set("L", "3", "--id", "deploy", "--accessibility", "after-first-unlock")
    world.set("OTHER", "no", "--id", "other")
    script = 'echo "$A,$B_2,$L,$OTHER,$Z"'
    outcome = world.run("run", "--all-from", "deploy", "--", "sh", "-c", script, env={"A": "0"})
    expect(outcome.code == 0 and outcome.out == b"1,it's,3,,\n", outcome)
    expect("'c-d' was left out" in outcome.err and "'Z' was left out" in outcome.err, outcome)
    outcome = world.run("run", "--all-from", "deploy", "--env", "A=OTHER", "--id", "other", "--",
                        "sh", "-c", script)
    expect(outcome.out == b"no,it's,3,,\n", outcome)
    outcome = world.run("run", "--all-from", "none", "--", "true")
    expect(outcome.code == 44, outcome)


@scenario
def variables_in_capitals(world):
    """Variables of a valet can be named in capitals, and never choose code that a program runs."""
    for key in ("github-token", "2nd/key", "naïve", "...", "PATH", "bash-env", "ld.preload"):
        world.set(key, f"<{key}>", "--id", "deploy")
    words = ("--all-from", "deploy", "--", "sh", "-c", 'echo "$GITHUB_TOKEN,$_2ND_KEY,$PATH"; env')
    outcome = world.run("run", *words)
    expect(outcome.code == 44 and "'--upper-snake' sets _2ND_KEY" in outcome.err, outcome)
    outcome = world.run("run", "--upper-snake", *words)
    path = os.environ.get("PATH", "/usr/bin:/bin")
    expect(outcome.out.decode().startswith(f"<github-token>,<2nd/key>,{path}\n"), outcome)
    expect(b"<PATH>" not in outcome.out and b"LD_PRELOAD" not in outcome.out, outcome)
    for name in ("naïve", "...", "PATH", "bash-env", "ld.preload"):
        expect(f"'{name}' was left out" in outcome.err, name, outcome)
    outcome = world.run("run", "--upper-snake", "--all-from", "deploy", "--env",
                        "PATH=valet:///deploy/PATH", "--", "/usr/bin/env")
    expect(b"PATH=<PATH>\n" in outcome.out, outcome)
    for key in ("CARGO_REGISTRY_TOKEN", "git-token", "bundle_gems__example"):
        world.set(key, "token", "--id", "tokens")
    outcome = world.run("run", "--all-from", "tokens", "--upper-snake", "--", "env")
    expect(outcome.out.count(b"=token\n") == 3 and not outcome.err, outcome)
    world.set("GitHub_Token", "other", "--id", "deploy")
    outcome = world.run("run", "--upper-snake", *words)
    expect(outcome.code == 64 and "would both set GITHUB_TOKEN" in outcome.err, outcome)
    export = ("export", "--format", "dotenv", "--yes", "--id", "deploy")
    outcome = world.run(*export, "--upper-snake")
    expect(outcome.code == 64 and not outcome.out, outcome)
    expect(world.run("remove", "GitHub_Token", "--id", "deploy", "--yes").code == 0, "remove")
    outcome = world.run(*export, "--upper-snake")
    expect(b"GITHUB_TOKEN='<github-token>'\n" in outcome.out, outcome)
    outcome = world.run(*export)
    expect("'--upper-snake' writes" in outcome.err and outcome.code == 1, outcome)
    for words in (("run", "--upper-snake", "--", "true"),
                  ("export", "--format", "json", "--upper-snake", "--yes")):
        expect(world.run(*words).code == 64, words)


@scenario
def references_of_the_caller(world):
    """References in inherited variables are resolved on demand, and warned about otherwise."""
    world.set("k", "value")
    env = {"T": "valet:k", "U": "a {{ valet:k }} b", "V": "valet", "W": "valet:k"}
    script = 'echo "$T,$U,$V,$W"'
    words = ("--env", "W=k", "--", "sh", "-c", script)
    outcome = world.run("run", "--resolve-env", *words, env=env)
    expect(outcome.out == b"value,a value b,valet,value\n" and not outcome.err, outcome)
    outcome = world.run("run", *words, env=env)
    expect(outcome.out == b"valet:k,a {{ valet:k }} b,valet,value\n", outcome)
    for name, is_named in (("T", True), ("U", True), ("V", False), ("W", False)):
        expect((f"variable '{name}' holds a reference" in outcome.err) == is_named, name, outcome)
    outcome = world.run("run", "--resolve-env", *words, env={"T": "valet:none"})
    expect(outcome.code == 44 and "the variable 'T'" in outcome.err, outcome)


@scenario
def orphans(world):
    """As the first process of a container, the command leaves no zombies of other processes."""
    need_root()
    need("unshare")
    world.set("k", "value")
    script = ("for i in 1 2 3; do (sleep 0.1 &); done; sleep 0.5; grep -c '^State:.Z' "
              "/proc/[0-9]*/status | grep -c ':1$'; exit 7")
    outcome = world.run(
        "run", "--mask", "--env", "A=k", "--", "sh", "-c", script,
        prefix=("unshare", "-pf", "--mount-proc"))
    expect(outcome.code == 7 and outcome.out == b"0\n", outcome)


@scenario
def exported_references(world):
    """What is exported as a .env file is given to programs as the same bytes, and never resolved."""
    world.set("master", "MASTER", "--app", "Other", "--id", "other")
    values = {
        "PLAIN": "value", "TICK": "a`b", "CR": "a\rb", "CRLF": "a\r\nb\n", "DOLLAR": "p$$w${x}",
        "REFERENCE": "valet://Other/other/master", "INSIDE": "x{{ valet://Other/other/master }}y",
        "QUOTED": "valet://Other/other/it's", "BOTH": "{{ valet://Other/other/master }}'\r",
        "HASH": "# a", "BLANKS": "  a\t\n", "SLASH": "a\\", "SLASHES": "a\\\\b'\"", "EMPTY": "'",
    }
    for key, value in values.items():
        world.set(key, value)
    exported = world.run("export", "--format", "dotenv", "--yes")
    expect(exported.code == 0, exported)
    path = os.path.join(world.folder, "exported.env")
    with open(path, "wb") as file:
        file.write(exported.out)
    script = ("import os,sys,json; "
              "print(json.dumps({name: os.environ[name] for name in sys.argv[1:]}))")
    outcome = world.run("run", "--env-file", path, "--", sys.executable, "-c", script, *values)
    expect(outcome.code == 0 and json.loads(outcome.out) == values, outcome)
    outcome = world.run("import", "--from", "dotenv", "--id", "again", path)
    expect(outcome.code == 0, outcome)
    for key, value in values.items():
        found = world.run("get", key, "--id", "again").out
        expect(found == value.encode(), key, found)
    again = world.run("inject", "--format", "dotenv", input=exported.out)
    expect(again.out == exported.out, again)


@scenario
def files_without_descriptors(world):
    """A file in memory is found by programs that were started without its descriptor."""
    world.set("k", "value")
    script = ("import os,subprocess; "
              "subprocess.run(['sh', '-c', 'cat $K; sh -c \"cat $K\"'], close_fds=True)")
    for options in ((), ("--mask", "--env", "A=k")):
        outcome = world.run(
            "run", *options, "--file", "K=k", "--", sys.executable, "-c", script)
        wanted = b"<hidden by valet>" * 2 if options else b"value" * 2
        expect(outcome.code == 0 and outcome.out == wanted, options, outcome)
