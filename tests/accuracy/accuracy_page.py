#!/usr/bin/env python3
"""Writes the tables of docs/accuracy.md and the README's figures from what scripts/accuracy.sh has just measured.

    tests/accuracy/accuracy_page.py build/accuracy.md [--write]

accuracy_tables.py has the tables. Figures are given to two digits. Without --write the pages are only compared: exit code 4, and the
lines, where one says something else. One unit in a last digit may differ, since another machine's mathematics may move it. A figure
that is not found is an error: the table it stood in has changed."""

import argparse
import difflib
import math
import pathlib
import re
import sys

from accuracy_tables import LINES, TABLES

ROOT = pathlib.Path(__file__).resolve().parents[2]
BEGIN, END = "<!-- made by tests/accuracy/accuracy_page.py -->", "<!-- end of what accuracy_page.py makes -->"


class Figure(float):
    """{x}: two digits, and no more than were printed. {x:+}: as printed, with its sign. {x:percent}: a share as per cent."""

    def __new__(cls, text):
        figure = super().__new__(cls, text)
        figure.text = text
        return figure

    def __format__(self, how):
        if how == "+":
            return f"{float(self):+.1f}".replace("-", "−")
        value, printed = abs(float(self)), len(self.text.partition(".")[2])
        if how == "percent":
            value, printed = value * 100, printed - 2
        return f"{value:.{max(0, min(printed, 1 - math.floor(math.log10(value or 1))))}f}"


class Figures(dict):
    """By name; {o*} is all whose names begin with o and end alike, of which :min and :max are shown."""

    def __missing__(self, name):
        begin, _, end = name.partition("*")
        return Extremes(
            value for key, value in self.items() if re.fullmatch(re.escape(begin) + "[a-z0-9]+" + re.escape(end), key)
        )


class Extremes(list):
    def __format__(self, how):
        return format((min if how == "min" else max)(self, key=abs))


def pattern(text):
    out = []
    for part in re.split(r"(<\w+>|\s*\.\.\.\s*|\s+)", text):
        if part.startswith("<") and part.endswith(">") and len(part) > 2:
            out.append(r"[-+\d.,e]+?" if part == "<_>" else rf"(?P<{part[1:-1]}>[-+]?\d+(?:\.\d+)?)")
        elif part.strip() == "...":
            out.append(r".*?")
        else:
            out.append(r"\s+" if part.isspace() else re.escape(part))
    return re.compile("".join(out), re.DOTALL)


def sections(text):
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def figures_of(what, places, accuracy):
    found = Figures()
    for section, text in places:
        if section not in accuracy:
            sys.exit(f'accuracy.md has no section "{section}"; {what} needs it')
        match = pattern(text).search(accuracy[section])
        if not match:
            sys.exit(f'accuracy.md, {section}: nothing reads "{text}" ({what})')
        found.update({name: Figure(value) for name, value in match.groupdict().items()})
    return found


def row(cells):
    return "| " + " | ".join(cells) + " |"


def tables(accuracy):
    for table in TABLES:
        yield f"\n### {table.title}\n\n{table.says}\n"
        yield row(table.head)
        yield row(["---"] * len(table.head))
        for group in table.groups:
            found = figures_of(group.rows[0][0], group.figures, accuracy)
            for cells in group.rows:
                shown = [cell.format_map(found) for cell in cells]
                yield row(shown + [""] * (len(table.head) - len(shown)))


def lines(accuracy):
    yield ""
    for words, places in LINES:
        yield words.format_map(figures_of(words, places, accuracy))


def agree(stated, made):
    """The same words, and the same figures to one in their last digit."""
    ours, theirs = (re.split(r"(\d+(?:\.\d+)?)", text) for text in (stated, made))
    if ours[::2] != theirs[::2]:
        return False
    unit = [10.0 ** -len(figure.partition(".")[2]) for figure in ours[1::2]]
    return all(abs(float(a) - float(b)) < 1.5 * u for a, b, u in zip(ours[1::2], theirs[1::2], unit))


def hold(page, made, write):
    """Whether the page says between its two comments what was made; `write` makes it so."""
    before, _, rest = (ROOT / page).read_text(encoding="utf-8").partition(BEGIN + "\n")
    stated, end, after = rest.partition(END)
    if not end:
        sys.exit(f'{page}: no "{BEGIN}" before "{END}"')
    if write:
        (ROOT / page).write_text(f"{before}{BEGIN}\n{made}{END}{after}", encoding="utf-8")
    elif not agree(stated, made):
        sys.stdout.writelines(difflib.unified_diff(stated.splitlines(True), made.splitlines(True), page, "measured"))
        print(f"{page} says something else than was measured; with --write it is brought up to date")
        return False
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("accuracy", type=pathlib.Path)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    accuracy = sections(arguments.accuracy.read_text(encoding="utf-8"))
    made = {"docs/accuracy.md": tables(accuracy), "README.md": lines(accuracy)}
    if not all([hold(page, "\n".join(text) + "\n\n", arguments.write) for page, text in made.items()]):
        sys.exit(4)


if __name__ == "__main__":
    main()
