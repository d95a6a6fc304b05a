"""Trainings whose source states the step without overlap, the communication in it, and times of all-reduces.

Then neither the GPU nor its links need to be known. Rows of one family ran on one machine. A remark of one of them has
the table of all-reduces ("1 MB 0.118 ms, 10 MB 0.594 ms"). The row that turns overlap on has the step without."""

import hashlib
import json
import os
import re
import subprocess

from row_words import NotPredicted
from setting_rows import change_of, number_of
from vocabulary.models import CONFIGS, model_of

# The optimizer was not timed. Backward is taken for two thirds of the step without communication and optimizer.
OPTIMIZER_US = 100e3
# The links of the cluster that the table calibrates, and its GPU, which only names it.
GPU, LINKS = "A100", "pcie:25GBps:p2p"
FEWEST_SIZES = 3


def parameters_of(config):
    """Elements of the parameters of a decoder without biases, in the order of its modules."""
    hidden, heads, vocab = (config[name] for name in ("hidden_size", "num_attention_heads", "vocab_size"))
    narrow = hidden * config["num_key_value_heads"] // heads
    layer = [hidden * hidden, hidden * narrow, hidden * narrow, hidden * hidden] + [
        hidden * config["intermediate_size"]
    ] * 3
    sizes = [hidden * vocab] + (layer + [hidden] * 2) * config["num_hidden_layers"] + [hidden]
    return sizes if config["tie_word_embeddings"] else sizes + [hidden * vocab]


def turns_overlap_on(row):
    try:
        before, after, _ = change_of(row.get("lever") or "")
    except NotPredicted:
        return False
    return before.lower().endswith("overlap off") and after.lower().endswith("overlap on")


def all_reduces_of(rows, family):
    """Times in ms by MB, from the first remark of the family that has a table."""
    for row in rows:
        table = re.findall(r"(\d+) MB (\d+(?:\.\d+)?) ms", row.get("notes") or "")
        if row.get("family") == family and len(table) >= FEWEST_SIZES:
            return {int(size): float(time) for size, time in table}
    return None


class GivenSteps:
    """Workloads and clusters of such trainings, as files in a folder."""

    def __init__(self, ddpsim, rows, folder):
        self.ddpsim, self.rows, self.folder = ddpsim, rows, folder
        self.alone = {
            (row["family"], row["batch"]): row
            for row in rows
            if turns_overlap_on(row) and number_of(row.get("before")) and number_of(row.get("comm_before"))
        }

    def alone_of(self, row):
        """The row with the step without overlap of the same training."""
        alone = self.alone.get((row.get("family"), row.get("batch")))
        if not alone or not all_reduces_of(self.rows, row.get("family")):
            raise NotPredicted("GPU not stated")
        return alone

    def cluster(self, row):
        path, gpus = os.path.join(self.folder, "given.cluster.json"), row["gpus_per_node"]
        table = os.path.join(self.folder, "table.csv")
        with open(table, "w", encoding="utf-8") as file:
            times = all_reduces_of(self.rows, row["family"]).items()
            file.write("bytes,time_us\n" + "".join(f"{mb}000000,{1e3 * ms}\n" for mb, ms in times))
        links = f"node:1 gpu:{gpus}x{GPU} {LINKS}"
        command = [self.ddpsim, "calibrate", f"{table}@1x{gpus}", "--cluster", links, "-o", path]
        subprocess.run(command, check=True, capture_output=True)
        return path

    def sizes(self, row):
        model = model_of(row.get("model") or "")[0]
        if model is None or model.name not in CONFIGS or CONFIGS[model.name]["model_type"] != "llama":
            raise NotPredicted("model's dimensions not stated")
        return parameters_of(CONFIGS[model.name])

    def job(self, row, optimizer_us=OPTIMIZER_US):
        """Arguments of the program: the workload, the cluster, and that its GPUs are as slow as measured."""
        alone, sizes = self.alone_of(row), self.sizes(row)
        step, wire = (1e6 * number_of(alone[name]) for name in ("before", "comm_before"))
        backward, written, ready = (step - wire - optimizer_us) * 2 / 3, 0, []
        for i in reversed(range(len(sizes))):
            written += sizes[i]
            ready.append({"parameter": i, "at_us": backward * written / sum(sizes)})
        workload = json.dumps(
            {
                "schema": "ddpsim.workload/1",
                "name": "given step",
                "forward": {"duration_us": backward / 2},
                "parameters": [{"name": f"p{i}", "shape": [size], "dtype": "float32"} for i, size in enumerate(sizes)],
                "backward": {"duration_us": backward, "ready": ready},
                "optimizer": {"duration_us": optimizer_us},
            }
        )
        path = os.path.join(self.folder, hashlib.sha256(workload.encode()).hexdigest()[:16] + ".json")
        with open(path, "w", encoding="utf-8") as file:
            file.write(workload)
        return [path, self.cluster(row), "--rank-slowdown", "0%"]
