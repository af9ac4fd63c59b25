"""Fits keys of a scenario to measured numbers, by runs of the scenario."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations, product
from math import expm1, sqrt
from os import PathLike
from statistics import fmean
from typing import TYPE_CHECKING

from peerlane.calibrating.calibration import Calibration, Fitted, Judged, Neighbour
from peerlane.calibrating.key import CalibrationError, free_keys
from peerlane.calibrating.model import Model
from peerlane.errors import optional
from peerlane.fabric.variant import parsed, variant
from peerlane.measured.point import Point, of_rows, paths_of
from peerlane.measured.reading import measured as read
from peerlane.measured.row import LATENCY, RATE
from peerlane.progress import Progress
from peerlane.varying.crew import crew
from peerlane.varying.work import Study

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from concurrent.futures import Executor

    from peerlane._core import Scenario
    from peerlane.calibrating.certainty import Certainty
    from peerlane.calibrating.fit import Fit, Search
    from peerlane.fabric.settings import Setting
    from peerlane.measured.row import Row

_LONGEST_NS = 1000.0
"""The longest time that is tried for a key, if no latency was measured."""
_SPENT = (RATE, f"{LATENCY}.mean")
_END = 1e-3


def calibrate(  # noqa: PLR0913 - each is an option
    text: str,
    measured: str | PathLike[str] | Sequence[Point | Row],
    free: str | Iterable[str],
    *,
    source: str = "<text>",
    settings: Mapping[str, Setting] | None = None,
    seed: int | None = None,
    hold_back: Iterable[int] = (),
    executor: Executor | None = None,
    progress: Callable[[Progress], object] | None = None,
) -> Calibration:
    """Fits keys of a scenario to measured points, and finds keys that the points do not determine.

    Args:
        text: The scenario, as TOML.
        measured: A file of measured numbers, or its content.
        free: The keys to fit: "devices.d.idle_cycles", or "devices.d.datapath,hosts.h.latency", or
            a key with the values to try: "hosts.h.latency=50 ns..400 ns".
        source: The name of the scenario in messages.
        settings: New values of keys, by their paths, which are not fitted.
        seed: The seed of all runs; the scenario's own, if absent.
        hold_back: The positions, from 1 on, of points that are not used for the fit, but are
            compared with it.
        executor: The workers, such as `ProcessPoolExecutor()` or `Client.get_executor()` of Dask.
        progress: A function that is called with the share that is done.

    Raises:
        CalibrationError: A key has no range, there are too few points, or a point has no simulated
            value.
        FileError: The measured numbers have a wrong form, or a metric that the scenario does not
            have.
        MissingPackageError: SciPy is not installed (`pip install 'peerlane[calibrate]'`).
        ScenarioError: The scenario cannot be built, or does not have a key.
    """
    with optional("calibrate needs SciPy", "calibrate"):
        from peerlane.calibrating.certainty import certainty  # noqa: PLC0415 - as `Search`
        from peerlane.calibrating.fit import Search  # noqa: PLC0415 - loads SciPy, which is optional
    scenario = parsed(text, source)
    scenario.remove("expect")  # expectations are for the values before the fit
    before = variant(scenario, settings or {}, seed=seed).result()
    scenario.update(dict(settings or {}))
    points = _points(measured, paths_of(before.to_json()), set(hold_back))
    for one in points:
        variant(scenario, one.settings, seed=seed, warns=False)
    times = [float(one.value) for one in points if one.metric.split(".")[-2:-1] == ["latency_ns"]]
    keys = free_keys(scenario, free, max(times, default=_LONGEST_NS))
    for one, key in product(points, keys):
        if any(scenario.covers(*pair) for pair in permutations((key.path, *one.settings), 2)):
            raise CalibrationError(
                f"{one.where}: the point sets {key.path}, which is free; leave out one of them"
            )
    spent = [one for one in points if not one.held_back]
    if len(spent) < len(keys):
        raise CalibrationError(
            f"{len(spent)} points cannot determine {len(keys)} keys; measure more, or name fewer"
        )
    study = Study(scenario.to_toml(), source, tuple(dict.fromkeys(one.metric for one in points)))
    with crew(executor=executor) as workers:
        reports = _Reports(progress)
        model = Model(study, spent, seed, workers, reports)
        search = Search(model, keys)
        best, *others = search.fits(reports.stage)
        values = search.values(best.choices, best.numbers)
        model.check(values)
        around = list(search.neighbours(best))
        known = certainty(search, best, others, around)
        held = Model(study, [one for one in points if one.held_back], seed, workers, reports)
        held.check(values)
        numbers = [iter(one.simulated([values])[0]) for one in (model, held)]
    left = iter(known.left_out)
    judged = tuple(
        _judged(place, one, next(numbers[one.held_back]), None if one.held_back else next(left))
        for place, one in enumerate(points, 1)
    )
    refused = {key for one in known.refusals for key in one.keys}
    fitted = {
        **_chosen(search, best, others, scenario),
        **_numeric(search, best, around, known, scenario),
    }
    return Calibration(
        name=before.name,
        values=tuple(
            replace(fitted[key.path], value=None, low=None, high=None, neighbours=())
            if key.path in refused
            else fitted[key.path]
            for key in keys
        ),
        refused=known.refusals,
        points=judged,
        misfit_percent=_spread([one.error_percent for one in judged if not one.held_back]),
        predicted_percent=_predicted(judged),
        noise_percent=100 * known.noise,
        noise_is_assumed=known.is_assumed,
        simulations=model.simulations + held.simulations,
    )


def _points(
    measured: str | PathLike[str] | Sequence[Point | Row], paths: Sequence[str], hold_back: set[int]
) -> list[Point]:
    """The points of all measured numbers that belong to metrics of the scenario.

    Raises:
        CalibrationError: There are no points, or a point that is to be held back does not exist.
    """
    rows, source = (
        (read(measured), str(measured))
        if isinstance(measured, str | PathLike)
        else (measured, "the points")
    )
    # If a row of a tool has several latencies, only the mean is used, because all latencies of the
    # row are of the same transfers.
    found = [
        point
        for row, point in of_rows(rows, paths, source)
        if point is not None and (row is None or row.field in _SPENT)
    ]
    if not found:
        raise CalibrationError(
            f"{source}: no row is named as a workload of the scenario; write a TOML file with file,"
            " row and metric in [[points]]"
        )
    if wrong := [number for number in sorted(hold_back) if not 1 <= number <= len(found)]:
        raise CalibrationError(
            f"there is no point {wrong[0]}; points are numbered 1 to {len(found)}"
        )
    return [
        replace(one, held_back=one.held_back or number in hold_back)
        for number, one in enumerate(found, 1)
    ]


def _judged(number: int, point: Point, simulated: float | None, left_out: float | None) -> Judged:
    assert simulated is not None  # noqa: S101 - `Model.check` has refused it
    measured = float(point.value)
    return Judged(
        number=number,
        metric=point.metric,
        settings=point.settings,
        measured=measured,
        simulated=simulated,
        error_percent=100 * (simulated / measured - 1),
        left_out_percent=None if left_out is None else 100 * expm1(left_out),
        held_back=point.held_back,
    )


def _chosen(
    search: Search, best: Fit, others: Sequence[Fit], scenario: Scenario
) -> dict[str, Fitted]:
    """The keys with named values: for each, the chosen value and values that fit nearly as well."""
    found = {}
    for place, key in enumerate(search.chosen):
        near = {other.choices[place]: _misfit(other) for other in reversed(others)}
        near.pop(best.choices[place], None)
        around = tuple(Neighbour(value, near[value]) for value in key.choices if value in near)
        before = scenario.effective(key.path)[0]
        found[key.path] = Fitted(key.path, before, best.choices[place], neighbours=around)
    return found


def _numeric(
    search: Search,
    best: Fit,
    around: Sequence[tuple[int, Fit]],
    known: Certainty,
    scenario: Scenario,
) -> dict[str, Fitted]:
    """The fitted numbers with their intervals; for whole numbers, the misfits of neighbours."""
    found = {}
    for place, (key, number) in enumerate(zip(search.numeric, best.numbers, strict=True)):
        half = known.half_widths[place]
        has_interval = half is not None and not key.is_whole
        end = _END * (key.high - key.low)
        found[key.path] = Fitted(
            key.path,
            scenario.effective(key.path)[0],
            key.written(float(number)),
            low=key.written(max(float(number) - half, key.low)) if has_interval else None,  # type: ignore[operator]
            high=key.written(float(number) + half) if has_interval else None,  # type: ignore[operator]
            neighbours=tuple(
                Neighbour(key.written(float(fit.numbers[place])), _misfit(fit), known.is_alike(fit))
                for of, fit in around
                if of == place
            ),
            at_end=bool(number >= key.high - end or (key.low > 0 and number <= key.low + end)),
        )
    return found


def _misfit(fit: Fit) -> float:
    """The misfit of a fit: the root mean square of its errors, in percent."""
    return _spread([100 * float(one) for one in fit.residuals])


def _spread(errors: Sequence[float]) -> float:
    """The root mean square of some errors."""
    return sqrt(fmean(one**2 for one in errors))


def _predicted(points: Iterable[Judged]) -> float | None:
    held = [one.error_percent for one in points if one.held_back]
    left = [one.left_out_percent for one in points if one.left_out_percent is not None]
    return _spread(held or left) if held or left else None


class _Reports:
    """The progress of a calibration, whose number of runs is not known in advance."""

    def __init__(self, progress: Callable[[Progress], object] | None) -> None:
        self._progress = progress
        self._runs = 0
        self._share = 0.0

    def __call__(self) -> None:
        self._runs += 1
        self.stage(self._share)

    def stage(self, share: float) -> None:
        """Reports how much of the search is done, as a share."""
        self._share = share
        if self._progress is not None:
            self._progress(Progress(share, f"{self._runs:,} runs"))
