"""Errors of predictions in per cent, and how they spread."""

import statistics

from quantile import quantile


def percent(predicted, measured):
    return 100 * (predicted / measured - 1)


def errors_of(values):
    sizes = [abs(value) for value in values]
    return f"median {statistics.median(sizes):.1f} %, p90 {quantile(sizes, 0.9):.1f} %, worst {max(sizes):.1f} %"
