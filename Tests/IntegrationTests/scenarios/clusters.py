# SPDX-License-Identifier: Apache-2.0
"""Clusters of real etcd servers on loopback, which scenarios kill, stop and set back."""

import json
import os
import shutil
import signal
import socket
import subprocess
import time

import support
from support import expect, need


def free_ports(count):
    """Ports that nobody uses now. Another program may take one before the server does; then the
    cluster does not start, and the scenario says so."""
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Cluster:
    """Servers whose data is in the world's folder. They end with the world."""

    def __init__(self, world, count):
        need("etcd")
        need("etcdctl")
        self.world = world
        self.folder = os.path.join(world.folder, "etcd")
        os.mkdir(self.folder)
        ports = free_ports(2 * count)
        self.clients = [f"http://127.0.0.1:{port}" for port in ports[:count]]
        self.peers = [f"http://127.0.0.1:{port}" for port in ports[count:]]
        self.servers = [None] * count
        for index in range(count):
            self.start(index)
        self.await_leader()

    @property
    def endpoints(self):
        return ",".join(self.clients)

    def data(self, index):
        return os.path.join(self.folder, f"server-{index}")

    def start(self, index):
        everyone = ",".join(f"s{i}={peer}" for i, peer in enumerate(self.peers))
        log = open(os.path.join(self.folder, f"log-{index}"), "ab")
        self.servers[index] = self.world.start(
            ["etcd", "--name", f"s{index}", "--data-dir", self.data(index),
             "--listen-client-urls", self.clients[index],
             "--advertise-client-urls", self.clients[index],
             "--listen-peer-urls", self.peers[index],
             "--initial-advertise-peer-urls", self.peers[index],
             "--initial-cluster", everyone, "--initial-cluster-state", "new",
             # Short, so that a lost leader is replaced at once.
             "--heartbeat-interval", "50", "--election-timeout", "500"],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        log.close()

    def kill(self, index):
        os.kill(self.servers[index].pid, signal.SIGKILL)
        self.servers[index].wait()
        self.world.started.remove(self.servers[index])
        self.servers[index] = None

    def stop(self, index):
        support.stop(self.servers[index])

    def go_on(self, index):
        os.kill(self.servers[index].pid, signal.SIGCONT)

    def is_running(self, index):
        return self.servers[index] is not None

    def control(self, *words, timeout=10):
        """Runs etcdctl; returns its output, or None if it failed."""
        try:
            done = subprocess.run(
                ["etcdctl", "--endpoints", self.endpoints, "--command-timeout", "5s", *words],
                env={"PATH": os.environ["PATH"], "ETCDCTL_API": "3"}, capture_output=True,
                timeout=timeout, check=False)
        except subprocess.TimeoutExpired:
            return None
        return done.stdout.decode() if done.returncode == 0 else None

    def leader(self):
        """The index of the leader; None without one."""
        for index, client in enumerate(self.clients):
            if not self.is_running(index):
                continue
            try:
                done = subprocess.run(
                    ["etcdctl", "--endpoints", client, "--command-timeout", "2s", "endpoint",
                     "status", "-w", "json"],
                    env={"PATH": os.environ["PATH"], "ETCDCTL_API": "3"}, capture_output=True,
                    timeout=5, check=False)
                status = json.loads(done.stdout)[0]["Status"]
            except (subprocess.TimeoutExpired, ValueError, KeyError, IndexError):
                continue
            # A server that has just started knows none.
            if status.get("leader", 0) == status["header"]["member_id"]:
                return index
        return None

    def await_leader(self, seconds=60):
        end = time.monotonic() + seconds
        while self.leader() is None:
            expect(time.monotonic() < end, "the cluster has no leader:", self.last_words())
            time.sleep(0.1)

    def last_words(self):
        words = []
        for index in range(len(self.servers)):
            path = os.path.join(self.folder, f"log-{index}")
            words += open(path, errors="replace").read().splitlines()[-2:]
        return words

    def compact(self):
        """Forgets all former revisions, as an operator does."""
        status = self.control("endpoint", "status", "-w", "json")
        if status is not None:
            revision = max(one["Status"]["header"]["revision"] for one in json.loads(status))
            self.control("compact", str(revision))

    def copy_of_data(self):
        """A copy of all data, of servers that were stopped for it."""
        for index in range(len(self.servers)):
            if self.is_running(index):
                self.kill(index)
        copy = os.path.join(self.folder, "copy")
        shutil.rmtree(copy, ignore_errors=True)
        os.mkdir(copy)
        for index in range(len(self.servers)):
            shutil.copytree(self.data(index), os.path.join(copy, f"server-{index}"))
        self.start_all()

    def set_back(self):
        """Puts the copy in place of the data, as an operator does after a loss."""
        for index in range(len(self.servers)):
            if self.is_running(index):
                self.kill(index)
            shutil.rmtree(self.data(index))
            shutil.copytree(
                os.path.join(self.folder, "copy", f"server-{index}"), self.data(index))
        self.start_all()

    def start_all(self):
        for index in range(len(self.servers)):
            if not self.is_running(index):
                self.start(index)
        self.await_leader()
