# SPDX-License-Identifier: Apache-2.0
"""Programs that know keyring alone: its command, pip and twine, without a desktop or a bus."""

import base64
import glob
import http.server
import os
import subprocess
import sys
import threading

import pytest

from support import run

USER, PASSWORD = "ada", "correct horse battery staple"


class Index(http.server.BaseHTTPRequestHandler):
    """A package index that demands a user and a password."""

    def _is_allowed(self):
        expected = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        if self.headers.get("Authorization") == f"Basic {expected}":
            return True
        self.send_response(401)
        self.send_header("WWW-Authenticate", 'Basic realm="index"')
        self.send_header("Content-Length", "0")
        self.end_headers()
        return False

    def _answer(self, body, kind):
        self.server.served.append(self.path)
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if not self._is_allowed():
            return
        wheel = os.path.basename(self.server.wheel)
        if self.path.endswith(".whl"):
            with open(self.server.wheel, "rb") as file:
                self._answer(file.read(), "application/octet-stream")
        else:
            self._answer(f'<a href="/files/{wheel}">{wheel}</a>'.encode(), "text/html")

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self._is_allowed():
            self.server.uploaded.append(body)
            self._answer(b"", "text/plain")

    def log_message(self, *arguments):
        pass


@pytest.fixture
def wheel():
    return glob.glob(os.path.join(os.environ["VALET_TEST_WHEELS"], "*.whl"))[0]


@pytest.fixture
def index(wheel):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Index)
    server.wheel, server.served, server.uploaded = wheel, [], []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    server.url = f"http://127.0.0.1:{server.server_port}"
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def module(name, *arguments, data=b"", home=None):
    return run([sys.executable, "-m", name, *arguments], data, home)


def test_no_variable_names_a_desktop_or_a_bus():
    for name in ("DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR"):
        assert name not in os.environ


def test_the_command_keyring_stores_reads_and_deletes(home):
    module("keyring", "set", "mail.example.com", USER, data=PASSWORD.encode(), home=home)
    found = module("keyring", "get", "mail.example.com", USER, home=home)
    assert found.decode().strip() == PASSWORD
    module("keyring", "del", "mail.example.com", USER, home=home)
    gone = subprocess.run(
        [sys.executable, "-m", "keyring", "get", "mail.example.com", USER],
        env={**os.environ, "VALET_HOME": str(home)}, capture_output=True, timeout=60)
    assert (gone.returncode, gone.stdout) == (1, b"")
    assert "valet.keyring.Keyring" in module("keyring", "--list-backends", home=home).decode()


def test_nothing_of_a_password_is_in_the_files_of_the_keychain(home):
    module("keyring", "set", "mail.example.com", USER, data=PASSWORD.encode(), home=home)
    files = [path for path in home.rglob("*") if path.is_file()]
    assert files
    for path in files:
        assert b"correct horse" not in path.read_bytes() and b"example.com" not in path.read_bytes()


def test_pip_logs_in_to_an_index(home, index, tmp_path):
    module("keyring", "set", f"{index.url}/simple/", USER, data=PASSWORD.encode(), home=home)
    address = index.url.replace("//", f"//{USER}@")
    module(
        "pip", "--isolated", "download", "--no-deps", "--no-input", "--no-cache-dir",
        "--disable-pip-version-check", "--keyring-provider", "import",
        "--index-url", f"{address}/simple/", "--dest", str(tmp_path), "valet-keyring", home=home)
    assert os.path.exists(tmp_path / os.path.basename(index.wheel))
    assert len(index.served) == 2


def test_twine_uploads_with_a_stored_password(home, index):
    module("keyring", "set", f"{index.url}/legacy/", USER, data=PASSWORD.encode(), home=home)
    module(
        "twine", "upload", "--non-interactive", "--disable-progress-bar", "--username", USER,
        "--repository-url", f"{index.url}/legacy/", index.wheel, home=home)
    assert len(index.uploaded) == 1 and b"valet-keyring" in index.uploaded[0]


def test_twine_is_refused_without_a_stored_password(home, index):
    done = subprocess.run(
        [sys.executable, "-m", "twine", "upload", "--non-interactive", "--username", USER,
         "--repository-url", f"{index.url}/legacy/", index.wheel],
        env={**os.environ, "VALET_HOME": str(home)}, capture_output=True, timeout=60)
    assert done.returncode != 0 and index.uploaded == []
    output = (done.stdout + done.stderr).lower()
    assert b"password" in output and b"traceback" not in output, output


def test_the_wheel_is_pure_and_complete(wheel):
    import ast
    import zipfile

    assert wheel.endswith("-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        assert "valet/py.typed" in names
        assert [name for name in names if name.endswith("/LICENSE")]
        for name in names:
            if name.endswith(".py"):
                ast.parse(archive.read(name), feature_version=(3, 9))
