"""Cases of a measurement with its prediction, and their tables: errors by kind and by scheme, misses by name."""

import collections
import dataclasses
import math
import statistics

from quantile import quantile

WORTH_A_SIGN = 0.05
# A ratio predicted this close to 1 has no sign, because steps are only accurate to a thousandth.
NO_SIGN = 0.002
# The error that counts as a miss, by table.
LIMITS = {"ratios": 0.25, "efficiencies": 0.10, "memory": 0.15, "steps": 0.30}


@dataclasses.dataclass
class Case:
    """A measurement with its prediction. `blind` has the answers of simple predictors by name."""

    table: str  # ratios, efficiencies, memory, steps
    kind: str
    scheme: str
    name: str
    measured: float
    predicted: float
    blind: dict
    guesses_links: bool

    def error(self, value=None):
        value = self.predicted if value is None else value
        if value is None or not value > 0:
            return math.inf
        both = value / self.measured, self.measured / value
        return max(both) - 1 if self.table == "ratios" else abs(both[0] - 1)

    def has_sign(self):
        return max(self.measured, 1 / self.measured) - 1 > WORTH_A_SIGN

    def sign_is_right(self, value=None):
        value = self.predicted if value is None else value
        return value is not None and abs(value - 1) > NO_SIGN and (value > 1) == (self.measured > 1)


def percent(value):
    return "-" if math.isnan(value) else "> 999 %" if value > 9.99 else f"{100 * value:.1f} %"


def figures_of(cases, predictor=None):
    """Right signs, signs, median, p90 and worst error of ddpsim, or of another predictor."""

    def value(case):
        return case.blind.get(predictor) if predictor else case.predicted

    errors = [case.error(value(case)) for case in cases]
    signed = [case for case in cases if case.has_sign()]
    right = sum(case.sign_is_right(value(case)) for case in signed)
    return right, len(signed), statistics.median(errors), quantile(errors, 0.9), max(errors)


def line(name, predictor, cases, with_sign):
    right, signed, median, p90, worst = figures_of(cases, None if predictor == "ddpsim" else predictor)
    sign = (f"{100 * right / signed:.0f} % of {signed} | " if signed else "- | ") if with_sign else ""
    return f"| {name} | {predictor} | {len(cases)} | {sign}{percent(median)} | {percent(p90)} | {percent(worst)} |"


def table(title, cases):
    """A table by kind, by scheme, and of all cases. Simple predictors are shown for each kind and for all."""
    if not cases:
        return f"No {title} can be predicted.\n"
    with_sign = cases[0].table == "ratios"
    lines = [
        f"| {title} | predictor | n |"
        + (" sign right where > 5 % |" if with_sign else "")
        + " error: median | p90 | worst |",
        "|---|---|---|" + ("---|" if with_sign else "") + "---|---|---|",
    ]
    sets = collections.OrderedDict(all=cases)
    known = [case for case in cases if not case.guesses_links]
    if known and len(known) < len(cases):
        sets["links known"] = known
    for kind in sorted({case.kind for case in cases}):
        sets[kind] = [case for case in cases if case.kind == kind]
    for name, members in sets.items():
        lines.append(line(name, "ddpsim", members, with_sign))
        for other in members[0].blind:
            lines.append(line(name, other, members, with_sign))
    for scheme in sorted({case.scheme for case in cases}):
        lines.append(line("scheme: " + scheme, "ddpsim", [case for case in cases if case.scheme == scheme], with_sign))
    return "\n".join(lines) + "\n"


def by_group(cases):
    """The median over groups of each group's median pair. Otherwise large groups would dominate: nine rows make 36
    pairs."""
    groups = collections.defaultdict(list)
    for case in cases:
        groups[case.name.split(": ")[0]].append(case.error())
    medians = [statistics.median(errors) for errors in groups.values()]
    return (
        (
            f"Each group once: {len(medians)} groups, median error {percent(statistics.median(medians))}, "
            f"p90 {percent(quantile(medians, 0.9))}.\n"
        )
        if medians
        else ""
    )


def misses(title, cases):
    found = [
        case
        for case in cases
        if case.error() > LIMITS[case.table]
        or (case.table == "ratios" and case.has_sign() and not case.sign_is_right())
    ]
    scale = 1e9 if title == "memory" else 1
    lines = [
        f"{title}: {len(found)} misses of {len(cases)} (error over {100 * LIMITS[cases[0].table]:.0f} %"
        + (", or the wrong sign)" if title == "ratios" else ")")
        if cases
        else f"{title}: none"
    ]
    for case in sorted(found, key=lambda case: -case.error()):
        lines.append(
            f"  {case.name}: measured {case.measured / scale:.3g}, predicted {case.predicted / scale:.3g}, "
            f"{100 * (case.predicted / case.measured - 1):+.0f} %"
        )
    return "\n".join(lines) + "\n"


def shortened(text, most=110):
    return text if len(text) <= most else text[: most - 1] + "…"
