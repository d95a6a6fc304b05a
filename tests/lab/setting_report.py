"""Reports on measurements of settings.py: errors of predictions, and whether the advised setting is the best.

A gain is judged if it is large enough: 2 % of the step, with an interval that excludes zero. The advice is right if its
step lies within 1 % of the best measured allowed setting, or within the error of both measurements."""

import collections
import pathlib
import statistics
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[2] / folder) for folder in ("scripts", "tests/cli")]
import ab  # noqa: E402
from spoken_class import spoken_of  # noqa: E402

LEVEL = 0.9
NOTICED = 0.02  # per step
CLOSE = 0.01
SIGNS = RIGHT = 0.9
MEASURED = 0.9  # share of jobs needed for a verdict
TODAY, AGAIN = "today", "today again"
KEPT = "numerics kept"
# The kind of change, by the name that a setting changes. A setting that changes several kinds is a combination.
KINDS = {
    "bucket_cap_mb": "cap",
    "first_bucket_bytes": "cap",
    "bucket_cap_mb_list": "cap list",
    "gradient_as_bucket_view": "bucket views",
    "broadcast_buffers": "buffers",
    "static_graph": "static_graph",
    "find_unused_parameters": "find_unused off",
    "accumulate": "accumulation",
    "fp16_compress_hook": "fp16 hook",
    "bf16_compress_hook": "bf16 hook",
    "powerSGD_hook": "PowerSGD",
    "loader": "loader",
}


class Compared:
    """One setting of one set-up. Times are in microseconds per batch of the current setting."""

    def __init__(self, name, one, steps, row, predicted):
        self.name, self.setting, self.steps = name, one["setting"], one["steps_us"]
        self.step = statistics.median(self.steps)
        self.today = statistics.median(steps)
        self.measured = ab.difference(steps, self.steps, LEVEL)
        self.row, self.predicted = row, predicted
        self.interval = (row["gain"]["low"], row["gain"]["high"]) if row else None

    def noticed(self):
        return not self.measured.low <= 0 <= self.measured.high and abs(self.measured.gain) > NOTICED * self.today

    def held(self):
        """Whether the measured and the predicted interval overlap."""
        return self.interval[0] <= self.measured.high and self.measured.low <= self.interval[1]


def kind_of(setting, today):
    def parts(one):
        return {
            **one.get("arguments", {}),
            **{key: value for key, value in one.items() if key not in ("arguments", "power_sgd")},
        }

    before, after = parts(today), parts(setting)
    changed = {key for key in before | after if before.get(key) != after.get(key)}
    kinds = {KINDS[setting["hook"]] if key == "hook" else KINDS[key] for key in changed}
    return kinds.pop() if len(kinds) == 1 else "cap list" if kinds == {"cap", "cap list"} else "together"


def identity(setting, buckets):
    """A key for equal settings. Caps that make the same buckets are equal."""
    plain = {key: value for key, value in setting.get("arguments", {}).items() if "bucket_cap_mb" not in key}
    return str(
        (
            sorted(plain.items()),
            setting.get("hook"),
            str(setting.get("power_sgd")),
            setting.get("accumulate", 1),
            str(setting.get("loader")),
            buckets,
        )
    )


def compared(record, predictor):
    """The measured settings by name, names by identity, the rows of the advice, and the settings with other bucket
    bytes."""
    rows = predictor.rows()
    measured, today = record["measured"], record["measured"][TODAY]["steps_us"]
    base, _ = predictor.simulated(record["today"])
    by_identity = {
        identity(predictor_row["setting"], predictor.simulated(predictor_row["setting"])[1]): predictor_row
        for predictor_row in rows.values()
    }
    settings, names, inexact = {}, {}, []
    for name, one in measured.items():
        step, buckets = predictor.simulated(one["setting"])
        if buckets != one["bucket_bytes"]:
            inexact.append(name)
        which = identity(one["setting"], buckets)
        row = by_identity.get(which)
        names.setdefault(which, name)
        settings[name] = Compared(name, one, today, row, row["gain"]["value"] if row else base - step)
    return settings, names, rows, base, inexact


def advised(predictor, settings, names, rows, numerics):
    """The measured setting of the first row that is worth it; the current setting if there is none."""
    for row in rows.values():
        if row["worth"] and not row["changes_batch"] and (numerics or not row["changes_numerics"]):
            which = identity(row["setting"], predictor.simulated(row["setting"])[1])
            if which not in names:
                return None
            return settings[names[which]]
    return settings[TODAY]


def allowed(setting, today, numerics):
    return setting.get("accumulate", 1) == today.get("accumulate", 1) and (
        numerics or setting.get("hook") == today.get("hook")
    )


def verdict(record, predictor, settings, names, rows, numerics):
    """The line, the verdict and the regret of the top advice."""
    chosen = advised(predictor, settings, names, rows, numerics)
    if chosen is None:
        return "advised was not measured: measure again", False, None
    best = min(
        (one for one in settings.values() if allowed(one.setting, record["today"], numerics)), key=lambda one: one.step
    )
    regret = chosen.step / best.step - 1
    apart = ab.difference(chosen.steps, best.steps, LEVEL)
    right = regret <= CLOSE or apart.low <= 0
    return (
        (
            f"{'right' if right else 'WRONG'}: {chosen.name} at {chosen.step / 1000:.2f} ms, best {best.name} at "
            f"{best.step / 1000:.2f} ms, regret {regret:.1%}"
        ),
        right,
        regret,
    )


def signs(record, predictor):
    """For each place, whether it is as predicted, or None if it is too noisy.

    Places are the sign of each gain, unless the predicted interval leaves it open, and that advised settings are faster
    than the current one.
    """
    settings, names, rows, _, inexact = compared(record, predictor)
    where = f"{record['setup']}, PyTorch {record['torch']}: "
    found = {where + f"bucket bytes of {name}": name not in inexact for name in settings}
    for one in settings.values():
        if one.name not in (TODAY, AGAIN):
            right = one.predicted * one.measured.gain > 0 or bool(one.interval and one.held())
            found[where + f"sign of {one.name}"] = right if one.noticed() else None
    for numerics in (False, True):
        chosen = advised(predictor, settings, names, rows, numerics)
        if chosen and chosen.name != TODAY:
            found[where + f"{chosen.name} is advised"] = chosen.measured.gain > 0 if chosen.noticed() else None
    return found


def print_setup(record, settings, base, inexact):
    today = settings[TODAY]
    print(
        f"\n{record['setup']}, PyTorch {record['torch']}, {record['rate']}: today {today.step / 1000:.2f} ms, replayed "
        f"{base / 1000:.2f} ms ({(base / today.step - 1) * 100:+.1f} %); once more {settings[AGAIN].measured.gain / 1000:+.2f} ms; "
        f"bucket bytes {'DIFFER: ' + ', '.join(inexact) if inexact else 'exact'}"
    )
    for one in sorted(settings.values(), key=lambda one: one.step):
        if one.name in (TODAY, AGAIN):
            continue
        real = one.measured
        interval = f"[{one.interval[0] / 1000:.2f}, {one.interval[1] / 1000:.2f}]" if one.interval else ""
        name = one.name if len(one.name) < 60 else one.name[:57] + "..."
        print(
            f"  {name:<60} gains {real.gain / 1000:>7.2f} ms [{real.low / 1000:.2f}, {real.high / 1000:.2f}] "
            f"{real.gain / one.today:>6.1%}, predicted {one.predicted / 1000:>7.2f} {interval}"
        )


def print_kinds(kinds):
    print(
        "\nsetting          PyTorch    n   noticed  sign right   interval held   median error, of the step   no effect"
    )
    for (kind, torch), ones in sorted(kinds.items()):
        noticed = [one for one in ones if one.noticed()]
        signs = sum(one.predicted * one.measured.gain > 0 for one in noticed)
        ranged = [one for one in ones if one.interval]
        print(
            f"{kind:<16} {torch:<7} {len(ones):>4} {len(noticed):>9} {f'{signs} of {len(noticed)}':>11} "
            f"{f'{sum(one.held() for one in ranged)} of {len(ranged)}':>15} "
            f"{statistics.median(abs(one.predicted - one.measured.gain) / one.today for one in ones):>27.2%} "
            f"{statistics.median(abs(one.measured.gain) / one.today for one in ones):>11.2%}"
        )


def print_sum(ones, verdicts, todays):
    noticed = [one for one in ones if one.noticed()]
    small = [one for one in ones if abs(one.measured.gain) <= NOTICED * one.today]
    ranged = [one for one in ones if one.interval]
    error = statistics.median(abs(one.predicted - one.measured.gain) / one.today for one in ones)
    none = statistics.median(abs(one.measured.gain) / one.today for one in ones)
    print(
        f"\nsettings: {len(ones)} gains of {len(todays)} jobs: sign right "
        f"{sum(one.predicted * one.measured.gain > 0 for one in noticed)} of {len(noticed)} noticed, "
        f"{sum(abs(one.predicted) <= NOTICED * one.today for one in small)} of {len(small)} within 2 % predicted so, "
        f"intervals held {sum(one.held() for one in ranged)} of {len(ranged)}, median error {error * 100:.2f} % of the step, "
        f"of no effect {none * 100:.2f} %"
    )
    for what, found in verdicts.items():
        regrets = [(regret, where) for _, regret, where in found if regret is not None]
        worst = max(regrets)
        print(
            f"top advice, {what}: right in {sum(right for right, _, _ in found)} of {len(regrets)} measured, "
            f"{len(found)} jobs; regret mean {statistics.mean(regret for regret, _ in regrets) * 100:.2f} %, worst {worst[0] * 100:.1f} % ({worst[1]})"
        )
    print(
        f"always today, numerics kept: regret mean {statistics.mean(todays) * 100:.2f} %, worst {max(todays) * 100:.1f} %"
    )


def misses(ones, verdicts):
    """The limits over all set-ups that were missed. Only advice that keeps numerics is judged.

    Advice that changes numerics is printed only, because it depends on the time of the host's copies, which may vary
    twofold.
    """
    noticed = [one for one in ones if one.noticed()]
    found = [] if sum(one.predicted * one.measured.gain > 0 for one in noticed) >= SIGNS * len(noticed) else ["signs"]
    answers = [answer for answer in verdicts[KEPT] if answer[1] is not None]
    if len(answers) < MEASURED * len(verdicts[KEPT]):
        print(
            f"top advice is not judged: {len(verdicts[KEPT]) - len(answers)} of {len(verdicts[KEPT])} settings that are advised now "
            "were not measured (tests/lab/settings.py measures them)"
        )
        return found
    if sum(right for right, _, _ in answers) < RIGHT * len(answers):
        found.append("top advice")
    if statistics.mean(regret for _, regret, _ in answers if regret is not None) > CLOSE:
        found.append("regret")
    return found


def report(records):
    """Prints everything and returns the limits that were missed."""
    kinds, every = collections.defaultdict(list), []
    verdicts, todays, classes = {KEPT: [], "numerics changed too": []}, [], []
    for record, predictor in records:
        settings, names, rows, base, inexact = compared(record, predictor)
        print_setup(record, settings, base, inexact)
        where = f"{record['setup']}, PyTorch {record['torch']}"
        for what, found in verdicts.items():
            line, right, regret = verdict(record, predictor, settings, names, rows, what != KEPT)
            print(f"  {what}: {line}")
            found.append((right, regret, where))
        if expected := record.get("costs_most"):
            line = predictor.first_line()
            classes.append(spoken_of(line) == expected)
            print(f"  first line: {'right' if classes[-1] else f'WRONG, {expected} costs most'}: {line}")
        kept = [one.step for one in settings.values() if allowed(one.setting, record["today"], False)]
        todays.append(settings[TODAY].step / min(kept) - 1)
        for one in settings.values():
            if one.name not in (TODAY, AGAIN):
                kinds[kind_of(one.setting, record["today"]), record["torch"]].append(one)
                every.append(one)
    print_kinds(kinds)
    print_sum(every, verdicts, todays)
    if classes:
        print(f"first lines: the class that costs most in {sum(classes)} of {len(classes)}")
    return misses(every, verdicts) + (["first lines"] if sum(classes) < RIGHT * len(classes) else [])
