"""Sweeps on a Dask cluster: a scheduler and workers that are processes of their own."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

import pytest

from conftest import PAIR, wait_until
from peerlane import Fabric, sweep_loads
from peerlane.varying.cluster import Cluster, ClusterError
from peerlane.varying.sweep import sweep_points

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from conftest import Run, Write
    from peerlane.progress import Progress

pytestmark = [
    pytest.mark.filterwarnings("default"),  # Dask's own
    pytest.mark.xdist_group("cluster"),
]

STARTS_S = 60
"""Seconds in which a process of Dask must be ready."""


@contextmanager
def dask(*arguments: str, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "dask", *arguments]
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def scheduler(folder: Path) -> Iterator[str]:
    """A scheduler on a free port of the loopback; its address."""
    place = folder / "scheduler.json"
    options = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file")
    with dask("scheduler", *options, str(place), folder=folder) as process:
        wait_until(
            lambda: place.exists() and place.read_bytes().rstrip().endswith(b"}"), process, STARTS_S
        )
        yield json.loads(place.read_text(encoding="utf-8"))["address"]


def worker(address: str, folder: Path) -> AbstractContextManager[subprocess.Popen[bytes]]:
    return dask("worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard", folder=folder)


@pytest.mark.seconds(15)
def test_every_point_is_there_once_though_a_worker_dies(
    peerlane: Run, scenario: Write, tmp_path: Path
) -> None:
    text = PAIR.replace('size = "16 KiB"', 'size = "256 KiB"\nwindow = "64 KiB"')
    vary = {"devices.a.tags": "8..32*2", "seed": "1..20+1"}
    alone = sweep_points(text, vary)
    with scheduler(tmp_path) as address:
        with worker(address, tmp_path) as one, worker(address, tmp_path) as other:
            cluster = Cluster(address)
            cluster._client.wait_for_workers(2, timeout=STARTS_S)
            cluster.close()

            def kill(share: Progress) -> None:
                if share.now == "10 of 60 points":
                    one.kill()

            found = sweep_points(
                text, vary, scheduler=address, out=tmp_path / "o.csv", progress=kill
            )
            assert one.wait() != 0
            assert found == alone
            assert found.workers == 2
            rows = (tmp_path / "o.csv").read_text(encoding="utf-8").splitlines()[1:]
            assert len(set(rows)) == len(rows) == 60

            ring = Fabric("ring").network("n", shape="ring", size=3, routing="dimension-order")
            ring.traffic("n", load="1 GB/s", message="256 B", duration="4 us", senders="routers")
            loads = ("0.5 GB/s", "1 GB/s")
            assert sweep_loads(ring, loads, scheduler=address) == sweep_loads(ring, loads)

            outcome = peerlane(
                *("sweep", scenario(text=text), "--vary", "seed=1,2", "--scheduler", address)
            ).succeeds()
            assert "2 points by 1 thread of workers" in outcome.err
            assert "of overhead" in outcome.err
            other.kill()
            other.wait()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("peerlane.varying.cluster.WORKERS_S", 0.5)
            with pytest.raises(ClusterError, match=f"has no workers; .* `dask worker {address}`"):
                sweep_points(text, vary, scheduler=address)


def test_a_worker_of_another_version_is_refused() -> None:
    answers = {"tcp://w1": "0.0.1"}
    with pytest.raises(ClusterError, match=r"the worker at tcp://w1 has peerlane 0\.0\.1; install"):
        Cluster._check_versions(answers)
    missing = {"tcp://w2": ModuleNotFoundError("No module named 'peerlane'")}
    with pytest.raises(ClusterError, match=r"tcp://w2 cannot use Peerlane \(No module named"):
        Cluster._check_versions(missing)


def test_who_is_no_scheduler_is_told_in_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("peerlane.varying.cluster.ANSWER_S", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(ClusterError, match=f"no Dask scheduler answers at {address}"):
            Cluster(address)


@pytest.mark.parametrize("address", ["127.0.0.1:1", "nonsense", "a:b:c", "tcp://127.0.0.1"])
def test_an_address_without_a_scheduler_is_refused(address: str) -> None:
    with pytest.raises(ClusterError, match=f"no Dask scheduler answers at {address}"):
        Cluster(address)
