"""A tensor in two processes, each of which quantizes its rows to NVFP4 with the largest magnitude of both.

Together they make the bytes of the whole.
"""

import multiprocessing
from multiprocessing.connection import Connection

import numpy as np

import mxcast


def rows(rank: int) -> np.ndarray:
    """The rows of a process, FP32."""
    return np.random.default_rng(rank).standard_normal((64, 256), np.float32) * (rank + 1)


def work(rank: int, other: Connection, parent: Connection) -> None:
    """Quantize the rows of one process."""

    def largest_of_all(mine: float) -> float:
        """Result of an all-reduce with the maximum, such as torch.distributed's."""
        other.send(mine)
        return max(mine, other.recv())

    q = mxcast.quantize(rows(rank), "nvfp4", tensor_amax=largest_of_all)
    parent.send((q.scales, q.codes, q.tensor_scale))


def main() -> None:
    context = multiprocessing.get_context("spawn")
    between, results = context.Pipe(), [context.Pipe() for _ in range(2)]
    processes = [context.Process(target=work, args=(rank, between[rank], results[rank][1])) for rank in range(2)]
    for process in processes:
        process.start()
    parts = [results[rank][0].recv() for rank in range(2)]
    for process in processes:
        process.join()
    whole = mxcast.quantize(np.concatenate([rows(0), rows(1)]), "nvfp4")
    scales, codes = (np.concatenate([part[place] for part in parts]) for place in range(2))
    assert np.array_equal(scales, whole.scales) and np.array_equal(codes, whole.codes)
    assert all(part[2] == whole.tensor_scale for part in parts)
    alone = mxcast.quantize(rows(0), "nvfp4")
    differing = np.count_nonzero(alone.scales != parts[0][0])
    print(f"two processes made the {whole.codes.size} codes of the whole tensor")
    print(
        f"with its own largest magnitude the first would have other scales in {differing} of {alone.scales.size} blocks"
    )


if __name__ == "__main__":
    main()
