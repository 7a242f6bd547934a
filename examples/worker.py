"""A Holdfast worker with nothing but the standard library.

Leases pending runs, keeps the lease in a thread while it works, stops when the run is taken away,
and completes. Settings: HOLDFAST_URL, HOLDFAST_TOKEN (scope worker), and for trying it out
WORKER_RUNS: how many runs to do before ending (default: no end).
"""

import json
import os
import threading
import time
import urllib.error
import urllib.request
import uuid


def setting(name, what):
    """The value of a variable. Ends the program if it is not set."""
    value = os.environ.get(name, "")
    if value == "":
        raise SystemExit(f"{name} is not set. Set it to {what}.")
    return value


URL = setting("HOLDFAST_URL", "the address of the server, such as http://127.0.0.1:8787")
TOKEN = setting("HOLDFAST_TOKEN", "a token from: npx holdfast token create --scope worker")
RUNS = int(os.environ.get("WORKER_RUNS", "0"))
WAIT_MS = 20_000


class Lost(Exception):
    """This worker has lost its run: stop working on it."""


class Held:
    """A run that this worker has leased. `lost` is set as soon as it is known to be lost."""

    def __init__(self, run, token):
        self.run = run
        self.token = token
        self.lost = threading.Event()


def call(method, path, body, extra_headers=None):
    """Returns (status, JSON). Tries again while the server cannot be reached or is not ready."""
    request = urllib.request.Request(
        URL + path,
        method=method,
        data=json.dumps(body).encode(),
        headers={
            "authorization": f"Bearer {TOKEN}",
            "content-type": "application/json",
            **(extra_headers or {}),
        },
    )
    while True:
        try:
            # Longer than the longest wait_ms that this worker sends.
            with urllib.request.urlopen(request, timeout=WAIT_MS / 1000 + 30) as answer:
                return answer.status, json.loads(answer.read() or "null")
        except urllib.error.HTTPError as error:
            if error.code != 503:
                return error.code, json.loads(error.read())
        except OSError:
            pass
        time.sleep(1)


def keep_lease(held, done):
    """Renews the lease until the work is done. Sets `lost` when this worker lost the run."""
    path = f"/v1/runs/{held.run['id']}/heartbeat"
    while not done.is_set():
        status, answer = call("POST", path, {"lease_token": held.token, "wait_ms": 1000})
        if status != 200:
            if not done.is_set():
                print(f"stop: {answer['code']}", flush=True)
                held.lost.set()
            return


def work(held):
    """Your work goes here. Check `held.lost` regularly, and raise Lost when it is set."""
    print(f"working on {held.run['type']} of {held.run['key']}", flush=True)
    if held.lost.wait(float(os.environ.get("WORKER_SECONDS", "1"))):
        raise Lost
    return {"outcome": "succeeded", "verdict": "success", "summary": "Nothing to object to."}


def result_of(do, held):
    """How the run ended. None if this worker has lost it."""
    try:
        return do(held)
    except Lost:
        return None
    except Exception as error:
        return {"outcome": "failed", "error": {"code": "worker_error", "text": str(error)}}


def one_run(do):
    # The server may have leased a run although its answer was lost. All tries of one request have
    # the same key, so the repeat gets the same run.
    key = {"idempotency-key": str(uuid.uuid4())}
    body = {"worker": "python", "wait_ms": WAIT_MS}
    status, leased = call("POST", "/v1/runs/lease", body, key)
    if status == 204:
        return False
    if status != 200:
        raise SystemExit(leased["detail"])
    held = Held(leased["run"], leased["lease"]["token"])
    done = threading.Event()
    threading.Thread(target=keep_lease, args=(held, done), daemon=True).start()
    result = result_of(do, held)
    done.set()
    if result is not None and not held.lost.is_set():
        body = {"lease_token": held.token, **result}
        status, answer = call("POST", f"/v1/runs/{held.run['id']}/complete", body)
        print(answer["state"] if status == 200 else answer["code"], flush=True)
    return True


def main(do):
    finished = 0
    while RUNS == 0 or finished < RUNS:
        finished += one_run(do)


if __name__ == "__main__":
    main(work)
