#!/usr/bin/env python3
"""Counts how often `tune` answers as an expert would, in twenty situations written before anybody looked at its rule.

    tests/accuracy/expert_advice.py --ddpsim build/release/cli/ddpsim [--least 18]

tests/accuracy/expert_advice.json has the situations, and in its "about" the rules. An answer that names a cap agrees if
the cap lies in acceptable.caps_mb (or in caps_mb). Any other answer agrees if its kind is among acceptable.kinds. No
answer agrees if it promises a larger gain than "wrong" allows. There, "a promised gain above 3 %" means the value, and
"a gain above 4 % stated as certain" the low end.

An answer of keep is also "other" if `better_lever` names a setting, or if a row of `advise` is worth it and changes no
cap. Labels of which the expert was less sure are counted separately. With --least, the exit code is 4 if fewer agree.
Standard library only.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import sys

from ddp_paper import Ddpsim
from todays_gpus import KEEP, SET, kind

SITUATIONS = pathlib.Path(__file__).resolve().with_name("expert_advice.json")
DEFAULT, OTHER = "default", "other"


def kinds_of(ddpsim, situation, answer):
    """The kinds of an answer without a cap, as the situations call them."""
    recommended = answer["recommended"]
    said = kind(recommended)
    if said == SET:
        return {DEFAULT}
    found = {said.replace(" ", "_")}
    if said == KEEP:
        advice = ddpsim(situation["workload"], situation["cluster"], *situation["options"], command="advise")
        if answer["better_lever"] or any(
            row["worth"] and not any("bucket_cap" in setting for setting in row["levers"]) for row in advice["rows"]
        ):
            found.add(OTHER)
    return found


def promise(situation, gain):
    """The gain that is promised too high, in per cent of the current step; None if none is."""
    for wrong in situation["wrong"]:
        if found := re.match(r"a (promised )?gain above (\d+) %", wrong):
            said = gain["value"] if found[1] else gain["low"]
            if said > float(found[2]):
                return f"{said:.1f} %, at most {found[2]} %"
    return None


def judge(ddpsim, situation):
    """Whether the answer agrees, and the answer in words."""
    answer = ddpsim(situation["workload"], situation["cluster"], *situation["options"], command="tune")
    recommended, acceptable = answer["recommended"], situation["acceptable"]
    step = (answer["today"] or answer["default"])["iteration_us"]
    gain = {end: 100 * value / step for end, value in recommended["gain_us"].items()}
    cap = recommended["bucket_cap_mb"]
    if kind(recommended) == SET and cap is None and recommended["first_bucket_mb"] is not None:
        return False, f"set the first bucket to {recommended['first_bucket_mb']:g}"
    if kind(recommended) == SET and cap is not None:
        words = f"set {cap:g}: {gain['value']:.1f} % ({gain['low']:.1f} to {gain['high']:.1f})"
        low, high = acceptable.get("caps_mb") or situation["caps_mb"] or (1, 0)
        agrees = low <= cap <= high
    else:
        kinds = kinds_of(ddpsim, situation, answer)
        words, agrees = " and ".join(sorted(kinds)), bool(kinds & set(acceptable["kinds"]))
    if kind(recommended) == SET and (too_much := promise(situation, gain)):
        return False, f"{words}; promises {too_much}"
    return agrees, words


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ddpsim", required=True)
    parser.add_argument("--situations", type=pathlib.Path, default=SITUATIONS)
    parser.add_argument("--least", type=int, default=0, help="how many must agree")
    given = parser.parse_args()
    situations = json.loads(given.situations.read_text(encoding="utf-8"))["situations"]
    ddpsim = Ddpsim(given.ddpsim)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        judged = list(pool.map(lambda situation: judge(ddpsim, situation), situations))
    print("| situation | the expert | sure | tune | agrees |\n|---|---|---|---|---|")
    for situation, (agrees, words) in zip(situations, judged):
        caps = situation["caps_mb"]
        expert = situation["kind"].replace("_", " ") + (f" {caps[0]:g} to {caps[1]:g}" if caps else "")
        print(f"| {situation['id']} | {expert} | {situation['sure']} | {words} | {'yes' if agrees else 'NO'} |")
    agreed = sum(agrees for agrees, _ in judged)
    apart = {
        sure: [agrees for (agrees, _), situation in zip(judged, situations) if situation["sure"] == sure]
        for sure in sorted({situation["sure"] for situation in situations}, reverse=True)
    }
    print(
        f"\nagree: {agreed} of {len(judged)}; "
        + ", ".join(f"{sum(found)} of {len(found)} of which the expert was {sure}" for sure, found in apart.items())
    )
    if agreed < given.least:
        sys.exit(4)


if __name__ == "__main__":
    main()
