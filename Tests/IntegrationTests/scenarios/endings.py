# SPDX-License-Identifier: Apache-2.0
"""valet serve that ends while its threads are in calls: replaced, idle, killed, without a bus."""

import json
import random
import subprocess
import time

from desktop import LOGIN, Desktop
from support import COMMAND, CRASH_TEST, EVERY_USER, Skip, expect, scenario

INTERFACE = "org.freedesktop.Secret."
VALUE = b"x" * 20_000
# How many secrets each client stores at once.
COUNT = 24


class Client:
    """A connection to the bus that sends many calls before it waits for an answer."""

    def __init__(self, desktop):
        try:
            from jeepney import DBusAddress
            from jeepney.io.blocking import open_dbus_connection
        except ImportError:
            raise Skip("needs python3-jeepney") from None
        self.address = DBusAddress
        self.bus = open_dbus_connection(desktop.env["DBUS_SESSION_BUS_ADDRESS"])
        answer = self.answer(self.send(
            "/org/freedesktop/secrets", "Service", "OpenSession", "sv", ("plain", ("s", ""))))
        self.session = answer.body[1]

    def send(self, path, interface, member, signature, body):
        """Sends a call, and returns its number."""
        from jeepney import new_method_call
        address = self.address(path, "org.freedesktop.secrets", INTERFACE + interface)
        message = new_method_call(address, member, signature, body)
        number = next(self.bus.outgoing_serial)
        self.bus.send(message, serial=number)
        return number

    def store(self, name):
        properties = {INTERFACE + "Item.Attributes": ("a{ss}", {"name": name})}
        return self.send(LOGIN, "Collection", "CreateItem", "a{sv}(oayays)b",
                         (properties, (self.session, b"", VALUE, "text/plain"), True))

    def answer(self, number, seconds=30):
        """The answer to the call of that number; None if the bus or the service ended first."""
        from jeepney import HeaderFields
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                message = self.bus.receive(timeout=end - time.monotonic())
            except (OSError, EOFError, TimeoutError):
                return None
            if message.header.fields.get(HeaderFields.reply_serial) == number:
                return message
        return None

    def stored(self, calls, count):
        """The names among `calls`, by number, that the first `count` answers acknowledge; and how
        many calls have an answer."""
        from jeepney import HeaderFields, MessageType
        names, answered = [], 0
        while answered < count:
            try:
                message = self.bus.receive(timeout=30)
            except (OSError, EOFError, TimeoutError):
                break
            number = message.header.fields.get(HeaderFields.reply_serial)
            if number not in calls:
                continue
            answered += 1
            if message.header.message_type == MessageType.method_return:
                names.append(calls[number])
        return names, answered


def check(world, stored, when):
    """The keychain is sound, and has every secret that was acknowledged."""
    expect(world.get("mine") == "kept", "the secret of the command", when)
    outcome = world.run("doctor")
    expect(outcome.code == 0, when, outcome)
    outcome = world.run("list", "--group", "org.freedesktop.secrets", "--json")
    expect(outcome.code == 0, when, outcome)
    count = len(json.loads(outcome.out)["items"])
    expect(count >= len(stored), when, f"{len(stored)} were acknowledged, {count} are there")


def rounds(world, count):
    return range(1000 if world.is_thorough else count)


# Promise: 20.5
@scenario(users=EVERY_USER, script=CRASH_TEST, seconds=7200)
def replaced(world):
    """A service that is replaced while it stores answers every call, and harms no secret."""
    world.set("mine", "kept")
    desktop = Desktop(world)
    desktop.serve("--replace")
    stored = []
    for turn in rounds(world, 8):
        former, client = desktop.service, Client(desktop)
        calls = {client.store(f"{turn % 50}.{number}"): f"{turn % 50}.{number}"
                 for number in range(COUNT)}
        desktop.serve("--replace")
        names, answered = client.stored(calls, COUNT)
        expect(answered == COUNT, f"round {turn}: {answered} of {COUNT} calls have an answer")
        stored = sorted({*stored, *names})
        expect(former.wait(60) == 0, f"round {turn}: the service ended with {former.returncode}")
        client.bus.close()
        if turn % 25 == 7:
            check(world, stored, f"after round {turn}")
    check(world, stored, "at the end")
    desktop.kill()


# Promise: 20.5
@scenario(users=EVERY_USER, script=CRASH_TEST, seconds=7200)
def without_bus(world):
    """A service that is killed, or whose bus ends, while it stores harms no secret."""
    world.set("mine", "kept")
    stored, chosen = [], random.Random(7)
    desktop = Desktop(world)
    for turn in rounds(world, 6):
        if turn % 2 == 0 and turn > 0:
            desktop.start_bus()
        desktop.serve()
        client = Client(desktop)
        calls = {client.store(f"{turn % 50}.{number}"): f"{turn % 50}.{number}"
                 for number in range(COUNT)}
        # Another program of the user writes, too.
        other = world.start([COMMAND, "set", "other"], desktop.env,
                            stdin=subprocess.PIPE, **desktop.silence)
        other.stdin.write(b"value")
        other.stdin.close()
        names, _ = client.stored(calls, chosen.randrange(COUNT // 2))
        stored = sorted({*stored, *names})
        if turn % 2 == 0:
            desktop.service.kill()
            desktop.service.wait(60)
        else:
            desktop.bus.kill()
            desktop.bus.wait(60)
            code = desktop.service.wait(60)
            expect(code == 0, f"round {turn}: the service ended with {code}")
        expect(other.wait(60) == 0, f"round {turn}: another program failed: {other.returncode}")
        if turn % 25 == 5:
            check(world, stored, f"after round {turn}")
    check(world, stored, "at the end")


# Promise: 20.5
@scenario(users=EVERY_USER, script=CRASH_TEST, seconds=7200)
def idle(world):
    """A service that ends because nobody has called answers the calls of that moment."""
    world.set("mine", "kept")
    desktop = Desktop(world)
    stored = []
    for turn in rounds(world, 6):
        desktop.serve("--idle-exit", "1s")
        client = Client(desktop)
        client.answer(client.send(client.session, "Session", "Close", "", ()))
        # The calls arrive around the moment at which the service ends.
        time.sleep(1 - 0.01 + 0.002 * (turn % 8))
        calls = {client.send("/org/freedesktop/secrets", "Service", "ReadAlias", "s", ("default",)):
                 "alias" for _ in range(3)}
        _, answered = client.stored(calls, 3)
        expect(answered == 3, f"round {turn}: {answered} of 3 calls have an answer")
        code = desktop.service.wait(60)
        expect(code == 0, f"round {turn}: the service ended with {code}")
        client.bus.close()
    check(world, stored, "at the end")
