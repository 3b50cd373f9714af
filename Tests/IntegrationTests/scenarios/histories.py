# SPDX-License-Identifier: Apache-2.0
"""Processes that read, unlock and lock at the same time: some order of the calls explains every
answer."""

import bisect
import collections
import itertools
import os
import time

from passcodes import ALONE, SHARED
from support import (CRASH_TEST, EVERY_USER, Failure, expect, mount, need_root, private_mounts,
                     scenario)

WORD = "word"
# Hides the runtime folders, so that sharing files go to the keychain's folder.
HIDING = ("unshare", "--mount", "sh", "-c",
          'mount -t tmpfs none /run/user && exec "$0" "$@"')
# After this time, in ns, a process reads again what it has read before, and where a path leads.
LOOK = 102_000_000
NAMESPACE = ("unshare", "--user", "--map-root-user")

Call = collections.namedtuple("Call", "begin end answer by", defaults=["the scenario"])


class Order:
    """Says which answers of reads are allowed, by the times when calls that open and calls that
    close began and ended. A read may see the effect of a call unless an opposite call lies
    between the two."""

    def __init__(self, opening, closing):
        self.opening, self.closing = Calls(opening), Calls(closing)

    def allows(self, read, is_open):
        same, opposite = ((self.opening, self.closing) if is_open
                          else (self.closing, self.opening))
        latest = same.latest_end(begun_before=read.end)
        return opposite.latest_begin(ended_before=read.begin) <= latest

    def before(self, read):
        """Returns the last calls before a read with their processes and their times relative to
        it, in ms."""
        calls = [(verb, call.by, (call.begin - read.begin) / 1e6, (call.end - read.begin) / 1e6)
                 for verb, calls in (("opened", self.opening), ("closed", self.closing))
                 for call in calls.all if call.begin < read.end]
        return sorted(calls, key=lambda call: call[3])[-6:]


class Calls:
    def __init__(self, calls):
        self.all = calls
        by_begin = sorted(calls, key=lambda call: call.begin)
        self.begins = [call.begin for call in by_begin]
        self.ends_so_far = list(itertools.accumulate((call.end for call in by_begin), max))
        by_end = sorted(calls, key=lambda call: call.end)
        self.ends = [call.end for call in by_end]
        self.begins_so_far = list(itertools.accumulate((call.begin for call in by_end), max))

    def latest_end(self, begun_before):
        count = bisect.bisect_left(self.begins, begun_before)
        return self.ends_so_far[count - 1] if count else -1

    def latest_begin(self, ended_before):
        count = bisect.bisect_left(self.ends, ended_before)
        return self.begins_so_far[count - 1] if count else -1


def recorded(world, number):
    """Returns the calls of a process by verb."""
    found = collections.defaultdict(list)
    for line in open(f"{world.folder}/history-{number}"):
        verb, begin, end, answer = line.split()
        found[verb].append(Call(int(begin), int(end), answer, number))
    return found


def judge(reads, opening, closing, who, hidden=frozenset(), sees_all=True):
    """Compares each read with the order of the other calls; counts the answers, and the reads
    that had only one right answer. A process that misses a place of sharing files sees only
    some unlocks, so that "locked" is never wrong. Its own unlocks are seen a moment later, as
    it cannot end keys that it does not see (docs/FORMAT.md §10.5)."""
    orders = Order(opening, closing), Order(
        [call._replace(end=call.end + LOOK) if call.by in hidden else call for call in opening],
        closing)
    counts = collections.Counter()
    for read in reads:
        expect(read.answer in ("value", "locked"), who, "an odd answer:", read)
        is_open = read.answer == "value"
        order = orders[0 if is_open else 1]
        if (is_open or sees_all) and not order.allows(read, is_open):
            raise Failure(f"{who} against the order: {read} after {order.before(read)}")
        counts[read.answer] += 1
        counts["decided"] += not orders[1].allows(read, not is_open)
    return counts


def prepare(world):
    """Creates a locked keychain with a passcode and an item. Returns that as the first lock."""
    agent = world.agent(env=SHARED)
    agent.do(f"app passcode {WORD}")
    agent.do("set key value")
    agent.do("lock")
    agent.end()
    return Call(0, time.monotonic_ns(), "done")


# Promise: 7.8
@scenario(users=EVERY_USER, script=CRASH_TEST)
def raced(world):
    """Each concurrent read fits an order of the locks and unlocks around it.

    Some processes share keys through another folder, from another namespace, or not at all."""
    is_root = os.geteuid() == 0
    if is_root:
        private_runtime_folder()
    hiding, namespace = (HIDING, NAMESPACE) if is_root else ((), ())
    before = prepare(world)
    roles = [
        ("reads", SHARED, ()), ("reads", SHARED, ()), ("reads", SHARED, hiding),
        ("reads", SHARED, namespace), ("unlocks", SHARED, ()), ("unlocks", SHARED, hiding),
        ("unlocks", SHARED, namespace), ("locks", SHARED, ()), ("locks", SHARED, hiding),
        ("locks", ALONE, namespace), ("owns", ALONE, ()),
    ]
    seconds = 180 if world.is_thorough else 6
    agents = [world.agent(env=env, prefix=prefix) for _, env, prefix in roles]
    for number, (agent, role) in enumerate(zip(agents, roles)):
        agent.tell(f"history {role[0]} {seconds} {WORD} {world.folder}/history-{number}")
    for agent in agents:
        answer = agent.answer(seconds + 90)
        expect(answer.startswith("ok"), answer)
    records = [(role, prefix, recorded(world, number))
               for number, (role, _, prefix) in enumerate(roles)]
    agents[0].do("lock all")
    for agent in agents:
        agent.end()
    report(records, before)


@scenario
def slept_through(world):
    """A process that slept through an unlock and a lock notices the next unlock."""
    need_root()
    private_runtime_folder()
    prepare(world)
    reader = world.agent(env=SHARED)
    # Its keys are in a keyring of its own, so that no other process ends them.
    apart = world.agent(env=SHARED, prefix=NAMESPACE)
    hidden = world.agent(env=SHARED, prefix=HIDING)
    apart.do(f"app unlock {WORD}")
    reader.do("get key")
    reader.do("lock")
    expect(reader.ask("get key").startswith("error locked"), "the lock")
    for verb in (f"app unlock {WORD}", "lock", f"app unlock {WORD}"):
        hidden.do(verb)
    time.sleep(2 * LOOK / 1e9)
    expect(reader.do("get key") == "value", "the second unlock")
    reader.do("lock all")
    for agent in (reader, apart, hidden):
        agent.end()


def private_runtime_folder():
    """Gives this process and its children an empty runtime folder of their own."""
    private_mounts()
    os.makedirs("/run/user", exist_ok=True)
    mount("-t", "tmpfs", "tmpfs", "/run/user")
    os.mkdir(f"/run/user/{os.geteuid()}", 0o700)


# Promise: 7.8
@scenario(script=CRASH_TEST)
def accidents(world):
    """A damaged page of locks keeps the keychain locked until the next unlock."""
    closing, opening = [prepare(world)], []
    seconds = 60 if world.is_thorough else 8
    owner, readers = world.agent(env=SHARED), [world.agent(env=SHARED) for _ in range(4)]
    for number, reader in enumerate(readers):
        reader.tell(f"history reads {seconds} {WORD} {world.folder}/history-{number}")
    path, end, count = world.path("keychain.lock"), time.monotonic() + seconds - 1, 0
    for accident in itertools.cycle((cut, cut_in_part, garbage, mark, zeros, removed, replaced,
                                     put_back, moved_back)):
        if count > 0 and time.monotonic() > end:
            break
        begin = time.monotonic_ns()
        owner.do(f"app unlock {WORD}")
        opening.append(Call(begin, time.monotonic_ns(), "done"))
        time.sleep(0.05)
        begin = time.monotonic_ns()
        accident(world, path)
        closing.append(Call(begin, time.monotonic_ns() + LOOK, "done"))
        time.sleep(0.15)
        count += 1
    total = collections.Counter()
    for number, reader in enumerate(readers):
        answer = reader.answer(seconds + 60)
        expect(answer.startswith("ok"), answer)
        total += judge(recorded(world, number)["read"], opening, closing,
                       f"reader {number}:")
    expect(total["value"] > 100 and total["locked"] > 100, "one-sided:", total)
    expect(total["decided"] > 100, "nothing to tell:", total)
    owner.do(f"app unlock {WORD}")
    for reader in readers:
        expect(reader.do("get key") == "value", "not mended")
    owner.do("lock all")
    for agent in (owner, *readers):
        agent.end()
    world.doctor()
    print(f"{count} accidents; reads: {dict(total)}")


def cut(_, path):
    os.truncate(path, 0)


def cut_in_part(_, path):
    os.truncate(path, 40)


def overwritten(path, offset, contents):
    with open(path, "r+b") as page:
        page.seek(offset)
        page.write(contents)


def garbage(_, path):
    overwritten(path, 0, os.urandom(os.path.getsize(path)))


def mark(_, path):
    overwritten(path, 32, os.urandom(16))


def zeros(_, path):
    overwritten(path, 0, bytes(os.path.getsize(path)))


def removed(_, path):
    os.remove(path)


def replaced(world, path):
    other = world.path("other.lock")
    with open(other, "xb") as page:
        os.fchmod(page.fileno(), 0o600)
        page.write(os.urandom(4096))
    os.rename(other, path)


def put_back(world, path):
    """Writes the bytes from before a lock again after it."""
    contents = open(path, "rb").read()
    lock(world)
    overwritten(path, 0, contents)


def moved_back(world, path):
    """Puts the file from before a lock back after it."""
    away = world.path("away.lock")
    os.rename(path, away)
    lock(world)
    os.rename(away, path)


def lock(world):
    outcome = world.run("lock", env=SHARED)
    expect(outcome.code == 0, "lock:", outcome)


def report(records, before):
    shared = [call for role, _, record in records if role != "owns" for call in record["unlock"]]
    own = [call for role, _, record in records if role == "owns" for call in record["unlock"]]
    locks = [before, *(call for *_, record in records for call in record["lock"])]
    for call in (*shared, *own, *locks):
        expect(call.answer == "done", "refused:", call)
    hidden = {number for number, (_, prefix, _) in enumerate(records) if prefix == HIDING}
    total = collections.Counter()
    for number, (role, prefix, record) in enumerate(records):
        total += judge(record["read"], own if role == "owns" else shared, locks,
                       f"process {number}, {role}:", hidden, prefix != HIDING)
    expect(total["value"] > 100 and total["locked"] > 100, "one-sided:", total)
    expect(total["decided"] > 100, "nothing to tell:", total)
    print(f"{len(shared)} unlocks, {len(own)} by a process for itself, {len(locks)} locks; "
          f"reads: {dict(total)}")
