"""Reads rows of one changed setting: the change, and the rows before and after it.

Both sides are rows of other schemes (scheme_rows.py), so the same words have the same meaning. What cannot be read is a
reason (NotPredicted)."""

import re

from row_words import NotPredicted
from vocabulary import WORDS
from vocabulary.scan import scan

STATES = {"off", "on", "true", "false", "none", "enabled", "disabled"}
SCHEME_WORDS = {"naive": "naive all-reduce", "ddp": "DDP", "zero_redundancy": "ZeroRedundancyOptimizer"}


def change_of(text):
    """The words before and after a change, and the remark in brackets: "bucket size 1 MB -> 10 MB (overlapped)"."""
    remark = " ; ".join(re.findall(r"\(([^)]*)\)", text))
    sides = [side.strip() for side in re.sub(r"\([^)]*\)", "", text).split("->")]
    if len(sides) != 2 or not all(sides):
        raise NotPredicted("no change of one setting stated")
    before, after = sides
    words, common = before.split(), re.search(r" (?:under|with|in) (.*)$", after)
    if words[-1].lower() in STATES and len(words) > 1:
        after = " ".join(words[:-1] + [after])
    elif re.match(r"\d", after) and (named := re.match(r"(.*?)\s*\d", before)):
        after = f"{named.group(1)} {after}"
    elif common:
        before = f"{before} ; {common.group(1)}"
    return before, after, remark


def sides_of(row):
    """The rows before and after the change, in the columns of rows of other schemes."""
    before, after, remark = change_of(row.get("lever") or "")
    schemes = [name for name in scan(remark, WORDS).facts.get("scheme", []) if name in SCHEME_WORDS]
    nodes, per_node = row.get("nodes") or "", row.get("gpus_per_node") or ""
    common = {
        name: row.get(name) or ""
        for name in ("model", "framework", "gpu", "gpus_per_node", "nodes", "network", "precision")
    }
    common |= {
        "per_gpu_batch": row.get("batch") or "",
        "n_gpus": str(int(nodes) * int(per_node)) if nodes.isdigit() and per_node.isdigit() else per_node,
        "notes": remark,
        "scheme": SCHEME_WORDS[schemes[0]] if schemes else "",
    }
    return [common | {"scheme_settings": side} for side in (before, after)]


def number_of(text):
    """The number in a column, or None."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*", text or "")
    return float(found.group(1)) if found else None


def measured_gain(row):
    """The gain as a share of the time before, in per cent."""
    before, after, speedup = (number_of(row.get(name)) for name in ("before", "after", "speedup"))
    if before and after and row.get("higher_is_better") != "True":
        return 100 * (1 - after / before)
    if not speedup:
        raise NotPredicted("no gain stated")
    return 100 * (1 - 1 / speedup)
