"""An answer's figure, drawn with matplotlib: axes in units people read, the verdict above."""

# matplotlib's keywords have no types.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from typing import TYPE_CHECKING, Callable, Sequence

from ._errors import Failure
from ._results import AllreduceResult, CompareResult, CurvePoint, SimulateResult, Timeline, TuneResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ._answer import Answer

_MS = 1e-3  # of microseconds
_MIB = 2.0**20


def draw(answer: Answer, axes: Axes | None) -> Axes:
    drawn_by: dict[type[Answer], Callable[..., None]] = {
        SimulateResult: _step, Timeline: _timeline, TuneResult: _curve, AllreduceResult: _busbw, CompareResult: _speeds}
    figure = drawn_by.get(type(answer))
    if figure is None:
        raise Failure.of(f"{type(answer).__name__} has no figure. to_frame() and `text` have its figures")
    if axes is None:
        axes = _new_axes()
    figure(answer, axes)
    return axes


def _new_axes() -> Axes:
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise Failure.of("plot() needs matplotlib, which is not here. Install it: pip install matplotlib") from error
    return pyplot.subplots(figsize=(9.0, 3.6), layout="constrained")[1]


def _title(axes: Axes, verdict: str) -> None:
    axes.set_title(verdict, loc="left", fontsize="medium", wrap=True)


def _step(answer: SimulateResult, axes: Axes) -> None:
    _timeline(answer.timeline(), axes)
    _title(axes, answer.verdict)


def _timeline(answer: Timeline, axes: Axes) -> None:
    """A row for each track of each rank that is drawn, a bar for each span; buckets by number."""
    rows: list[str] = []
    colours: dict[str, str] = {}
    for rank in answer.ranks:
        for track in dict.fromkeys(span.track for span in rank.spans):
            spans = [span for span in rank.spans if span.track == track]
            row = len(rows)
            rows.append(track if len(answer.ranks) == 1 else f"rank {rank.rank}: {track}")
            edge = "white" if track == "communication" else "none"  # buckets follow one another without a gap
            for span in spans:
                # All spans of a name alike: forward, backward, all-reduce of whatever bucket.
                colour = colours.setdefault(_kind(span.name), f"C{len(colours) % 10}")
                axes.barh(row, (span.end_us - span.start_us) * _MS, left=span.start_us * _MS, height=0.7, color=colour,
                          edgecolor=edge, linewidth=0.8)
                if span.bucket is not None and track == "communication":
                    axes.text((span.start_us + span.end_us) / 2 * _MS, row, str(span.bucket), ha="center", va="center",
                              fontsize="small", color="white", clip_on=True)
    axes.set_yticks(range(len(rows)), rows)
    axes.invert_yaxis()
    axes.set_xlabel("ms")
    for name, colour in colours.items():
        axes.barh(0, 0, color=colour, label=name)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=5, fontsize="small", frameon=False)


def _kind(name: str) -> str:
    return name.rstrip("0123456789 ") or name


def _curve(answer: TuneResult, axes: Axes) -> None:
    """The step by cap: a bucketing is a stretch of caps; today's step, the least gain to be seen, what is recommended."""
    points = [point for point in answer.curve if point.reachable and point.bucket_cap_mb is not None]
    edges, steps = _stretches(points)
    axes.plot(edges, steps, color="C0", label="step by bucket_cap_mb")
    today_us = answer.today.iteration_us if answer.today else answer.default.iteration_us
    axes.axhline(today_us * _MS, color="0.4", linestyle="--", label="today" if answer.today else "default")
    chosen = answer.recommended
    measurable = chosen.measurable_us
    if measurable is not None:
        axes.axhspan((today_us - measurable) * _MS, today_us * _MS, color="C1", alpha=0.15, linewidth=0,
                     label="less than can be measured")
    if chosen.bucket_cap_mb is not None and chosen.gain_us is not None:
        gain = chosen.gain_us
        step = (today_us - gain.value) * _MS
        axes.errorbar([chosen.bucket_cap_mb], [step], yerr=[[(gain.high - gain.value) * _MS], [(gain.value - gain.low) * _MS]],
                      fmt="o", color="C3", capsize=4, label=f"recommended: {chosen.bucket_cap_mb:g} MiB, with its interval")
    axes.axhline(answer.lower_bound_us * _MS, color="C2", linestyle=":", label="collectives took no time")
    axes.set_xscale("log", base=2)
    largest = max((point.cap_range_mb[0] for point in points), default=1.0)  # from there on one bucketing holds for any cap
    axes.set_xlim(0.25, 2 * largest)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("bucket_cap_mb (MiB)")
    axes.set_ylabel("step (ms)")
    axes.legend(fontsize="small")
    _title(axes, answer.verdict)


def _stretches(points: Sequence[CurvePoint]) -> tuple[list[float], list[float]]:
    """Ends of each bucketing's caps, and its step at both."""
    edges: list[float] = []
    steps: list[float] = []
    for point in sorted(points, key=lambda one: one.cap_range_mb):
        edges += point.cap_range_mb
        steps += [point.iteration_us * _MS] * len(point.cap_range_mb)
    return edges, steps


def _busbw(answer: AllreduceResult, axes: Axes) -> None:
    """Bus bandwidth by size, and its 80 % interval."""
    rows = [row for row in answer.rows if row.size_bytes > 0]
    sizes = [row.size_bytes / _MIB for row in rows]
    axes.plot(sizes, [row.busbw_gbps for row in rows], marker=".", color="C0", label="predicted")
    axes.fill_between(sizes, [row.busbw_gbps * row.time_us / row.high_us for row in rows],
                      [row.busbw_gbps * row.time_us / row.low_us for row in rows], color="C0", alpha=0.15, linewidth=0,
                      label="80 % interval")
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("size (MiB)")
    axes.set_ylabel("busbw (GB/s)")
    axes.set_ylim(bottom=0)
    axes.legend(fontsize="small")
    _title(axes, answer.verdict)


def _speeds(answer: CompareResult, axes: Axes) -> None:
    """How fast each candidate trains, the fastest on top."""
    rows = [(answer.rows or ())[index] for index in answer.by_speed or ()]
    if not rows:
        raise Failure.of("of several workloads there is no one figure. `workloads` and `mix` have their rows")
    speeds = [row.samples_per_second if row.samples_per_second is not None else 1e6 / (row.iteration_us or 1) for row in rows]
    axes.barh(range(len(rows)), speeds, color="C0")
    axes.set_yticks(range(len(rows)), [row.label for row in rows])
    axes.invert_yaxis()
    axes.set_xlabel("samples/s" if rows[0].samples_per_second is not None else "steps/s")
    _title(axes, answer.verdict)
