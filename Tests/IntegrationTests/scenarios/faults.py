# SPDX-License-Identifier: Apache-2.0
"""What can go wrong at the system calls of a command: errors, and files that come and go."""

import os
import time

from support import expect

# The errors of each call when the disk, the memory, the descriptors or the locks fail.
ERRORS = {
    "openat": ("EMFILE", "EIO"), "statx": ("EIO",), "newfstatat": ("EIO",), "fstatfs": ("EIO",),
    "readlink": ("EIO",), "pread64": ("EIO",), "read": ("EIO",), "getdents64": ("EIO",),
    "pwrite64": ("ENOSPC", "EFBIG", "EIO"), "write": ("ENOSPC", "EFBIG"),
    "fdatasync": ("EIO",), "fsync": ("EIO",), "ftruncate": ("EIO",), "fallocate": ("ENOSPC",), "renameat": ("EIO",),
    "renameat2": ("EIO", "ENOSPC"), "linkat": ("EIO", "ENOSPC"), "unlinkat": ("EIO",),
    "mkdirat": ("ENOSPC", "EIO"), "fchmod": ("EIO",), "fchown": ("EIO",), "utimensat": ("EIO",),
    "mmap": ("ENOMEM",), "fcntl": ("ENOLCK",), "flock": ("ENOLCK",), "keyctl": ("ENOMEM",),
    "add_key": ("EDQUOT",), "memfd_create": ("EMFILE",), "pipe2": ("EMFILE",),
}
# What happens beside the keychain while a verb is stopped at a call.
NAMES, INDEX = "names", "index"


class Fault:
    """Something that goes wrong at a call of a run, which `line` of its trace shows."""

    def __init__(self, call, number, what, line):
        self.call, self.number, self.what, self.line = call, number, what, line

    @property
    def options(self):
        tampering = "signal=STOP" if self.stops else f"error={self.what}"
        # Faster, but strace cannot send a signal then.
        quickly = () if self.stops else ("--seccomp-bpf",)
        return ("strace", "-f", *quickly, "-e", f"trace={self.call}",
                "-e", f"inject={self.call}:{tampering}:when={self.number}", "-o")

    @property
    def stops(self):
        return self.what in (NAMES, INDEX)

    def writes_to(self, descriptor):
        return self.call == "write" and f"write({descriptor}," in self.line

    def __str__(self):
        return f"{self.what} at {self.call} {self.number}: {self.line[:150]}"


def faults(line, call, number):
    """What can go wrong at a call."""
    if call == "mmap" and "MAP_ANONYMOUS" in line or call == "fcntl" and "LK" not in line:
        return
    errors = ERRORS[call] + (("ENOSPC",) if call == "openat" and "O_CREAT" in line else ())
    # A stop takes longer than an error.
    for what in (*errors, (NAMES, INDEX)[number % 2]):
        yield Fault(call, number, what, line)


def stops_in_time(process, log):
    """Waits until a traced process has stopped; returns false if it ended before."""
    end = time.monotonic() + 30
    while process.poll() is None:
        expect(time.monotonic() < end, "neither stopped nor ended")
        time.sleep(0.001)
        with open(log, "rb") as file:
            if b"--- stopped by SIGSTOP ---" in file.read():
                return True
    return False


def remove(path):
    if os.path.exists(path):
        os.remove(path)
