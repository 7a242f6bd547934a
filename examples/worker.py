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

URL = os.environ["HOLDFAST_URL"]
TOKEN = os.environ["HOLDFAST_TOKEN"]
RUNS = int(os.environ.get("WORKER_RUNS", "0"))
WAIT_MS = 20_000


def post(path, body, extra_headers=None):
    """Returns (status, JSON). Tries again while the server cannot be reached or is not ready."""
    request = urllib.request.Request(
        URL + path,
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


def keep_lease(run_id, lease_token, done, lost):
    """Renews the lease until the work is done. Sets `lost` when this worker lost the run."""
    while not done.is_set():
        status, answer = post(
            f"/v1/runs/{run_id}/heartbeat", {"lease_token": lease_token, "wait_ms": 1000}
        )
        if status != 200:
            if not done.is_set():
                print(f"stop: {answer['code']}", flush=True)
                lost.set()
            return


def work(run, lost):
    """Your work goes here. Check `lost` regularly, and stop when it is set."""
    print(f"working on {run['type']} of {run['key']}", flush=True)
    lost.wait(float(os.environ.get("WORKER_SECONDS", "1")))
    return {"outcome": "succeeded", "verdict": "success", "summary": "Nothing to object to."}


def one_run():
    # The server may have leased a run although its answer was lost. All tries of one request have
    # the same key, so the repeat gets the same run.
    key = {"idempotency-key": str(uuid.uuid4())}
    status, leased = post("/v1/runs/lease", {"worker": "python", "wait_ms": WAIT_MS}, key)
    if status == 204:
        return False
    if status != 200:
        raise SystemExit(leased["detail"])
    run, token = leased["run"], leased["lease"]["token"]
    done, lost = threading.Event(), threading.Event()
    keeper = threading.Thread(target=keep_lease, args=(run["id"], token, done, lost), daemon=True)
    keeper.start()
    result = work(run, lost)
    done.set()
    if not lost.is_set():
        status, answer = post(f"/v1/runs/{run['id']}/complete", {"lease_token": token, **result})
        print(answer["state"] if status == 200 else answer["code"], flush=True)
    return True


if __name__ == "__main__":
    finished = 0
    while RUNS == 0 or finished < RUNS:
        finished += one_run()
