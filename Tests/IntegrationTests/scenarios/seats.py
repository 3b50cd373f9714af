# SPDX-License-Identifier: Apache-2.0
"""A person at a terminal: what scenarios of editors and clipboards use."""

import errno
import fcntl
import os
import pty
import select
import struct
import termios
import time

from support import COMMAND, expect


class Seat:
    """The command as the leader of a terminal. Closing it ends what is left."""

    def __init__(self, world, *words, env=None, prefix=(), command=COMMAND):
        self.output = b""
        self.terminal, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.process = world.start(
            [*prefix, command, *words], {"TERM": "xterm", **(env or {})},
            stdin=theirs, stdout=theirs, stderr=theirs,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(theirs)

    def read(self, seconds=0.05):
        """Takes what is there; false once nobody can write any more."""
        if select.select([self.terminal], [], [], seconds)[0]:
            try:
                self.output += os.read(self.terminal, 65536)
            except OSError as error:
                if error.errno != errno.EIO:
                    raise
                return False
        return True

    def see(self, text, seconds=20):
        """Waits for a text, and forgets what came before it."""
        end = time.monotonic() + seconds
        while text not in self.output:
            is_open = self.read()
            expect(is_open and time.monotonic() < end or text in self.output,
                   f"{text!r} did not come: {self.output!r}")
        self.output = self.output.split(text, 1)[1]

    def type(self, text):
        os.write(self.terminal, text)

    def finish(self, seconds=20):
        """What remains of the output, and the exit code; minus the number of a signal."""
        end = time.monotonic() + seconds
        while self.process.poll() is None:
            self.read()
            expect(time.monotonic() < end, f"the command does not end: {self.output!r}")
        while select.select([self.terminal], [], [], 0)[0] and self.read(0):
            pass
        os.close(self.terminal)
        return self.output, self.process.returncode
