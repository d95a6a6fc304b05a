"""The document of one part. It is written to disk after each measured row.

    {"schema": "ddpsim.on_gpu/1", "part", "card", "driver", "versions": {…}, "command", "rehearsed", "complete",
     "begun": [ITEM, …], "rows": [{"item", …}], "problems": [{"item", "what"}]}

An item is the smallest thing that can fail alone: a configuration of a model, or a sweep of one workload. A part that
is started again continues after the items it had begun. So an item that hangs or crashes does not affect the others."""

import json
import os
import pathlib
import signal
import subprocess
import time
import traceback

SCHEMA = "ddpsim.on_gpu/1"


def card_and_driver():
    """The card and the driver from nvidia-smi. A machine without it has no GPU."""
    try:
        run = subprocess.run(
            ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return "no GPU", "none"
    if run.returncode != 0 or "," not in run.stdout:
        return "no GPU", "none"
    card, driver = run.stdout.splitlines()[0].split(",", 1)
    return card.strip(), driver.strip()


class Part:
    """The document of one part and its time limit, `seconds`. A `probe` takes one step of everything."""

    def __init__(self, name, path, seconds, probe, rehearse, command):
        self.path = pathlib.Path(path)
        self.ends = time.monotonic() + seconds
        self.probe = probe
        self.rehearse = rehearse
        if self.path.exists():
            self.document = json.loads(self.path.read_text(encoding="utf-8"))
            unfinished = (
                set(self.document["begun"])
                - {row["item"] for row in self.document["rows"]}
                - {problem["item"] for problem in self.document["problems"]}
            )
            for item in sorted(unfinished):
                self.problem(item, "it ended the part's process, or was ended at its time limit")
        else:
            card, driver = card_and_driver()
            self.document = {
                "schema": SCHEMA,
                "part": name,
                "card": card,
                "driver": driver,
                "versions": {},
                "command": command,
                "rehearsed": rehearse,
                "complete": False,
                "begun": [],
                "rows": [],
                "problems": [],
            }
        self.write()

    def write(self):
        beside = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        beside.write_text(json.dumps(self.document, indent=1) + "\n", encoding="utf-8")
        beside.replace(self.path)

    def versions(self, **found):
        self.document["versions"].update({name: str(version) for name, version in found.items()})

    def left(self):
        return self.ends - time.monotonic()

    def problem(self, item, what):
        self.document["problems"].append({"item": item, "what": what})
        print(f"{self.document['part']}: {item}: {what[:400]}", flush=True)

    def measure(self, item, function, limit=60):
        """Runs `function`, unless the item was begun before or no time is left. After `limit` seconds a signal ends the
        process.

        `function` returns one row or several, which are kept. If it raises, the error becomes a problem of this item.
        """
        if item in self.document["begun"] or self.left() < 2:
            return
        self.document["begun"].append(item)
        self.write()
        signal.setitimer(signal.ITIMER_REAL, max(1, min(limit, self.left())))
        begun = time.monotonic()
        try:
            rows = function()
        except Exception as error:  # the next item may still work
            last = traceback.extract_tb(error.__traceback__)[-1]
            self.problem(
                item, f"{type(error).__name__}: {str(error)[:6000]} ({pathlib.Path(last.filename).name}:{last.lineno})"
            )
        else:
            for row in rows if isinstance(rows, list) else [rows]:
                self.document["rows"].append({"item": item, **row})
            print(f"{self.document['part']}: {item}: {time.monotonic() - begun:.1f} s", flush=True)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        self.write()

    def end(self):
        self.document["complete"] = self.left() > 0
        self.write()


def quantiles(values):
    """Quantiles by nearest rank, as in sim/quantile.hpp. The median of an even number is the mean of the middle two."""
    ordered = sorted(values)

    def at(percent):
        return ordered[max(-(-percent * len(ordered) // 100), 1) - 1]

    middle = (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2
    return {"median": round(middle, 3), "p10": round(at(10), 3), "p90": round(at(90), 3)}
