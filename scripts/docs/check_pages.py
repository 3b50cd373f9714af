# SPDX-License-Identifier: Apache-2.0
"""usage: python3 check_pages.py SITE

Opens pages of SITE in chromium, without a window, and fails if one does not show what it should.
The pages are empty until their script has run: what is found there was rendered.
"""

import functools
import http.server
import os
import pathlib
import subprocess
import sys
import tempfile
import threading

# Articles, the class, one method, and a page of another module. No long names: a page breaks them.
PAGES = {
    "valet": "Choosing an accessibility",
    "valet/debugging": "names an access group that the application does not have",
    "valet/choosinganaccessibility": "What becomes of an item",
    "valet/valet": "Storing and reading",
    "valet/valet/setobjects(_:)": "all of them, or none",
    "keychainservices/valetkeychain": "The keychain of this process",
}


class Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


def rendered(url, profile):
    """The document at `url` once its script has run."""
    browser = ["chromium", "--headless=new", "--disable-gpu", f"--user-data-dir={profile}"]
    if os.geteuid() == 0:
        # Chromium does not put root into its sandbox. It opens nothing but our own pages.
        browser.append("--no-sandbox")
    run = subprocess.run(
        [*browser, "--virtual-time-budget=10000", "--dump-dom", url],
        capture_output=True, text=True, timeout=60)
    if run.returncode != 0:
        sys.exit(f"docs: error: chromium fails: {run.stderr[-500:]}")
    return run.stdout


def main(site):
    handler = functools.partial(Handler, directory=site)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for page, text in PAGES.items():
            path = f"documentation/{page}/"
            if text in (pathlib.Path(site) / path / "index.html").read_text(encoding="utf-8"):
                sys.exit(f"docs: error: {path} has {text!r} before its script has run")
            with tempfile.TemporaryDirectory() as profile:
                document = rendered(f"http://127.0.0.1:{server.server_port}/{path}", profile)
            if text not in document:
                sys.exit(f"docs: error: {path} does not show {text!r}")
        server.shutdown()
    print(f"docs: {len(PAGES)} pages appear in chromium")


if __name__ == "__main__":
    main(sys.argv[1])
