"""Draws the plot of an answer with matplotlib: axes in readable units, the verdict as the title."""

# matplotlib's keywords have no types.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Iterable, Mapping, Protocol, Sequence

from ._errors import Failure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MS = 1e-3  # ms per microsecond
_MIB = 2.0**20


class Drawn(Protocol):
    """The parts of an answer that a plot needs."""

    @property
    def document(self) -> Mapping[str, Any]: ...

    @property
    def verdict(self) -> str: ...

    def timeline(self) -> Drawn: ...


def draw(answer: Drawn, axes: Axes | None) -> Axes:
    drawn_by: dict[str, Callable[[Drawn, Axes], None]] = {
        "ddpsim.result/1": _step,
        "ddpsim.timeline/1": _timeline,
        "ddpsim.tune/1": _curve,
        "ddpsim.allreduce/1": _busbw,
        "ddpsim.compare/1": _speeds,
    }
    figure = drawn_by.get(answer.document["schema"])
    if figure is None:
        raise Failure(f"{type(answer).__name__} has no plot", "Use to_frame() or `text` for its numbers")
    if axes is None:
        axes = _new_axes()
    figure(answer, axes)
    return axes


def _new_axes() -> Axes:
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise Failure("plot() needs matplotlib, which is not installed", "Run: pip install matplotlib") from error
    return pyplot.subplots(figsize=(9.0, 3.6), layout="constrained")[1]


def _title(axes: Axes, verdict: str) -> None:
    axes.set_title(verdict, loc="left", fontsize="medium", wrap=True)


def _step(answer: Drawn, axes: Axes) -> None:
    _timeline(answer.timeline(), axes)
    _title(axes, answer.verdict)


def _timeline(answer: Drawn, axes: Axes) -> None:
    """Draws one row for each track of each rank, and one bar for each span. Bars of collectives show the number of
    their bucket."""
    rows: list[str] = []
    colours: dict[str, str] = {}
    ranks = answer.document["ranks"]
    for rank in ranks:
        for track in dict.fromkeys(span["track"] for span in rank["spans"]):
            spans = [span for span in rank["spans"] if span["track"] == track]
            row = len(rows)
            rows.append(track if len(ranks) == 1 else f"rank {rank['rank']}: {track}")
            edge = "white" if track == "communication" else "none"  # tells adjacent buckets apart
            for span in spans:
                # Spans of one name share a colour, such as the all-reduces of all buckets.
                start_us, end_us, bucket = span["start_us"], span["end_us"], span.get("bucket")
                colour = colours.setdefault(_kind(span["name"]), f"C{len(colours) % 10}")
                axes.barh(
                    row,
                    (end_us - start_us) * _MS,
                    left=start_us * _MS,
                    height=0.7,
                    color=colour,
                    edgecolor=edge,
                    linewidth=0.8,
                )
                if bucket is not None and track == "communication":
                    axes.text(
                        (start_us + end_us) / 2 * _MS,
                        row,
                        str(bucket),
                        ha="center",
                        va="center",
                        fontsize="small",
                        color="white",
                        clip_on=True,
                    )
    axes.set_yticks(range(len(rows)), rows)
    axes.invert_yaxis()
    axes.set_xlabel("ms")
    for name, colour in colours.items():
        axes.barh(0, 0, color=colour, label=name)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=5, fontsize="small", frameon=False)


def _kind(name: str) -> str:
    return name.rstrip("0123456789 ") or name


def _curve(answer: Drawn, axes: Axes) -> None:
    """Draws the step time by cap as a staircase, because all caps of one interval make the same buckets. Also draws the
    current step time, the least gain that can be measured, and the recommended cap."""
    tuned = answer.document
    today = "today" if tuned.get("today") else "default"
    points = _with_first_bucket(tuned["curve"], tuned[today]["first_bucket_mb"])
    edges, steps = _cap_intervals(points)
    axes.plot(edges, steps, color="C0", label="step by bucket_cap_mb")
    today_us = tuned[today]["iteration_us"]
    axes.axhline(today_us * _MS, color="0.4", linestyle="--", label=today)
    chosen = tuned["recommended"]
    measurable = chosen.get("measurable_us")
    if measurable is not None:
        axes.axhspan(
            (today_us - measurable) * _MS,
            today_us * _MS,
            color="C1",
            alpha=0.15,
            linewidth=0,
            label="less than can be measured",
        )
    cap, gain = chosen.get("bucket_cap_mb"), chosen.get("gain_us")
    if cap is not None and gain is not None:
        step = (today_us - gain["value"]) * _MS
        below, above = (gain["high"] - gain["value"]) * _MS, (gain["value"] - gain["low"]) * _MS
        axes.errorbar(
            [cap],
            [step],
            yerr=[[below], [above]],
            fmt="o",
            color="C3",
            capsize=4,
            label=f"recommended: {cap:g} MiB, with its interval",
        )
    axes.axhline(tuned["lower_bound_us"] * _MS, color="C2", linestyle=":", label="collectives took no time")
    axes.set_xscale("log", base=2)
    # Any larger cap makes the same buckets.
    largest = max((point["cap_range_mb"][0] for point in points), default=1.0)
    axes.set_xlim(0.25, 2 * largest)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("bucket_cap_mb (MiB)")
    axes.set_ylabel("step (ms)")
    axes.legend(fontsize="small")
    _title(axes, answer.verdict)


def _with_first_bucket(curve: Iterable[Mapping[str, Any]], first_mb: float) -> list[Mapping[str, Any]]:
    """Points that setting the cap alone reaches: their first bucket is as large as the cap or as the current first
    bucket."""
    return [
        point
        for point in curve
        if point["reachable"]
        and point.get("bucket_cap_mb") is not None
        and point["first_bucket_mb"] in (point["bucket_cap_mb"], first_mb)
    ]


def _cap_intervals(points: Sequence[Mapping[str, Any]]) -> tuple[list[float], list[float]]:
    """Both ends of each interval of caps that make the same buckets (MiB), and the step time at each end (ms)."""
    edges: list[float] = []
    steps: list[float] = []
    for point in sorted(points, key=lambda one: one["cap_range_mb"]):
        edges += point["cap_range_mb"]
        steps += [point["iteration_us"] * _MS] * len(point["cap_range_mb"])
    return edges, steps


def _busbw(answer: Drawn, axes: Axes) -> None:
    """Draws bus bandwidth by size, with its 80 % interval."""
    rows = [row for row in answer.document["rows"] if row["size_bytes"] > 0]
    sizes = [row["size_bytes"] / _MIB for row in rows]
    low, high = ([row["busbw_gbps"] * row["time_us"] / row[slow] for row in rows] for slow in ("high_us", "low_us"))
    axes.plot(sizes, [row["busbw_gbps"] for row in rows], marker=".", color="C0", label="predicted")
    axes.fill_between(sizes, low, high, color="C0", alpha=0.15, linewidth=0, label="80 % interval")
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("size (MiB)")
    axes.set_ylabel("busbw (GB/s)")
    axes.set_ylim(bottom=0)
    axes.legend(fontsize="small")
    _title(axes, answer.verdict)


def _speeds(answer: Drawn, axes: Axes) -> None:
    """Draws the training speed of each candidate, with the fastest on top."""
    rows = [answer.document["rows"][index] for index in answer.document.get("by_speed") or ()]
    if not rows:
        raise Failure("plot() draws one workload, and this answer has several", "Use its `workloads` and `mix` instead")
    speeds = [row.get("samples_per_second") or 1e6 / row["iteration_us"] for row in rows]
    axes.barh(range(len(rows)), speeds, color="C0")
    axes.set_yticks(range(len(rows)), [row["label"] for row in rows])
    axes.invert_yaxis()
    axes.set_xlabel("samples/s" if rows[0].get("samples_per_second") else "steps/s")
    _title(axes, answer.verdict)
