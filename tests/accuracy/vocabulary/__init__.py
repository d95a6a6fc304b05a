"""What the words of published measurements mean. One vocabulary serves every column and every kind of row.

Each entry is a public name: of a library's setting, a scheme, a product. None belongs to a source or a row, and none
was chosen by a measured value. A word that no table has is unknown, and its row is refused by that name."""

from vocabulary.entries import joined
from vocabulary.tables import table

WORDS = {
    **table("silent"),
    **table("libraries"),
    **joined(table("refusals"), table("schemes"), table("settings"), table("precisions")),
}
