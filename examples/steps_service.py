"""Stands in for the service that steps_worker.py uses, so that the worker can be tried.

Like a real one, it does what it is asked once per idempotency key, and repeats its answer for a key
that it knows. It prints what it does. PORT is its port (default: 8792).
"""

import json
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ANSWERS = {"build": {"file": "widgets.zip"}, "announce": {"posted": True}}
known = set()


class Service(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        what, key = self.path[1:], self.headers["idempotency-key"]
        print(f"{what}: {'repeated' if key in known else 'done'}", flush=True)
        known.add(key)
        answer = json.dumps(ANSWERS[what]).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "8792"))), Service)
    print(f"service listening on http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
