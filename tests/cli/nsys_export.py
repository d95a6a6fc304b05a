"""Makes an SQLite export of Nsight Systems from a profiler trace, as if the other tool had recorded the same step.

Tables and columns are from the Nsight Systems User Guide (SQLite Schema Reference), as far as ddpsim reads them.
"""

import decimal
import json
import sqlite3

SCHEMA = """
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE META_DATA_EXPORT (name TEXT NOT NULL, value TEXT);
CREATE TABLE TARGET_INFO_GPU (vmId INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT, smCount INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL,
  globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
  contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
  demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, gridX INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
  contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
  bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL);
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER,
  category INTEGER, color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER,
  domainId INTEGER, jsonText TEXT, binaryData TEXT);
"""


def nanoseconds(microseconds):
    return int(decimal.Decimal(str(microseconds)) * 1000)


class Export:
    """An export. `small` uses pages of 512 bytes, for a seed of the fuzz target."""

    def __init__(self, path, small=False):
        self.base = sqlite3.connect(path)
        if small:
            self.base.execute("PRAGMA page_size = 512")
        self.base.executescript(SCHEMA)
        self.base.execute("INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '3.11.0')")
        self.texts = {}

    def text(self, value):
        if value not in self.texts:
            self.texts[value] = len(self.texts) + 1
            self.base.execute("INSERT INTO StringIds VALUES (?, ?)", (self.texts[value], value))
        return self.texts[value]

    def add_gpu(self, number, name):
        self.base.execute("INSERT INTO TARGET_INFO_GPU VALUES (0, ?, ?, 108)", (number, name))

    def add_trace(self, trace, pid=7, device=None, sizes=None, ranges=lambda name: True):
        """Adds a trace. `sizes`: the texts that emit_nvtx(record_shapes=True) adds to AccumulateGrad, in order."""
        sizes = iter(sizes or [])
        threads = {}
        for event in sorted((one for one in trace["traceEvents"] if one.get("ph") == "X"), key=lambda one: one["ts"]):
            start = nanoseconds(event["ts"])
            end = start + nanoseconds(event["dur"])
            arguments = event.get("args", {})
            # The lowest 24 bits are the thread, the bits above them the process.
            thread = pid << 24 | threads.setdefault(event["tid"], len(threads) + 1)
            kind, name, correlation = event.get("cat", ""), event["name"], arguments.get("correlation")
            on = arguments.get("device") if device is None else device
            if kind in ("cuda_runtime", "Runtime"):
                self.base.execute(
                    "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 0, ?, ?, ?, 0, NULL)",
                    (start, end, thread, correlation, self.text(name)),
                )
            elif kind in ("kernel", "Kernel"):
                name = self.text(name)
                self.base.execute(
                    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, ?, 1, 7, ?, ?, ?, ?, ?)",
                    (start, end, on, correlation, pid << 24, name, name, arguments.get("grid", [1])[0]),
                )
            elif kind.startswith("gpu_mem") or kind in ("Memcpy", "Memset"):
                self.base.execute(
                    "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?, ?, ?, 1, 7, ?, ?, 8, 1)",
                    (start, end, on, correlation, pid << 24),
                )
            elif kind in ("cpu_op", "user_annotation", "Operator") and ranges(name):
                text = f"{name}, seq = 3, op_id = 12"
                if name == "torch::autograd::AccumulateGrad":
                    shape = next(sizes, None)
                    text = f"{name}, op_id = 12" + (f", sizes = {json.dumps([shape])}" if shape is not None else "")
                # Newer versions store texts in StringIds, older ones in the row.
                mine = (text, None) if len(threads) % 2 else (None, self.text(text))
                self.base.execute(
                    "INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, NULL, NULL, NULL, ?, ?, NULL, ?, 0, NULL, NULL)",
                    (start, end, mine[0], thread, mine[1]),
                )

    def close(self):
        self.base.commit()
        self.base.close()
