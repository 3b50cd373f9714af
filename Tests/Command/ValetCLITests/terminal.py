#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: terminal.py CASE COMMAND

Runs the command at a terminal of its own, as CASE says; --list lists the cases.
Exits 1, and says why, if the command does not behave.
"""

import errno
import fcntl
import itertools
import os
import pty
import select
import signal
import struct
import sys
import tempfile
import termios
import time

CASES = {}
DEADLINE = 20


def case(function):
    CASES[function.__name__] = function
    return function


class Session:
    """A program as the leader of a terminal."""

    def __init__(self, command, *arguments, stdin=None):
        self.output = b""
        self.child, self.terminal = pty.fork()
        if self.child == 0:
            if stdin is not None:
                os.dup2(stdin, 0)
            os.execv(command, [command, *arguments])

    def read(self, seconds=0.05):
        if select.select([self.terminal], [], [], seconds)[0]:
            try:
                self.output += os.read(self.terminal, 65536)
            except OSError as error:
                if error.errno != errno.EIO:
                    raise
                return False
        return True

    def expect(self, text):
        end = time.monotonic() + DEADLINE
        while text not in self.output:
            if time.monotonic() > end:
                raise AssertionError(f"{text!r} did not come: {self.output!r}")
            if not self.read() and text not in self.output:
                raise AssertionError(f"{text!r} did not come: {self.output!r}")
        self.output = self.output.split(text, 1)[1]

    def type(self, text):
        self.wait_for_echo(False)
        os.write(self.terminal, text)

    def wait_for_echo(self, is_on):
        end = time.monotonic() + DEADLINE
        while self.has_echo() != is_on:
            check(time.monotonic() < end, f"the echo did not become {is_on}")
            time.sleep(0.005)

    def has_echo(self):
        return bool(termios.tcgetattr(self.terminal)[3] & termios.ECHO)

    def finish(self):
        """What remains of the output, and how the process ended."""
        end = time.monotonic() + DEADLINE
        while self.read():
            check(time.monotonic() < end, f"the terminal stays open: {self.output!r}")
        while True:
            child, status = os.waitpid(self.child, os.WNOHANG)
            if child:
                return self.output, status
            check(time.monotonic() < end, f"the process does not end: {self.output!r}")
            time.sleep(0.005)

    def wait_for_job(self):
        """Waits until the shell has given the terminal to another process group."""
        end = time.monotonic() + DEADLINE
        while os.tcgetpgrp(self.terminal) in (0, self.child):
            check(time.monotonic() < end, "the shell keeps the terminal")
            time.sleep(0.005)


def check(is_so, message):
    if not is_so:
        raise AssertionError(message)


def exits(status, code):
    check(os.WIFEXITED(status) and os.WEXITSTATUS(status) == code, f"status {status:#x}")


def ask(command, *answers):
    session = Session(command, "set", "k")
    prompts = itertools.cycle((b"Secret for 'k': ", b"Secret for 'k', again: "))
    for prompt, answer in zip(prompts, answers):
        session.expect(prompt)
        session.type(answer)
    return session


@case
def differing_entries(command):
    """Both are asked for again, three times at most."""
    session = ask(command, b"first\n", b"second\n", b"third\n", b"third\n")
    exits(session.finish()[1], 0)
    check(Session(command, "get", "k").finish()[0] == b"third\r\n", "not stored")
    os.environ["VALET_HOME"] += "2"
    output, status = ask(command, *[b"first\n", b"second\n"] * 3).finish()
    exits(status, 1)
    check(b"valet: error: the two secrets differ: nothing was stored" in output, output)


@case
def shows_no_secret(command):
    session = ask(command, *[b"hunter2\n", b"hunter3\n"] * 3)
    output, _ = session.finish()
    check(b"hunter" not in output, output)


@case
def echo_comes_back(command):
    session = ask(command, *[b"a\n", b"b\n"] * 3)
    session.expect(b"valet: error")
    session.wait_for_echo(True)
    session.finish()


PASTES = (
    b"first\nsecond\n", b"first\nsecond\nthird\n", b"first\n\n\nsecond", b"first\rlast",
    b"".join(b"line %d of a key file\n" % number for number in range(400)))


def leaves_nothing(session, *texts):
    """Whatever was pasted, the next program at the terminal does not read it."""
    output, status = session.finish()
    for text in (b"second", b"third", b"last", b"key file", *texts):
        check(text not in output, f"shown, or run by the shell: {output!r}")
    return output, status


SHELL = ('"$0" "$@"; echo "code $?"; sleep 0.2; stty -icanon min 0 time 2; '
         'test -z "$(dd bs=9999 count=1 2>/dev/null)" && echo "nothing is left"')


@case
def several_lines_are_refused(command):
    """As a secret: with the way to give one, with nothing stored and nothing left over."""
    for paste in PASTES:
        session = Session("/bin/sh", "-c", SHELL, command, "set", "k")
        session.expect(b"Secret for 'k': ")
        session.type(paste)
        output, _ = leaves_nothing(session, b"again")
        check(b"the secret has several lines" in output and b"code 64" in output, output)
        check(b"valet set KEY < FILE" in output and b"nothing is left" in output, output)
        exits(Session(command, "contains", "k").finish()[1], 44)


@case
def several_lines_are_refused_in_pieces(command):
    """The rest of a paste may come a little later."""
    session = Session("/bin/sh", "-c", SHELL, command, "set", "k")
    session.expect(b"Secret for 'k': ")
    session.type(b"first\n")
    for piece in (b"sec", b"ond\n", b"third"):
        time.sleep(0.02)
        os.write(session.terminal, piece)
    output, _ = leaves_nothing(session)
    check(b"code 64" in output and b"nothing is left" in output, output)


@case
def several_lines_are_no_passcode(command):
    """Nor a passphrase: nothing is set, and nothing is left over."""
    store(command, "k", b"v")
    for words, prompt in ((("passcode", "set"), b"New passcode: "),
                          (("backup", "create", "f"), b"Passphrase: ")):
        session = Session("/bin/sh", "-c", SHELL, command, *words)
        session.expect(prompt)
        session.type(b"correct horse\nsecond\n")
        output, _ = leaves_nothing(session, b"again", b"correct")
        check(b"more than one line was entered" in output and b"code 64" in output, output)
        check(b"nothing is left" in output, output)
    check(not os.path.exists("f"), "a backup was made")
    check(b"noPasscode" in Session(command, "status").finish()[0], "a passcode was set")


@case
def empty_lines_are_no_lines(command):
    """Enter pressed twice, or a line with an empty one behind it, is one line."""
    output, status = ask(command, b"hunter2\n\n", b"hunter2\n").finish()
    exits(status, 0)
    output, status = Session(command, "get", "k").finish()
    check(output == b"hunter2\r\n", output)


@case
def consent_is_given_after_the_question(command):
    """What was typed before a question does not answer it."""
    store(command, "k", b"v")
    session = Session("/bin/sh", "-c", 'sleep 0.5; "$0" remove k; echo "code $?"', command)
    os.write(session.terminal, b"y\ny\n")
    session.expect(b"Remove 'k' from valet 'default' of application 'valet'? [y/N] ")
    os.write(session.terminal, b"n\n")
    session.expect(b"code 77")
    session.finish()


@case
def removing_and_replacing_ask(command):
    store(command, "k", b"v")
    place = b"valet 'default' of application 'valet'? [y/N] "
    for words, question in ((("remove", "k"), b"Remove 'k' from " + place),
                            (("set", "k"), b"Replace 'k' in " + place)):
        session = Session(command, *words)
        session.expect(question)
        os.write(session.terminal, b"\n")
        output, status = session.finish()
        exits(status, 77)
        check(b"nothing was changed" in output, output)
    check(Session(command, "get", "k").finish()[0] == b"v\r\n", "changed")
    session = Session(command, "set", "k")
    session.expect(b"[y/N] ")
    os.write(session.terminal, b"y\n")
    session.expect(b"Secret for 'k': ")
    session.type(b"new\n")
    session.expect(b"again: ")
    session.type(b"new\n")
    exits(session.finish()[1], 0)
    check(Session(command, "get", "k").finish()[0] == b"new\r\n", "not replaced")
    output, status = Session(command, "set", "k", "--if-absent").finish()
    exits(status, 73)
    session = Session(command, "remove", "k")
    session.expect(b"[y/N] ")
    os.write(session.terminal, b"y\n")
    exits(session.finish()[1], 0)
    exits(Session(command, "contains", "k").finish()[1], 44)


@case
def asks_nothing_where_questions_are_off(command):
    store(command, "k", b"v")
    exits(Session(command, "recovery", "create").finish()[1], 0)
    os.environ["VALET_INTERACTION"] = "never"
    for words in (("remove", "k"), ("remove", "--all"), ("recovery", "create"),
                  ("recovery", "revoke"), ("doctor", "--discard-log"),
                  ("doctor", "--purge-damaged")):
        output, status = Session(command, *words).finish()
        exits(status, 64)
        check(b"questions are turned off" in output and b"'--yes'" in output, output)
    for words in (("set", "k"), ("set", "k", "--yes"), ("set", "new")):
        output, status = Session(command, *words).finish()
        exits(status, 64)
        check(b"cannot ask for the secret: questions are turned off" in output, output)
    check(Session(command, "get", "k").finish()[0] == b"v\r\n", "changed")
    exits(Session(command, "remove", "--all", "--yes").finish()[1], 0)


@case
def another_recovery_key_asks(command):
    store(command, "k", b"v")
    exits(Session(command, "recovery", "create").finish()[1], 0)
    session = Session(command, "recovery", "create")
    session.expect(b"Make a new one? [y/N] ")
    os.write(session.terminal, b"n\n")
    exits(session.finish()[1], 77)
    session = Session(command, "recovery", "revoke")
    session.expect(b"? [y/N] ")
    os.write(session.terminal, b"y\n")
    exits(session.finish()[1], 0)


@case
def empty_secret(command):
    output, status = ask(command, b"\n", b"\n").finish()
    exits(status, 64)
    check(b"the secret is empty" in output, output)


@case
def end_of_input(command):
    output, status = ask(command, b"\x04", b"\x04").finish()
    exits(status, 64)


@case
def line_too_long(command):
    output, status = ask(command, b"x" * 5000 + b"\n").finish()
    exits(status, 64)
    check(b"at most 4094 bytes" in output, output)


def interrupted(command, number, text=None):
    session = Session(command, "set", "k")
    session.expect(b"Secret for 'k': ")
    session.type(b"half")
    if text is None:
        os.kill(session.child, number)
    else:
        os.write(session.terminal, text)
    session.wait_for_echo(True)
    _, status = session.finish()
    check(os.WIFSIGNALED(status) and os.WTERMSIG(status) == number, f"status {status:#x}")
    check(not os.WCOREDUMP(status), "a core file")


@case
def interrupt_key(command):
    interrupted(command, signal.SIGINT, b"\x03")


@case
def quit_key(command):
    interrupted(command, signal.SIGQUIT, b"\x1c")


@case
def terminate(command):
    interrupted(command, signal.SIGTERM)


@case
def interrupt_exits_130(command):
    session = Session("/bin/sh", "-c", '"$0" set k; echo "code $?"; exit 3', command)
    session.expect(b"Secret for 'k': ")
    session.wait_for_echo(False)
    os.kill(foreground_child(session), signal.SIGINT)
    session.expect(b"code 130")
    session.wait_for_echo(True)
    session.finish()


@case
def suspended_and_continued(command):
    """A shell with job control sees the stop; the terminal shows what is typed meanwhile."""
    session = Session(
        "/bin/sh", "-c", 'set -m; "$0" set k; echo "stopped"; read line; fg; echo "code $?"',
        command)
    session.expect(b"Secret for 'k': ")
    session.wait_for_echo(False)
    os.write(session.terminal, b"half\x1a")
    session.expect(b"stopped")
    session.wait_for_echo(True)
    os.write(session.terminal, b"go on\n")
    session.expect(b"Secret for 'k': ")
    session.type(b"a\n")
    session.expect(b"again: ")
    session.type(b"a\n")
    session.expect(b"code 0")
    session.finish()


def foreground_child(session):
    end = time.monotonic() + DEADLINE
    while time.monotonic() < end:
        path = f"/proc/{session.child}/task/{session.child}/children"
        with open(path, encoding="ascii") as file:
            children = file.read().split()
        if children:
            return int(children[0])
    raise AssertionError("no child")


@case
def two_equal_entries(command):
    output, status = ask(command, b"hunter2\n", b"hunter2\n").finish()
    exits(status, 0)
    check(b"hunter2" not in output, output)
    output, status = Session(command, "get", "k").finish()
    exits(status, 0)
    check(output == b"hunter2\r\n", output)


def store(command, key, value):
    read, write = os.pipe()
    os.write(write, value)
    os.close(write)
    _, status = Session(command, "set", key, stdin=read).finish()
    exits(status, 0)
    os.close(read)


@case
def binary_is_refused(command):
    store(command, "binary", b"\x00\xff")
    output, status = Session(command, "get", "binary").finish()
    exits(status, 1)
    check(b"not plain text" in output and b"\xff" not in output, output)
    output, status = Session(command, "get", "binary", "--force").finish()
    exits(status, 0)
    check(output == b"\x00\xff\r\n", output)


HOSTILE = "\x1b]0;taken\x07\x9b2J\u202e"


@case
def nothing_of_a_name_reaches_the_terminal_raw(command):
    """Names that others chose: in results, questions, errors and hints."""
    os.environ["NO_COLOR"] = "1"
    store(command, HOSTILE, b"v")
    store(command, "a", HOSTILE.encode())
    for words in (["list"], ["list", "--names"], ["list", "--null"], ["list", "--json"],
                  ["search", "taken"], ["search", "taken", "--null"], ["show", HOSTILE],
                  ["get", HOSTILE + "x"], ["get", "a"], ["get", "a", "--json"], ["read", "a"],
                  ["get", "a", "--id", HOSTILE], ["get", "a", "--app", HOSTILE], [HOSTILE],
                  ["get", "--" + HOSTILE], ["help", HOSTILE], ["get", "a", HOSTILE],
                  ["list", "--sort", HOSTILE], ["backup", "list", HOSTILE],
                  ["entitlements", "init", HOSTILE], ["remove", HOSTILE, "--yes"]):
        output, _ = Session(command, *words).finish()
        for raw in ("\x1b", "\x07", "\x9b", "\u202e"):
            check(raw.encode() not in output, f"{words}: {output!r}")
    # The bytes themselves, if that is asked for.
    output, status = Session(command, "get", "a", "--force").finish()
    check(HOSTILE.encode() in output, output)
    exits(status, 0)


@case
def colours_are_for_terminals_that_take_them(command):
    store(command, "k", b"v")
    for name, value, is_coloured in (
            ("TERM", "xterm", True), ("NO_COLOR", "", True), ("NO_COLOR", "1", False),
            ("NO_COLOR", "", True), ("TERM", "dumb", False), ("TERM", "", False)):
        os.environ[name] = value
        for verb in (("list",), ("search", "k")):
            output, status = Session(command, *verb).finish()
            exits(status, 0)
            check((b"\x1b[" in output) == is_coloured, f"{name}={value}: {output!r}")
    os.environ["TERM"] = "xterm"
    output, _ = Session("/bin/sh", "-c", '"$0" list | cat', command).finish()
    check(b"\x1b" not in output, output)


@case
def remove_all_asks(command):
    store(command, "k", b"v")
    for answer, code in ((b"n\n", 77), (b"\n", 77), (b"y\n", 0)):
        session = Session(command, "remove", "--all")
        session.expect(b"Remove 1 secret from valet 'default' of application 'valet'? [y/N] ")
        os.write(session.terminal, answer)
        exits(session.finish()[1], code)


def with_passphrases(command, verb, *answers):
    session = Session(command, "backup", *verb, "new.backup")
    for prompt, answer in answers:
        session.expect(prompt)
        session.type(answer)
    return session.finish()


@case
def backup_asks_twice_then_once(command):
    store(command, "k", b"v")
    first, again = b"Passphrase: ", b"Passphrase, again: "
    output, status = with_passphrases(
        command, ["create"], (b"'new.backup'", b""), (first, b"correct horse\n"),
        (again, b"correct hose\n"), (b"differ", b""), (first, b"correct horse\n"),
        (again, b"correct horse\n"))
    exits(status, 0)
    check(b"wrote 1 item" in output and b"horse" not in output, output)
    output, status = with_passphrases(
        command, ["verify"], (b"'new.backup'", b""), (first, b"correct hose\n"),
        (b"wrong passphrase", b""), (first, b"correct horse\n"))
    exits(status, 0)
    check(b"Items:         1" in output and b"horse" not in output, output)
    output, status = with_passphrases(command, ["verify"], *[(first, b"nonsense\n")] * 3)
    exits(status, 77)
    check(b"valet: error: could not open the backup: wrong passphrase" in output, output)


@case
def backup_is_not_made_when_interrupted(command):
    store(command, "k", b"v")
    session = Session(command, "backup", "create", "new.backup")
    session.expect(b"Passphrase: ")
    session.type(b"half\x03")
    session.wait_for_echo(True)
    session.finish()
    check(not os.path.exists("new.backup"), "a backup was made")


def answer(session, *pairs):
    for prompt, text in pairs:
        session.expect(prompt)
        session.type(text)
    return session.finish()


def with_passcode(command, state):
    """A keychain with a passcode, whose keys are shared (kernel) or not (process)."""
    os.environ["VALET_LOCK_STATE"] = state
    store(command, "k", b"v")
    output, status = answer(
        Session(command, "passcode", "set"), (b"New passcode: ", b"hunter2-hunter2\n"),
        (b"New passcode, again: ", b"hunter2-hunter2\n"))
    exits(status, 0)
    check(b"hunter2" not in output, output)


def lock(command):
    os.environ["VALET_LOCK_STATE"] = "kernel"
    Session(command, "lock", "--all").finish()


@case
def locked_and_not_asked(command):
    """Where questions are off, a verb does not offer to unlock: it says what to do."""
    with_passcode(command, "kernel")
    try:
        exits(Session(command, "lock").finish()[1], 0)
        for words, setting in ((("get", "k", "-n"), ""), (("get", "k"), "never")):
            os.environ["VALET_INTERACTION"] = setting
            output, status = Session(command, *words).finish()
            exits(status, 75)
            check(b"run `valet unlock`" in output and b"Passcode" not in output, output)
        os.environ["VALET_INTERACTION"] = ""
        _, status = answer(Session(command, "unlock"), (b"Passcode: ", b"hunter2-hunter2\n"))
        exits(status, 0)
        output, status = Session(command, "get", "k").finish()
        exits(status, 0)
        check(output == b"v\r\n", output)
    finally:
        lock(command)


@case
def locked_and_offered(command):
    """Where the state is shared, a verb unlocks for itself alone, or for as long as it is told.
    The first question is for the passcode, and nothing that is typed then is shown."""
    with_passcode(command, "kernel")
    try:
        exits(Session(command, "lock").finish()[1], 0)
        session = Session(command, "get", "k")
        session.expect(b"Ctrl-D leaves it locked.\r\nPasscode: ")
        session.type(b"\x04")
        exits(session.finish()[1], 77)
        for replies, is_open, rest in (
                ((b"\n",), False, b""), ((b"n\n",), False, b""), ((b"\x04",), False, b""),
                ((b"x\n", b"x\n", b"x\n"), False, b""),
                ((b"what\n", b"15m\n"), True, b"Locks in:      14m"), ((b"u\n",), True, b""),
                ((b"8h\n",), True, b"Locks in:      7h59m")):
            exits(Session(command, "lock").finish()[1], 0)
            session = Session(command, "get", "k")
            session.expect(b"The keychain is locked.")
            for word in (b"1\n", b"hunter2-hunter2\n"):
                session.expect(b"Passcode: ")
                session.type(word)
            for reply in replies:
                session.expect(b"'valet lock' (u)? ")
                check(b"hunter2" not in session.output, session.output)
                os.write(session.terminal, reply)
                if reply[:1] in b"xw":
                    session.expect(b"valet: answer with Enter, u or a time: 15m, 8h")
            output, status = session.finish()
            exits(status, 0)
            check(output.endswith(b"v\r\n"), output)
            exits(Session(command, "get", "k", "-n").finish()[1], 0 if is_open else 75)
            report = Session(command, "status").finish()[0]
            check(rest in report and (b"Locks in" in report) == bool(rest), report)
        exits(Session(command, "lock").finish()[1], 0)
        # A new value is written with the keys that this command alone has opened.
        session = Session("/bin/sh", "-c", 'printf new | "$0" set k', command)
        session.expect(b"Passcode: ")
        session.type(b"hunter2-hunter2\n")
        session.expect(b"'valet lock' (u)? ")
        os.write(session.terminal, b"\n")
        exits(session.finish()[1], 0)
        exits(answer(Session(command, "unlock"), (b"Passcode: ", b"hunter2-hunter2\n"))[1], 0)
        check(Session(command, "get", "k").finish()[0] == b"new\r\n", "not stored")
    finally:
        lock(command)


# Shells are no program to stop at any time: dash is not stopped itself while a child is stopped
# between vfork and exec, and misses a signal that comes just before its `read`.
PROGRAM = """
import os, signal, sys, time
def end(*_):
    os.write(1, b"interrupted\\n")
    os._exit(9)
print("is a terminal" if os.isatty(1) and os.isatty(2) else "is none")
print(os.environ["K"], flush=True)
print("got", sys.stdin.readline().strip())
signal.signal(signal.SIGINT, end)
print("ready", flush=True)
while True:
    time.sleep(0.05)
"""


@case
def a_program_has_the_terminal(command):
    """A program that `run` becomes, and one whose output is masked: stopped, continued, ended."""
    store(command, "k", b"hunter2-hunter2")
    for options in ("", "--mask"):
        job = ('set -m; "$0" run ' + options + ' --env K=k -- "$1" -c "$2"; echo "job $?"; '
               'fg >/dev/null; echo "end $?"')
        session = Session("/bin/bash", "-c", job, command, sys.executable, PROGRAM)
        session.expect(b"is a terminal\r\n")
        session.expect(b"<hidden by valet>\r\n" if options else b"hunter2-hunter2\r\n")
        os.write(session.terminal, b"line\n")
        session.expect(b"got line\r\n")
        session.expect(b"ready\r\n")
        os.write(session.terminal, b"\x1a")
        session.expect(b"job 148")
        session.wait_for_job()
        os.write(session.terminal, b"\x03")
        session.expect(b"interrupted\r\n")
        session.expect(b"end 9")
        session.finish()


@case
def a_masked_program_gets_signals_and_sizes(command):
    store(command, "k", b"hunter2-hunter2")
    script = ("trap 'echo term; exit 5' TERM; trap 'stty size' WINCH; echo ready; "
              "while :; do sleep 0.05; done")
    session = Session(command, "run", "--mask", "--env", "K=k", "--", "sh", "-c", script)
    session.expect(b"ready\r\n")
    fcntl.ioctl(session.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 77, 0, 0))
    session.expect(b"33 77\r\n")
    os.kill(session.child, signal.SIGTERM)
    session.expect(b"term\r\n")
    exits(session.finish()[1], 5)
    session = Session(command, "run", "--mask", "--env", "K=k", "--", "sh", "-c", "kill -ABRT $$")
    _, status = session.finish()
    check(os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGABRT, f"{status:#x}")
    check(not os.WCOREDUMP(status), "a core file")


@case
def wrong_passcode_three_times(command):
    with_passcode(command, "kernel")
    try:
        session = Session(command, "unlock")
        session.expect(b"Passcode: ")
        session.type(b"1\n")
        for _ in range(2):
            session.expect(b"wrong passcode")
            session.expect(b"Passcode: ")
            session.type(b"2\n")
        output, status = session.finish()
        exits(status, 77)
        check(b"valet: error: wrong passcode" in output, output)
    finally:
        lock(command)


@case
def locked_and_asked(command):
    """Where each process has its own keys, a verb asks."""
    with_passcode(command, "process")
    output, status = answer(
        Session(command, "get", "k"), (b"Passcode: ", b"1\n"),
        (b"Passcode: ", b"hunter2-hunter2\n"))
    exits(status, 0)
    check(output.endswith(b"v\r\n") and b"hunter2" not in output, output)


@case
def short_passcode_is_refused_at_once(command):
    output, status = answer(
        Session(command, "passcode", "set"), *[(b"New passcode: ", b"hunter2\n")] * 3)
    exits(status, 64)
    check(b"again" not in output and b"--weak" in output, output)


@case
def passcode_remove_asks(command):
    with_passcode(command, "process")
    for text, code in ((b"n\n", 77), (b"y\n", 0)):
        session = Session(command, "passcode", "remove")
        session.expect(b"no item is destroyed")
        session.expect(b"Remove the passcode? [y/N] ")
        os.write(session.terminal, text)
        if code == 0:
            session.expect(b"Passcode: ")
            session.type(b"hunter2-hunter2\n")
        exits(session.finish()[1], code)


@case
def says_how_far_it_is(command):
    """A key change of several megabytes is made in several steps; a small one says nothing."""
    store(command, "small", b"v")
    output, status = Session(command, "rotate").finish()
    exits(status, 0)
    check(b"sealing" not in output, output)
    for number in range(4):
        with tempfile.TemporaryFile() as file:
            file.write(b"x" * (3 << 20))
            file.seek(0)
            _, status = Session(command, "set", f"large {number}", stdin=file.fileno()).finish()
            exits(status, 0)
    session = Session(command, "rotate")
    session.expect(b"\rvalet: sealing items again: ")
    session.expect(b" %\rvalet: sealing items again: 100 %\r\n")
    exits(session.finish()[1], 0)


def take_too_long(_signal, _frame):
    raise AssertionError("the case takes too long")


def main(arguments):
    if arguments == ["--list"]:
        print("\n".join(CASES))
        return 0
    if len(arguments) != 2 or arguments[0] not in CASES:
        print(__doc__)
        return 64
    # Threads of the tests block signals, and programs inherit that: the alarm would never come.
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    signal.signal(signal.SIGALRM, take_too_long)
    signal.alarm(100)
    try:
        CASES[arguments[0]](arguments[1])
    except AssertionError as error:
        print(f"{arguments[0]}: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
