"""Work on a Dask cluster, whose workers need this package. If a worker dies, another one takes its job."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Generator, Mapping

from .errors import ToolError, ToolMissing

ADVICE = "pip install '.[explore]' in a checkout of mxcast"
PATIENCE = 10.0
"""Seconds for the scheduler to answer."""
PATIENCE_FOR_WORKER = 30.0
"""Seconds for its first worker."""


def on_cluster(
    work: Callable[..., str], items: Mapping[str, tuple[object, ...]], address: str
) -> Generator[tuple[str, str | None, str]]:
    """Call ``work`` with the arguments of each item on the workers of the scheduler at ``address``. As the calls end,
    yields the name of the item, the result or None, and the reason of a failure.

    Raises `ToolError` if no scheduler answers, and `ToolMissing` without Dask.
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
        # the scheduler gives every client that asks for a key the same result
        asked = {f"mxcast-{name}-{secrets.token_hex(8)}": name for name in items}
        futures = [client.submit(work, *items[name], key=key, pure=False) for key, name in asked.items()]
        for future in as_completed(futures):
            if future.status == "finished":
                yield asked[future.key], future.result(), ""
            else:
                yield asked[future.key], None, f"the cluster gave the job up: {future.exception()}"
            future.release()
