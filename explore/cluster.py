"""Jobs on a Dask cluster. Its workers need this package and its tools; a job of a dead worker goes to another."""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence

from ..host import cluster
from . import jobs
from .points import Point


def on_cluster(points: Sequence[Point], address: str, force: bool = False) -> Generator[tuple[Point, jobs.Outcome]]:
    """Outcomes of points on the workers of the scheduler at ``address``, in the order in which they end. Results are
    also cached on this machine, so no shared file system is needed. Raises the errors of `host.cluster.on_cluster`.
    """
    asked = {point.id: point for point in points}
    items = {id: (json.dumps(point.to_dict()), force) for id, point in asked.items()}
    for id, result, reason in cluster.on_cluster(_work, items, address):
        point, outcome = asked[id], jobs.Outcome(error=reason)
        if result is not None:
            key, said = json.loads(result)
            outcome = jobs.Outcome(**said)
            if outcome.done and key != jobs.key(point):
                outcome = jobs.Outcome(
                    error="the worker has another version of mxcast or of its tools: its result is not taken"
                )
        if outcome.result is not None:
            jobs.keep(point, outcome.result)
        yield point, outcome


def _work(point: str, force: bool) -> str:
    """Run a job on a worker: the key of its result there, and its outcome."""
    asked = Point.from_dict(json.loads(point))
    outcome = jobs.outcome(asked, force)
    return json.dumps([jobs.key(asked) if outcome.done else None, vars(outcome)])
