"""Rows of a document as a pandas.DataFrame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._errors import Failure
from ._record import Record

if TYPE_CHECKING:
    import pandas


def frame(answer: Record, table: str) -> pandas.DataFrame:
    """A column a key; of a key within a key, as of `gain_us.low`, both."""
    try:
        import pandas
    except ImportError as error:
        raise Failure("to_frame() needs pandas, which is not here", "Install it: pip install pandas") from error
    if not table:
        raise Failure(f"{type(answer).__name__} has no rows of one kind", "Its fields and `document` have all of it")
    rows: list[dict[str, Any]] = answer.document.get(table, [])
    return pandas.json_normalize(rows)
