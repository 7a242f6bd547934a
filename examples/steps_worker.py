"""A worker whose run has parts that must not be done twice: each one is a step.

It builds a release and announces it, both with another service. If the worker is killed, the next
one gets the results that are stored, and does only what is left. It needs worker.py beside it and
nothing but the standard library. Settings: those of worker.py, and SERVICE_URL. To try it, start
steps_service.py: docs/guides/workers.md says how.
"""

import json
import os
import urllib.request
import uuid

import worker

SERVICE_URL = worker.setting("SERVICE_URL", "the address of the service that its steps use")
# The run belongs to another worker now, or it is over. Any other refusal fails the run.
LOST = ("superseded", "cancelled", "ended", "lease_lost", "step_late")


def step(held, name, do):
    """Returns the result of the step. Calls `do` only if no earlier worker has a result."""
    path = f"/v1/runs/{held.run['id']}/steps/{name}"
    # Repeated requests have the same start_id, so a lost answer does no harm.
    start = {"lease_token": held.token, "start_id": str(uuid.uuid4())}
    status, answer = worker.call("PUT", path, {**start, "state": "started", "in_doubt": "repeat"})
    if status == 409 and answer["code"] == "step_in_doubt":
        # An earlier worker began it and was lost; nobody knows how far it came. This worker does
        # it again with the same key, by which the service recognises the repeat.
        status, answer = worker.call("PUT", path, {**start, "take_over": True})
    answer = accepted(status, answer)
    if answer["state"] == "done":
        return answer["result"]
    if answer["state"] == "failed":
        raise RuntimeError(f"step {name} failed before: {answer['error']}")
    if held.lost.is_set():
        raise worker.Lost
    result = do(answer["key"])
    # Sent even if the run was lost meanwhile: the next worker then need not do it again.
    accepted(*worker.call("PUT", path, {**start, "result": result}))
    return result


def accepted(status, answer):
    if status == 409 and answer["code"] in LOST:
        print(f"stop: {answer['code']}", flush=True)
        raise worker.Lost
    if status != 200:
        raise RuntimeError(answer["detail"])
    return answer


def ask(what, key, question):
    """One request to the service, which repeats its answer for a key that it knows."""
    request = urllib.request.Request(
        f"{SERVICE_URL}/{what}",
        data=json.dumps(question).encode(),
        headers={"content-type": "application/json", "idempotency-key": key},
    )
    with urllib.request.urlopen(request, timeout=600) as answer:
        return json.loads(answer.read())


def work(held):
    version = held.run["input"]["version"]
    package = step(held, "build", lambda key: ask("build", key, {"version": version}))
    step(held, "announce", lambda key: ask("announce", key, {"package": package}))
    return {"outcome": "succeeded", "summary": f"Released {version}.", "result": package}


if __name__ == "__main__":
    worker.main(work)
