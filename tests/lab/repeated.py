"""Bars on a machine that others use too: what counts is what is missed again."""

ATTEMPTS = 3


def failures(attempt):
    """attempt() measures everything once: place -> whether it met its bar, None where it was too noisy to judge.

    Repeated until every place met its bar once, three times at most. A place fails that missed twice and never met: a defect
    misses each time, noise seldom twice in one place. Returns the places that failed, and whether any could be judged."""
    verdicts = {}
    for _ in range(ATTEMPTS):
        for place, met in attempt().items():
            verdicts.setdefault(place, []).append(met)
        if all(True in seen for seen in verdicts.values()):
            break
    failed = [place for place, seen in verdicts.items() if True not in seen and seen.count(False) > 1]
    if failed:
        print("missed again and never met: " + ", ".join(map(str, failed)))
    return failed, any(met is not None for seen in verdicts.values() for met in seen)
