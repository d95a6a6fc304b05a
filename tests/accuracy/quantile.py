"""Quantiles as in sim/values/include/ddpsim/sim/values/quantile.hpp: of n sorted values, value number ceil(share n)."""

import math


def quantile(values, share):
    """The smallest value that at least this share of all values do not exceed; NaN without values."""
    ordered = sorted(values)
    if not ordered:
        return math.nan
    rank = max(math.ceil(share * len(ordered)), 1)
    if rank > 1 and (rank - 1) / len(ordered) >= share:  # 0.07 * 100 is slightly above 7
        rank -= 1
    return ordered[rank - 1]
