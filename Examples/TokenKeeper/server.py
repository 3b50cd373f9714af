# SPDX-License-Identifier: Apache-2.0
"""usage: server.py

A server to log in to, on a free port of loopback, whose number it prints. The password is `guest`.
"""

import http.server
import json
import secrets

TOKENS = {}


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path != "/login" or body["password"] != "guest":
            return self.answer(401, "")
        token = secrets.token_hex(16)
        TOKENS[token] = body["name"]
        return self.answer(200, token)

    def do_GET(self):
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        name = TOKENS.get(token) if self.path == "/me" else None
        return self.answer(200, name) if name else self.answer(401, "")

    def answer(self, status, text):
        self.send_response(status)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
