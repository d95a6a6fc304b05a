"""Rows of a document as a pandas.DataFrame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._errors import Failure
from ._record import Record

if TYPE_CHECKING:
    import pandas


def frame(answer: Record, table: str) -> pandas.DataFrame:
    """The rows under the key `table`, one column for each key. A nested key is joined with a dot: `gain_us.low`."""
    try:
        import pandas
    except ImportError as error:
        raise Failure("to_frame() needs pandas, which is not installed", "Run: pip install pandas") from error
    if not table:
        raise Failure(f"{type(answer).__name__} has no rows of one kind", "Use its attributes or `document` instead")
    rows: list[dict[str, Any]] = answer.document.get(table, [])
    return pandas.json_normalize(rows)
