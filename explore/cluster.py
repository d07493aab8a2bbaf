"""The same jobs on a Dask cluster. Its workers need this package and its tools; a job whose worker dies is given to
another.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence

from ..host.errors import ToolError, ToolMissing
from . import jobs
from .points import Point

__all__ = ["on_cluster"]

ADVICE = "pip install '.[explore]' in a checkout of mxcast"
PATIENCE = 10.0
"""Seconds for the scheduler to answer."""
PATIENCE_FOR_WORKER = 30.0
"""Seconds for its first worker."""


def on_cluster(points: Sequence[Point], address: str, force: bool = False) -> Generator[tuple[Point, jobs.Outcome]]:
    """Answer points on the workers of the scheduler at ``address``, in the order in which they end. Results come back
    over the network and are kept here too, so that no file system has to be shared. Raises `ToolError` where nothing
    answers there.
    """
    try:
        from distributed import Client, as_completed
    except ImportError:
        raise ToolMissing(f"Dask is missing: {ADVICE}") from None
    try:
        client = Client(address, timeout=PATIENCE)
    except (OSError, ValueError, TimeoutError) as error:
        raise ToolError(f"no Dask scheduler answers at {address}: {error}") from None
    with client:
        try:
            client.wait_for_workers(1, timeout=PATIENCE_FOR_WORKER)
        except TimeoutError:
            raise ToolError(
                f"the scheduler at {address} has no workers: start one with 'dask worker {address}'"
            ) from None
        asked = {f"mxcast-{point.id}": point for point in points}
        futures = [
            client.submit(_work, json.dumps(point.to_dict()), force, key=name, pure=False)
            for name, point in asked.items()
        ]
        for future in as_completed(futures):
            point = asked[future.key]
            if future.status == "finished":
                key, said = json.loads(future.result())
                outcome = jobs.Outcome(**said)
                if outcome.done and key != jobs.key(point):
                    outcome = jobs.Outcome(
                        error="the worker has another version of mxcast or of its tools: its result is not taken"
                    )
            else:
                outcome = jobs.Outcome(error=f"the cluster gave the job up: {future.exception()}")
            if outcome.result is not None:
                jobs.keep(point, outcome.result)
            yield point, outcome
            future.release()


def _work(point: str, force: bool) -> str:
    """A job, on a worker: the key of its result there, and its outcome."""
    asked = Point.from_dict(json.loads(point))
    outcome = jobs.outcome(asked, force)
    return json.dumps([jobs.key(asked) if outcome.done else None, vars(outcome)])
