"""Adds to rows what the script or the pages behind a figure say (behind_figures.csv), in their own words.

Rows leave open what their page shows elsewhere: arguments of a script, a Dockerfile, the links of a machine. The file
has one line for each, with where it was read; none is derived from a measured value. The rules read a row with these
words as they read any other."""

import csv
import functools
import pathlib

PLACES = (("page", "source_ref"), ("model", "model"), ("scheme", "scheme"), ("framework", "framework"))
FILE = pathlib.Path(__file__).with_name("behind_figures.csv")


@functools.cache
def scripts():
    with open(FILE, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def with_scripts(rows):
    """Rows with the words of the script behind their figure, where one was read.

    The words stand in front of the row's own, which overrule them. Only a precision that does not hold under the row's
    scheme is replaced, and links that the row does not state.
    """
    found = []
    for row in rows:
        for script in scripts():
            if row["source"] == script["source"] and all(
                script[part] in row.get(column, "") for part, column in PLACES
            ):
                row = row | {
                    "scheme_settings": f"{script['scheme_settings']}; {row.get('scheme_settings') or ''}".strip("; ")
                }
                row["precision"] = script["precision"] or row["precision"]
                if script["network"]:
                    row |= {"network": script["network"], "flags": row["flags"] + " links-assumed"}
                break
        found.append(row)
    return found
