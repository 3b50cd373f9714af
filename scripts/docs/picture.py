# SPDX-License-Identifier: Apache-2.0
"""usage: picture.py FOLDER < session.txt

Types a session into bash in tmux and writes the screens as an SVG to standard output. FOLDER has
bin/ with the programs, and home/. scripts/picture calls it.
"""

import html
import os
import subprocess
import sys
import time

COLUMNS, ROWS = 88, 26
WIDTH, HEIGHT = 8, 18
SECONDS = 2.6


def main(folder):
    socket = f"{folder}/tmux"
    environment = {
        "HOME": f"{folder}/home", "PATH": f"{folder}/bin:/usr/bin:/bin", "TERM": "xterm",
        "LC_ALL": "C.UTF-8", "VALET_HOME": f"{folder}/home/keychain", "SHELL": "/bin/bash",
        "VALET_LOCK_STATE": "kernel", "NO_COLOR": "1", "PS1": "$ ",
    }

    def tmux(*words):
        return subprocess.run(
            ["tmux", "-S", socket, "-f", "/dev/null", *words], env=environment, check=True,
            capture_output=True, text=True, timeout=30).stdout

    def settled():
        """The screen, once it has stopped changing."""
        before, since, end = None, time.monotonic(), time.monotonic() + 20
        while time.monotonic() - since < 0.7 and time.monotonic() < end:
            screen = tmux("capture-pane", "-p").rstrip("\n").split("\n")
            if screen != before:
                before, since = screen, time.monotonic()
            time.sleep(0.1)
        return before

    tmux("new-session", "-d", "-x", str(COLUMNS), "-y", str(ROWS),
         "env PS1='$ ' bash --norc --noprofile")
    tmux("set", "-g", "status", "off")
    settled()
    screens = []
    for line in sys.stdin.read().splitlines():
        if line.startswith("#"):
            continue
        answer = line.removeprefix("> ")
        tmux("send-keys", "-l", answer)
        if answer == line:
            screens.append(settled())
        tmux("send-keys", "Enter")
        screens.append(settled())
    tmux("kill-server")
    print(picture([[row.replace(folder, "~") for row in screen] for screen in screens]))


def picture(screens):
    """The screens as an SVG. Without animation the last one shows."""
    width, height = COLUMNS * WIDTH + 32, ROWS * HEIGHT + 32
    total = SECONDS * len(screens)
    share = 100 / len(screens)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        'xml:space="preserve" '
        'aria-label="A session with valet: set, get, generate, run, list, sync">',
        "<style>",
        "text{font:13px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#d8dee9;"
        "white-space:pre}.c{fill:#a3be8c}g{visibility:hidden}g:last-child{visibility:visible}",
        f"@keyframes show{{0%,{share:.3f}%{{visibility:visible}}"
        f"{share + 0.001:.3f}%,100%{{visibility:hidden}}}}",
        f"@media (prefers-reduced-motion:no-preference){{g,g:last-child{{visibility:hidden;"
        f"animation:show {total:.1f}s step-end infinite}}}}",
        "</style>",
        f'<rect width="{width}" height="{height}" rx="8" fill="#2e3440"/>',
    ]
    for number, screen in enumerate(screens):
        lines.append(f'<g style="animation-delay:{number * SECONDS:.1f}s">')
        for row, text in enumerate(screen):
            if not text.strip():
                continue
            kind = ' class="c"' if text.startswith("$ ") else ""
            y = 16 + (row + 1) * HEIGHT - 5
            # Of the same width wherever the font is missing.
            length = len(text.rstrip()) * WIDTH
            lines.append(
                f'<text x="16" y="{y}" textLength="{length}"{kind}>'
                f"{html.escape(text.rstrip())}</text>")
        lines.append("</g>")
    return "\n".join(lines + ["</svg>"])


if len(sys.argv) != 2 or not os.path.isdir(sys.argv[1]):
    sys.exit(__doc__)
main(sys.argv[1])
