"""What came of it: per part and in total, with an interval, and every survivor by name."""

import collections
import json
import math

import parts

NOTICED = ("unit test", "command", "cli test", "crash", "time limit")
MOST_EQUIVALENT = 0.05


def wilson(noticed, tried, z=1.96):
    """The 95 % interval of a share, by Wilson's score: it stays within 0 and 1, also for small counts."""
    if tried == 0:
        return 0.0, 1.0
    share = noticed / tried
    middle = share + z * z / (2 * tried)
    half = z * math.sqrt(share * (1 - share) / tried + z * z / (4 * tried * tried))
    return max(0.0, (middle - half) / (1 + z * z / tried)), min(1.0, (middle + half) / (1 + z * z / tried))


def table(results):
    """Markdown: one row a part."""
    rows = [["part", "mutants", *NOTICED, "survived", "score", "95 %"]]
    by_part = collections.defaultdict(list)
    for result in results:
        by_part[parts.part_of(result["file"])].append(result)
    for name in [*parts.NAMES, "in total"]:
        those = results if name == "in total" else by_part[name]
        if those:
            rows.append([name, *row(those)])
    alone = [result for result in results if result["singly"]]
    if alone:
        rows.append(["of these compiled singly", *row(alone)])
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [
        "| "
        + " | ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width) for i, (cell, width) in enumerate(zip(row, widths))
        )
        + " |"
        for row in rows
    ]
    lines.insert(
        1, "|" + "|".join("-" * (width + 1) + ("-" if i == 0 else ":") for i, width in enumerate(widths)) + "|"
    )
    return "\n".join(lines)


def row(results):
    how = collections.Counter(result["how"] for result in results)
    noticed = sum(how[kind] for kind in NOTICED)
    low, high = wilson(noticed, len(results))
    return [
        str(len(results)),
        *(str(how[kind]) for kind in NOTICED),
        str(len(results) - noticed),
        f"{100 * noticed / len(results):.0f} %",
        f"{100 * low:.0f}..{100 * high:.0f} %",
    ]


def survivors(results):
    lines = []
    for result in sorted(
        results, key=lambda result: (parts.NAMES.index(parts.part_of(result["file"])), result["file"], result["line"])
    ):
        if result["how"] not in NOTICED:
            lines += [f"{result['file']}:{result['line']}: {result['how']}", change(result), ""]
    return "\n".join(lines)


def change(result):
    return "\n".join(
        [
            *(f"  - {line}" for line in result["original"].splitlines()),
            *(f"  + {line}" for line in result["mutated"].splitlines()),
        ]
    )


def too_many_equivalent(results, equivalent):
    return len(equivalent) > MOST_EQUIVALENT * (len(results) + len(equivalent))


def write(path, **everything):
    path.write_text(json.dumps(everything, indent=1, ensure_ascii=False) + "\n")
