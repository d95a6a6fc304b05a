"""Compares published memory with `simulate`: savings by views and a sharded optimizer, and peaks of known models.

Rows of models that nobody describes completely are not scored."""

import csv
import pathlib
import statistics
import tempfile
import unittest

from command import SHARED, answer, ddpsim, workload, write_json

ROWS = SHARED / "data" / "levers" / "memory.csv"
MIB = 1 << 20


def plain(elements):
    """A workload with parameters of these sizes, one after another."""
    return workload(
        [{"name": f"p{k}", "shape": [count], "dtype": "float32"} for k, count in enumerate(elements)],
        range(len(elements) - 1, -1, -1),
    )


def lightning_transformer():
    """lightning.pytorch.demos.Transformer over WikiText-2: 32 encoder and 32 decoder layers of torch.nn.Transformer."""
    width, hidden, words = 1024, 4096, 33278
    attention = [3 * width * width, 3 * width, width * width, width]
    feed_forward = [hidden * width, hidden, width * hidden, width]
    norms = [width] * 4
    return [
        words * width,
        *(attention + feed_forward + norms) * 32,
        width,
        width,
        *(attention * 2 + feed_forward + norms + [width] * 2) * 32,
        width,
        width,
        words * width,
        words,
    ]


# Parameters of UPerNet on ResNet-50-v1c with 150 classes and its auxiliary head, as in mmsegmentation.
UPERNET = 23_527_264 + 40_590_486 + 2_398_358


@unittest.skipUnless(ROWS.exists(), "the published rows are not beside this checkout")
class Published(unittest.TestCase):
    def setUp(self):
        with ROWS.open() as file:
            self.rows = list(csv.DictReader(file))
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def memory(self, given, *options):
        path = write_json(self.folder / "given.json", given) if isinstance(given, dict) else given
        return answer("simulate", path, "2xv100-nvlink", "--memory", "100GB", *options)["memory"]

    def peaks(self, family, **wanted):
        return [
            float(row["peak"])
            for row in self.rows
            if family in row["source"] and all(text in row[name] for name, text in wanted.items())
        ]

    def differences(self):
        """The name of each row, with the measured and the predicted saving in MiB."""
        off, on = self.peaks("pytorch#41954", model="resnet")
        options = ("--torch", "1.7")
        views = [
            self.memory("resnet50-v100-b32-plain", *options, *more)["allocated_bytes"]
            for more in ((), ("--gradient-as-bucket-view",))
        ]
        yield "ResNet-50, views", off - on, (views[0] - views[1]) / MIB
        whole, sharded = self.peaks("mmengine#551")
        state = self.memory(plain([UPERNET]), "--optimizer", "momentum")["parts"]["optimizer_bytes"]
        yield "UPerNet, momentum over 4 ranks", whole - sharded, state * (1 - 1 / 4) / MIB
        for tokens in (128, 256, 512):
            sharded, whole = self.peaks("cs336-assignment2", batch=f"2 x {tokens} tokens")
            weights = next(float(row["static_weights"]) for row in self.rows if f"2 x {tokens} tokens" == row["batch"])
            given = plain([int(weights * 1024 * MIB / 4)])
            state = self.memory(given, "--optimizer", "adamw")["parts"]["optimizer_bytes"]
            yield f"CS336 XL, AdamW over 2 ranks, {tokens} tokens", (whole - sharded) * 1024, state / 2 / MIB

    def test_views_and_shards_save_the_published_memory(self):
        errors = []
        for name, measured, said in self.differences():
            errors.append(100 * (said / measured - 1))
            print(f"\n  {name}: {measured:.0f} MiB saved, {said:.0f} said, {errors[-1]:+.1f} %", end="")
            self.assertLess(abs(said - measured), max(0.05 * measured, 20), name)
        print(f"\n  n = {len(errors)}, median {statistics.median(map(abs, errors)):.1f} %")
        self.assertEqual(len(errors), 5)

    def test_peaks_of_a_transformer_of_a_billion_parameters(self):
        elements = lightning_transformer()
        self.assertEqual(sum(elements), 1_008_763_390)
        memory = self.memory(plain(elements), "--optimizer", "adam", "--torch", "2.1")
        said = memory["allocated_bytes"] / MIB
        self.assertEqual(memory["at"], "optimizer")
        # Two guides. The script of the second is unknown, and it has one more copy of all parameters.
        fabric, trainer = self.peaks("lightning", strategy="DDP", model="1 B parameters")
        print(
            f"\n  {trainer:.0f} MiB measured by one, {fabric:.0f} by another, {said:.0f} said: {100 * (said / trainer - 1):+.1f} %, "
            f"{100 * (said / fabric - 1):+.1f} %"
        )
        self.assertLess(abs(said / trainer - 1), 0.01)

    def test_gpt2_xl_does_not_fit_a_titan_rtx(self):
        outcome = ddpsim("simulate", "gpt2-xl@V100:b1", "dgx1v", "--memory", "23.65GiB", "--optimizer", "adamw")
        self.assertEqual(outcome.code, 3, outcome.err)


if __name__ == "__main__":
    unittest.main()
