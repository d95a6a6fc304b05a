"""The rules that read published rows, held against 300 rows that were written without knowing them, and against chance.

tests/accuracy/written_rows.md says what the columns `simulable` and `means` hold."""

import csv
import os
import pathlib
import random
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "accuracy"))

import scheme_rows  # noqa: E402
from row_words import NotPredicted  # noqa: E402
from vocabulary import WORDS  # noqa: E402
from vocabulary.models import model_of  # noqa: E402

ROWS = pathlib.Path(__file__).resolve().parents[1] / "accuracy" / "written_rows.csv"
EXPRESSED_AIM, ALIKE_AIM = 0.8, 0.9
SEED, RANDOM_ROWS = 20, 2000

# Options of the command line by their names in `means`.
SWITCHES = {
    name: "--" + name.replace("_", "-")
    for name in """bucket_cap_mb torch comm_hook matrix_approximation_rank min_compression_rate local_sgd_period
    local_sgd_gradients first_bucket_mb algorithm protocol backend gradient_as_bucket_view find_unused_parameters
    static_graph apply_optimizer_in_backward sync_batchnorm""".split()
}
# What an option is if nobody states it.
USUAL = dict(
    part.split("=")
    for part in """wrap=blocks strategy=full_shard reshard_after_forward=true backward_prefetch=pre mode=sync
    colocated=true limit_all_gathers=true no_sync=true placement=whole when=gradient
    offload_optimizer=none offload_param=none optimize_ddp=ddp_optimizer update=server
    pull=backward comm_hook=none broadcast_buffers=true""".split()
)


def stated(row):
    return dict(part.split("=", 1) for part in row["means"].split(";") if "=" in part)


def of_cluster(job, name):
    """What a cluster line says, in the words of `means`."""
    nic = re.search(r"nic:(\d+)x([\d.]+)Gbps:(\w+)", job.cluster)
    if name == "rate":
        return f"{int(nic.group(1)) * float(nic.group(2)):g}Gbps" if nic else None
    if name == "network":
        if nic and job.nodes > 1:
            return nic.group(3)
        wires = re.search(r"nvlink|nvswitch|pcie|xgmi", job.cluster)
        return "nvlink" if wires and wires.group(0) == "nvswitch" else wires and wires.group(0)
    if name == "gpus_per_node":
        part = job.options.index("--gpus-per-node") + 1 if "--gpus-per-node" in job.options else None
        return job.options[part] if part else re.search(r"gpu:(\d+)x", job.cluster).group(1)
    return job.nodes


def dimensions(name):
    """A model by its dimensions if it has no name, so that two spellings are equal."""
    model = model_of(name)[0]
    numbers = {int(number) for number in re.findall(r"\d+", name)} - {2, 2048}
    return (model.name if model else name) if ":" not in name else numbers


def is_meant(job, name, value):
    """Whether a job is what one entry of `means` says."""
    if name == "model":
        return dimensions(value) == dimensions(job.model)
    if name == "gpu":  # memory does not matter to a step
        forms = [re.sub(r"-\d+GB|-SXM", "", one) for one in (value, job.gpu)]
        return forms[0] == forms[1]
    if name in ("nodes", "gpus_per_node", "network", "rate"):
        return str(of_cluster(job, name)) == value
    if name in ("param_dtype", "reduce_dtype") and name not in job.scheme_options:
        # DeepSpeed and Megatron keep what they compute in; gradients are reduced in it unless something else is stated.
        return (job.arrives_in_bf16 and value == "bf16") or (job.arrives_in_fp16 and value == "fp16")
    if name == "group" and name not in job.scheme_options:
        return str(of_cluster(job, "gpus_per_node")) == value
    said = {
        "scheme": job.scheme,
        "batch": job.batch,
        "seq": job.sequence,
        "precision": job.precision + ("-true" if job.bf16_parameters else ""),
        "ckpt": job.checkpointing,
        "accumulate": job.micro_batches,
        "fused": "fused" in job.estimate,
        "broadcast_buffers": "--no-broadcast-buffers" not in job.options,
        "optimizer": next((word for word in job.estimate if word in ("sgd", "momentum", "adam", "adamw")), None),
    }.get(name)
    if said is None and name in SWITCHES:
        at = job.options.index(SWITCHES[name]) if SWITCHES[name] in job.options else None
        after = job.options[at + 1 : at + 2] if at is not None else []
        said = (
            (after[0] if after and not after[0].startswith("--") else "true")
            if at is not None
            else USUAL.get(name, "false")
        )
    if said is None:
        said = job.scheme_options.get(name, USUAL.get(name, "false"))
    said, value = str(said).lower(), value.lower()
    try:
        return abs(float(said) - float(value)) <= 1e-3 * abs(float(value))
    except ValueError:
        return said == value


class Written(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with open(ROWS, encoding="utf-8", newline="") as file:
            cls.rows = list(csv.DictReader(file))
        cls.jobs = {}
        for row in cls.rows:
            try:
                cls.jobs[row["row_id"]] = scheme_rows.job_of(row)
            except NotPredicted:
                pass

    def test_most_rows_that_can_be_simulated_are_expressed_with_their_scheme(self):
        simulable = [row for row in self.rows if row["simulable"] == "yes"]
        right = [
            row
            for row in simulable
            if row["row_id"] in self.jobs and is_meant(self.jobs[row["row_id"]], "scheme", stated(row)["scheme"])
        ]
        self.assertGreaterEqual(len(right) / len(simulable), EXPRESSED_AIM)

    def test_what_is_expressed_is_what_was_meant(self):
        wrong, expressed = [], 0
        for row in self.rows:
            job = self.jobs.get(row["row_id"]) if row["simulable"] == "yes" else None
            if job:
                expressed += 1
                wrong += [
                    (row["row_id"], name, value)
                    for name, value in stated(row).items()
                    if not is_meant(job, name, value)
                ]
        self.assertLessEqual(len({row for row, _, _ in wrong}), (1 - ALIKE_AIM) * expressed, wrong)

    def test_most_rows_that_cannot_be_simulated_have_a_reason(self):
        others = [row for row in self.rows if row["simulable"] != "yes"]
        self.assertGreaterEqual(sum(row["row_id"] not in self.jobs for row in others) / len(others), EXPRESSED_AIM)


class Chance(unittest.TestCase):
    def test_no_words_stop_the_rules(self):
        chance = random.Random(SEED)
        with open(ROWS, encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        words = [
            *WORDS,
            "flurble",
            "1e400",
            "-1",
            "0",
            "99999999999999999999",
            "=",
            ":",
            "{",
            "}",
            '"',
            "(",
            ")",
            "/",
            "+",
            "--",
            "8x8",
            "½",
            "25MB",
            "#",
            "",
        ]
        for _ in range(RANDOM_ROWS):
            row = dict(chance.choice(rows))
            for column in chance.sample(
                [name for name in row if name not in ("row_id", "means")], chance.randint(1, 6)
            ):
                joint = chance.choice((" ", "; ", ", ", "=", "_"))
                row[column] = joint.join(chance.choice(words) for _ in range(chance.randint(0, 6)))
            for made in (row, {name: row[name] for name in chance.sample(list(row), 6)}, dict.fromkeys(row)):
                try:
                    scheme_rows.job_of(made).scheme_text()
                except NotPredicted as reason:
                    self.assertTrue(str(reason))

    def test_a_row_without_words_has_a_reason(self):
        with self.assertRaisesRegex(NotPredicted, "not stated"):
            scheme_rows.job_of({})

    def test_unknown_words_are_named(self):
        with open(ROWS, encoding="utf-8", newline="") as file:
            row = next(csv.DictReader(file))
        self.assertEqual(scheme_rows.job_of(row).scheme, "ddp")
        for column in ("scheme", "scheme_settings", "precision"):
            with self.assertRaisesRegex(NotPredicted, "unknown word: flurble"):
                scheme_rows.job_of(row | {column: row[column] + " flurble"})


if __name__ == "__main__":
    unittest.main()
