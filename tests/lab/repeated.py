"""Limits on a machine that others use, too: only what is missed again counts."""

ATTEMPTS = 3


def failures(attempt):
    """Repeats `attempt` until every place met its limit once, at most three times.

    attempt() measures everything once. It returns for each place whether it met its limit, or None if it was too noisy.
    A place fails if it missed twice and never met its limit: a defect misses each time, but noise seldom does so twice
    in one place. Returns the places that failed, and whether any could be judged.
    """
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
