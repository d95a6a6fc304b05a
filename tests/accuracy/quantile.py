"""Quantiles as sim/values/include/ddpsim/sim/values/quantile.hpp defines them: of n values number ceil(share n)."""

import math


def quantile(values, share):
    """The smallest value that at least the share of all do not exceed; nothing of nothing."""
    ordered = sorted(values)
    if not ordered:
        return math.nan
    rank = max(math.ceil(share * len(ordered)), 1)
    if rank > 1 and (rank - 1) / len(ordered) >= share:  # 0.07 * 100 is a little more than 7
        rank -= 1
    return ordered[rank - 1]
