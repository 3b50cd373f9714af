#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: person.py CASE AGENT

Runs the tests' agent at a terminal of its own and answers what it asks, as CASE says; --list lists
the cases. Exits 1, and says why, if it does not behave, and 77 if a program is not installed.
"""

import errno
import fcntl
import os
import pty
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

CASES = {}
# linux/asm-generic/ioctls.h; Python has no name for it.
TIOCGPTN = 0x80045430
DEADLINE = 20
FAKE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fake-pinentry")
LEFT = "descriptors 0 children 0"


def case(function):
    CASES[function.__name__] = function
    return function


def check(is_so, message):
    if not is_so:
        raise AssertionError(message)


def environment(more):
    plain = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "TERM": "xterm", "LANG": "C.UTF-8",
             "SWIFT_BACKTRACE": "enable=no", "VALET_HOME": "/nonexistent"}
    # What `scripts/sanitize` says to programs.
    options = {name: text for name, text in os.environ.items() if name.endswith("SAN_OPTIONS")}
    return {**plain, **options, **more}


class Session:
    """The agent as the leader of a terminal; commands go through one pipe, answers another."""

    def __init__(self, agent, request, is_stopped=False, **more):
        self.output = b""
        commands, self.commands = os.pipe()
        self.answers, answers = os.pipe()
        self.child, self.terminal = pty.fork()
        if self.child == 0:
            os.dup2(commands, 0)
            os.dup2(answers, 9)
            os.closerange(10, 256)
            os.closerange(3, 9)
            os.execve(agent, [agent, "9"], environment(more))
        os.close(commands)
        os.close(answers)
        if is_stopped:
            self.stop_output()
        os.write(self.commands, request.encode() + b"\n")

    def stop_output(self, action=termios.TCOOFF):
        """As Ctrl-S does, or Ctrl-Q."""
        number = struct.unpack("I", fcntl.ioctl(self.terminal, TIOCGPTN, bytes(4)))[0]
        other_end = os.open(f"/dev/pts/{number}", os.O_RDWR | os.O_NOCTTY)
        termios.tcflow(other_end, action)
        os.close(other_end)

    def read(self, seconds=0.02):
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
            alive = self.read()
            if text not in self.output and (time.monotonic() > end or not alive):
                raise AssertionError(f"{text!r} did not come: {self.output!r}")
        self.output = self.output.split(text, 1)[1]

    def settle(self, is_hidden=True):
        """Waits until what is typed is (not) hidden."""
        end = time.monotonic() + DEADLINE
        while self.has_echo() == is_hidden:
            check(time.monotonic() < end, f"hidden did not become {is_hidden}")
            self.read(0.005)

    def has_echo(self):
        return bool(termios.tcgetattr(self.terminal)[3] & termios.ECHO)

    def type(self, text):
        self.settle()
        os.write(self.terminal, text)

    def result(self):
        """What the agent answers; the terminal is drained meanwhile."""
        text, end = b"", time.monotonic() + DEADLINE
        while not text.endswith(b"\n"):
            check(time.monotonic() < end, f"no answer: {self.output!r}")
            self.read(0.005)
            if select.select([self.answers], [], [], 0)[0]:
                piece = os.read(self.answers, 4096)
                check(piece, f"no answer: {self.output!r}")
                text += piece
        return text.decode().strip()

    def answers_with(self, text):
        result = self.result()
        check(result == "ok " + text, result)

    def finish(self):
        os.close(self.commands)
        while self.read(0.2):
            pass
        return os.waitpid(self.child, 0)[1]


def direct(agent, request="ask 20 terminal", **more):
    session = Session(agent, request, **more)
    session.expect(b"The tests ask for a passcode.")
    return session


def is_restored(session):
    session.settle(is_hidden=False)
    flags = termios.tcgetattr(session.terminal)[3]
    check(flags & termios.ICANON and flags & termios.ISIG, f"flags {flags:#x}")


@case
def terminal_answer(agent):
    session = direct(agent, "ask 20 terminal again")
    for word in (b"h\xc3\xa9llo w\n", b"second\n"):
        session.expect(b"Passcode: ")
        session.type(word)
    session.answers_with("answer 68c3a96c6c6f2077 answer 7365636f6e64 " + LEFT)
    is_restored(session)
    check(b"llo" not in session.output and b"second" not in session.output, session.output)
    check(session.finish() == 0, "status")


@case
def terminal_several_lines(agent):
    """A paste of several lines is no answer, nothing of it is shown, and nothing of it is left."""
    for paste in (b"first\nsecond\n", b"first\nsecond", b"first\n\nsecond\n" * 200):
        session = direct(agent)
        session.expect(b"Passcode: ")
        session.type(paste)
        session.answers_with("severalLines " + LEFT)
        is_restored(session)
        check(b"first" not in session.output and b"second" not in session.output, session.output)
        check(session.finish() == 0, "status")


@case
def terminal_prompt_comes_when_nothing_is_shown(agent):
    """An answer at the moment that the prompt appears is not too early."""
    session = direct(agent, "ask 20 terminal again")
    for word in (b"first", b"second"):
        session.expect(b"Passcode: ")
        check(not session.has_echo(), "what is typed would be shown")
        os.write(session.terminal, word + b"\n")
    session.answers_with(f"answer {b'first'.hex()} answer {b'second'.hex()} {LEFT}")
    check(b"first" not in session.output and b"second" not in session.output, session.output)
    session.finish()


@case
def terminal_stopped_until_the_deadline(agent):
    session = Session(agent, "ask 0.5 terminal", is_stopped=True)
    session.answers_with("timedOut " + LEFT)
    is_restored(session)
    check(session.output == b"", session.output)
    session.finish()


@case
def terminal_stopped_and_ended_from_outside(agent):
    with tempfile.TemporaryDirectory() as folder:
        end = os.path.join(folder, "end")
        session = Session(agent, f"ask 20 terminal until:{end}", is_stopped=True)
        session.settle()
        os.mkdir(end)
        ends(session, "cancelled")


@case
def terminal_stopped_and_terminated(agent):
    session = Session(agent, "ask 20 terminal", is_stopped=True)
    session.settle()
    is_ended_by(session, signal.SIGTERM)


@case
def terminal_stopped_for_a_while(agent):
    session = Session(agent, "ask 20 terminal", is_stopped=True)
    session.settle()
    session.stop_output(termios.TCOON)
    session.expect(b"Passcode: ")
    session.type(b"later\n")
    session.answers_with(f"answer {b'later'.hex()} {LEFT}")
    session.finish()


@case
def terminal_differing(agent):
    session = direct(agent, "ask 20 terminal twice")
    for first, second in ((b"a\n", b"b\n"), (b"c\n", b"d\n"), (b"same\n", b"same\n")):
        session.expect(b"Passcode: ")
        session.type(first)
        session.expect(b"Passcode, again: ")
        session.type(second)
    session.answers_with("answer 73616d65 " + LEFT)
    session.finish()


@case
def terminal_end_of_input(agent):
    session = direct(agent)
    session.type(b"\x04")
    session.answers_with("cancelled " + LEFT)
    is_restored(session)
    session.finish()


@case
def terminal_empty(agent):
    session = direct(agent)
    for _ in range(3):
        session.expect(b"Passcode: ")
        session.type(b"\n")
    session.answers_with("empty " + LEFT)
    session.finish()


@case
def terminal_too_long(agent):
    session = direct(agent)
    session.type(b"x" * 1025 + b"\n")
    session.answers_with("tooLong " + LEFT)
    is_restored(session)
    session.finish()


@case
def shown_line(agent):
    session = Session(agent, "line 20")
    session.expect(b"Really? ")
    os.write(session.terminal, b"yes\n")
    session.answers_with(f"answer {b'yes'.hex()}")
    session.finish()


@case
def shown_line_until_the_deadline(agent):
    """Also where the terminal shows nothing."""
    for is_stopped in (False, True):
        session = Session(agent, "line 0.5", is_stopped=is_stopped)
        session.answers_with("timedOut")
        session.finish()


@case
def terminal_deadline(agent):
    session = direct(agent, "ask 0.3 terminal")
    session.settle()
    session.answers_with("timedOut " + LEFT)
    is_restored(session)
    session.finish()


@case
def terminal_ended_from_outside(agent):
    with tempfile.TemporaryDirectory() as folder:
        end = os.path.join(folder, "end")
        session = direct(agent, f"ask 20 terminal until:{end}")
        session.type(b"half")
        os.mkdir(end)
        ends(session, "cancelled")


def told(agent, request, **more):
    session = Session(agent, request, **more)
    session.expect(b"The tests tell something.")
    return session


@case
def notice_on_the_terminal(agent):
    """What is typed for want of patience is not shown, and no shell gets it."""
    session = told(agent, "tell 20 terminal offering")
    session.expect(b"Do otherwise: press Enter.")
    check(not session.has_echo(), "what is typed would be shown")
    session.type(b"secret\nls\n")
    ends(session, "alternative")
    check(b"secret" not in session.output and b"ls" not in session.output, session.output)


@case
def notice_without_alternative(agent):
    session = told(agent, "tell 20 terminal")
    session.expect(b"Cancel: press Enter.")
    session.type(b"secret\n")
    ends(session, "cancelled")
    check(b"secret" not in session.output, session.output)


@case
def notice_until_the_deadline(agent):
    ends(told(agent, "tell 0.5 terminal offering"), "timedOut")


@case
def notice_on_a_stopped_terminal(agent):
    session = Session(agent, "tell 0.5 terminal offering", is_stopped=True)
    ends(session, "timedOut")


@case
def notice_ended_from_outside(agent):
    with tempfile.TemporaryDirectory() as folder:
        end = os.path.join(folder, "end")
        session = told(agent, f"tell 20 offering until:{end}")
        session.settle()
        os.mkdir(end)
        ends(session, "cancelled")


@case
def notice_without_a_window(agent):
    """A program that would draw on the terminal, and leave its drawing there, gets none."""
    session = told(
        agent, "tell 20 offering", VALET_PINENTRY=installed("pinentry-curses"))
    session.type(b"\n")
    ends(session, "alternative")


@case
def notice_nowhere(agent):
    result = alone(agent, "tell 5 offering")
    is_answer(result, "nobodyThere")


def ends_by(agent, number, text=None):
    session = direct(agent)
    session.type(b"half")
    is_ended_by(session, number, text)


def is_ended_by(session, number, text=None):
    if text:
        os.write(session.terminal, text)
    else:
        os.kill(session.child, number)
    is_restored(session)
    status = session.finish()
    check(os.WIFSIGNALED(status) and os.WTERMSIG(status) == number, f"status {status:#x}")


@case
def terminal_interrupt_key(agent):
    ends_by(agent, signal.SIGINT, b"\x03")


@case
def terminal_terminated(agent):
    ends_by(agent, signal.SIGTERM)


@case
def terminal_alarm(agent):
    """A caller may have set an alarm before it ran the program."""
    ends_by(agent, signal.SIGALRM)
    ends_by(agent, signal.SIGUSR1)


@case
def terminal_vanishes(agent):
    session = Session(agent, "ask 20 terminal")
    session.expect(b"Passcode: ")
    session.settle()
    os.close(session.terminal)
    status = os.waitpid(session.child, 0)[1]
    check(os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGHUP, f"status {status:#x}")


@case
def terminal_vanishes_unnoticed(agent):
    """As `nohup` has it: the signal is ignored."""
    previous = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    session = Session(agent, "ask 20 terminal")
    signal.signal(signal.SIGHUP, previous)
    session.expect(b"Passcode: ")
    session.settle()
    os.close(session.terminal)
    text = os.read(session.answers, 4096).decode()
    check(text == f"ok cancelled {LEFT}\n", text)
    os.close(session.commands)
    os.waitpid(session.child, 0)


@case
def background_job(agent):
    """A shell with job control runs the agent with `&`: it is told so, and not stopped."""
    with tempfile.TemporaryDirectory() as folder:
        answer = os.path.join(folder, "answer")
        script = f'set -m; echo "ask 20" | "{agent}" 9 9>"{answer}" & wait; echo done'
        child, terminal = pty.fork()
        if child == 0:
            os.execve("/bin/sh", ["sh", "-c", script], environment({}))
        end, output = time.monotonic() + DEADLINE, b""
        while b"done" not in output:
            check(time.monotonic() < end, output)
            output += os.read(terminal, 4096)
        os.waitpid(child, 0)
        with open(answer, encoding="ascii") as file:
            check(file.read() == f"ok inBackground {LEFT}\n", "another answer")


def alone(agent, request, **more):
    """What the agent answers in a session of its own, without a terminal."""
    return subprocess.run(
        [agent, "1"], input=request + "\n", stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env=environment(more), text=True, start_new_session=True, timeout=DEADLINE,
        check=True).stdout.strip()


def is_answer(result, text):
    check(result == f"ok {text} {LEFT}", result)


@case
def nobody_there(agent):
    is_answer(alone(agent, "ask 5"), "nobodyThere")


@case
def interaction_off(agent):
    is_answer(alone(agent, "ask 5", VALET_INTERACTION="never"), "interactionOff")


def fake(agent, request, answers):
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "pinentry")
        os.symlink(FAKE, program)
        with open(os.path.join(folder, "answers"), "w", encoding="ascii") as file:
            file.write(answers)
        result = alone(agent, request, VALET_PINENTRY=program)
        with open(os.path.join(folder, "pid"), encoding="ascii") as file:
            check(not os.path.exists(f"/proc/{file.read().strip()}"), "the program lives on")
        return result


@case
def nothing_is_left_behind(agent):
    for answers, result in (
            ("PIN 1\n", "answer 31"), ("EOF\n", "cancelled"), ("RAW x\\n\n", "malformed"),
            ("FAILURE\n", "pinentryUnusable"), ("BROKEN\n", "pinentryUnusable")):
        is_answer(fake(agent, "ask 5 again", answers), f"{result} {result}")


@case
def interrupt_is_an_answer(agent):
    """The agent survives Ctrl-C, which went to the program, too."""
    is_answer(fake(agent, "ask 5", "INTERRUPT\n"), "cancelled")


def real(agent, name, request="ask 20", **more):
    program = shutil.which(name)
    if program is None:
        print(f"{name} is not installed")
        sys.exit(77)
    session = Session(agent, request, VALET_PINENTRY=program, **more)
    session.expect(b"The tests ask for a passcode.")
    session.settle()
    return session


def ends(session, answer):
    """What a question ends with, whatever the answer; and the agent with 0."""
    session.answers_with(f"{answer} {LEFT}")
    is_restored(session)
    check(session.finish() == 0, "status")


@case
def pinentry_tty_answer(agent):
    session = real(agent, "pinentry-tty", "ask 20 again")
    session.expect(b"Passcode:")
    session.type(b"100%25 sure\n")
    session.expect(b"Passcode:")
    session.type(b"two\n")
    ends(session, f"answer {b'100%25 sure'.hex()} answer {b'two'.hex()}")


@case
def pinentry_tty_cancel(agent):
    session = real(agent, "pinentry-tty")
    session.expect(b"Passcode:")
    session.type(b"\x04")
    ends(session, "cancelled")


@case
def pinentry_tty_deadline(agent):
    session = real(agent, "pinentry-tty", "ask 1.2")
    ends(session, "timedOut")


@case
def pinentry_tty_interrupt(agent):
    session = real(agent, "pinentry-tty")
    session.expect(b"Passcode:")
    session.type(b"\x03")
    ends(session, "cancelled")


@case
def pinentry_curses_answer(agent):
    session = real(agent, "pinentry-curses", "ask 20 twice")
    session.type(b"secret\r")
    session.expect(b"again")
    session.type(b"secret\r")
    ends(session, "answer 736563726574")
    check(b"secret" not in session.output, session.output)


@case
def pinentry_curses_cancel(agent):
    session = real(agent, "pinentry-curses")
    session.type(b"\t\t\r")
    ends(session, "cancelled")


@case
def pinentry_curses_deadline(agent):
    session = real(agent, "pinentry-curses", "ask 1.2")
    ends(session, "timedOut")


@case
def pinentry_curses_ended_from_outside(agent):
    with tempfile.TemporaryDirectory() as folder:
        end = os.path.join(folder, "end")
        session = real(agent, "pinentry-curses", f"ask 20 until:{end}")
        os.mkdir(end)
        ends(session, "cancelled")


@case
def pinentry_curses_interrupt(agent):
    session = real(agent, "pinentry-curses")
    session.type(b"\x03")
    ends(session, "cancelled")


@case
def pinentry_curses_killed(agent):
    """Its terminal is set as before, and the question counts as refused."""
    session = real(agent, "pinentry-curses")
    path = f"/proc/{session.child}/task/{session.child}/children"
    with open(path, encoding="ascii") as file:
        os.kill(int(file.read().split()[0]), signal.SIGKILL)
    ends(session, "cancelled")


class Keychain:
    """The agent with a keychain of its own, whose passcode is "correct"."""

    def __init__(self, agent, pinentry):
        self.folder = tempfile.TemporaryDirectory()
        self.session = Session(
            agent, "configure mail", VALET_HOME=os.path.join(self.folder.name, "valet"),
            VALET_LOCK_STATE="process", VALET_PINENTRY=pinentry)
        self.is_told()
        self.tell("set plain value")
        self.is_told()
        self.tell("app passcode correct")
        self.is_told()

    def tell(self, request):
        os.write(self.session.commands, request.encode() + b"\n")

    def is_told(self, answer=""):
        result = self.session.result()
        check(result == f"ok {answer}".strip(), result)

    def finish(self):
        check(self.session.finish() == 0, "status")
        self.folder.cleanup()


def installed(name):
    program = shutil.which(name)
    if program is None:
        print(f"{name} is not installed")
        sys.exit(77)
    return program


@case
def context_by_pinentry_curses(agent):
    keychain = Keychain(agent, installed("pinentry-curses"))
    keychain.tell("person policy Sign-in")
    keychain.session.expect(b"mail asks for the passcode of your keychain.")
    keychain.session.expect(b"Sign-in")
    keychain.session.type(b"wrong\r")
    keychain.session.expect(b"wrong passcode: 2 tries are left")
    keychain.session.type(b"correct\r")
    keychain.is_told("true")
    is_restored(keychain.session)
    keychain.finish()


@case
def context_on_the_terminal(agent):
    """The program that is to ask cannot, and gives way."""
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "pinentry")
        os.symlink(FAKE, program)
        with open(os.path.join(folder, "answers"), "w", encoding="ascii") as file:
            file.write("BROKEN\n")
        keychain = Keychain(agent, program)
        keychain.tell("person policy Sign-in")
        for line in (b"mail asks for the passcode of your keychain.", b"Sign-in", b"Passcode: "):
            keychain.session.expect(line)
        keychain.session.type(b"correct\n")
        keychain.is_told("true")
        keychain.tell("person policy Again")
        keychain.session.expect(b"Passcode: ")
        keychain.session.type(b"\x04")
        keychain.is_told("userCancel")
        is_restored(keychain.session)
        keychain.finish()


@case
def protected_value_takes_a_person(agent):
    keychain = Keychain(agent, installed("pinentry-curses"))
    keychain.tell("person set token secret")
    keychain.is_told()
    keychain.tell("person get token Sign-in")
    keychain.session.expect(b"Sign-in")
    keychain.session.type(b"correct\r")
    keychain.is_told("secret")
    keychain.finish()


@case
def protected_value_is_kept_without_a_person(agent):
    """spec/keys-and-states.md §8, case 14: the program that asks would leave its mark."""
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "pinentry")
        os.symlink(FAKE, program)
        keychain = Keychain(agent, program)
        for request, answer in (
                ("set token secret", ""), ("set token another", ""), ("contains token", "true"),
                ("can", "true"), ("remove token", ""), ("contains token", "false")):
            keychain.tell("person " + request)
            keychain.is_told(answer)
        keychain.finish()
        check(os.listdir(folder) == ["pinentry"], "somebody was asked")


@case
def search_without_a_context_asks_each_time(agent):
    """spec/secitem.md §10.5: each call has a context of its own, and nothing is reused."""
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "pinentry")
        os.symlink(FAKE, program)
        with open(os.path.join(folder, "answers"), "w", encoding="ascii") as file:
            file.write("PIN correct\n")
        keychain = Keychain(agent, program)
        keychain.tell("person set token secret")
        keychain.is_told()
        for count in (1, 2):
            keychain.tell("person find token")
            keychain.is_told("secret")
            with open(os.path.join(folder, "log"), encoding="utf-8") as file:
                asked = file.read().splitlines().count("GETPIN")
            check(asked == count, f"asked {asked} times")
        keychain.finish()


class Window:
    """The agent in a window of tmux, as a person sees it who types there."""

    def __init__(self, agent, request, folder, **more):
        self.folder, self.end = folder, time.monotonic() + 12
        self.path = {name: os.path.join(folder, name) for name in ("commands", "answers", "modes")}
        with open(self.path["commands"], "w", encoding="ascii") as file:
            file.write(request + "\n")
        command = (f"'{agent}' 9 9>'{self.path['answers']}' <'{self.path['commands']}'; "
                   f"stty -a >'{self.path['modes']}.new'; "
                   f"mv '{self.path['modes']}.new' '{self.path['modes']}'; exec sleep 30")
        variables = environment({"SHELL": "/bin/sh", **more})
        del variables["TERM"]
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", command,
                  env={**variables, "TERM": "xterm"})

    def tmux(self, *arguments, **more):
        return subprocess.run(
            ["tmux", "-S", os.path.join(self.folder, "socket"), *arguments],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=5, check=True, **more).stdout

    def wait(self, is_so, message):
        while not is_so():
            check(time.monotonic() < self.end, f"{message}: {self.screen()}")
            time.sleep(0.02)

    def screen(self):
        return self.tmux("capture-pane", "-p")

    def shows(self, text):
        self.wait(lambda: text in self.screen(), f"{text} did not come")

    def type(self, *keys):
        self.tmux("send-keys", *keys)

    def result(self):
        """What the agent answers, and how it leaves the terminal."""
        self.wait(lambda: os.path.exists(self.path["modes"]), "no end")
        with open(self.path["modes"], encoding="ascii") as file:
            modes = file.read().split()
        check("echo" in modes and "icanon" in modes, modes)
        with open(self.path["answers"], encoding="ascii") as file:
            return file.read().strip()


@case
def pinentry_curses_in_tmux(agent):
    installed("tmux")
    with tempfile.TemporaryDirectory() as folder:
        window = Window(
            agent, "ask 12 twice", folder, VALET_PINENTRY=installed("pinentry-curses"))
        try:
            window.shows("The tests ask for a passcode.")
            window.type("secret", "Enter")
            window.shows("again")
            check("secret" not in window.screen(), "the passcode is shown")
            window.type("secret", "Enter")
            is_answer(window.result(), "answer 736563726574")
            check("passcode" not in window.screen(), "the question is still shown")
        finally:
            window.tmux("kill-server")


def main(arguments):
    if arguments == ["--list"]:
        print("\n".join(CASES))
        return 0
    if len(arguments) != 2 or arguments[0] not in CASES:
        print(__doc__)
        return 64
    # What starts us may block signals; ours, and those of the agent, are the terminal's.
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    signal.alarm(20)
    try:
        CASES[arguments[0]](arguments[1])
    except AssertionError as error:
        print(f"{arguments[0]}: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
