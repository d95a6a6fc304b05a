"""Tests to_frame() and plot(), and their errors if pandas or matplotlib is missing."""

import sys
import unittest
from unittest import mock

import matplotlib

matplotlib.use("Agg")

import ddpsim  # noqa: E402
from matplotlib import pyplot  # noqa: E402


class Frames(unittest.TestCase):
    def test_each_row_is_a_row_and_each_key_a_column(self):
        answer = ddpsim.tune("resnet50-v100-b32", "dgx1v@2", caps=[5, 25])
        frame = answer.to_frame()
        self.assertEqual(list(frame["bucket_cap_mb"].dropna()), [5, 25])
        self.assertEqual(set(frame), set(answer.document["curve"][0]))
        self.assertEqual(list(frame["iteration_us"]), [point.iteration_us for point in answer.curve])

    def test_a_nested_key_becomes_a_column_with_both_names(self):
        frame = ddpsim.advise("resnet50-v100-b32", "dgx1v@2").to_frame()
        self.assertIn("gain_us.low", frame)

    def test_every_answer_with_rows_has_a_frame(self):
        for answer, rows in (
            (ddpsim.simulate("resnet50-v100-b32", "dgx1v"), "buckets"),
            (ddpsim.compare("resnet50-v100-b32", "dgx1v", no_tune=True), "rows"),
            (ddpsim.buckets("resnet18"), "buckets"),
            (ddpsim.allreduce("dgx1v"), "rows"),
            (ddpsim.import_trace("resnet50@V100"), "parameters"),
            (ddpsim.list(commands=True), "commands"),
        ):
            self.assertEqual(len(answer.to_frame()), len(getattr(answer, rows)), type(answer).__name__)
        with self.assertRaisesRegex(ddpsim.Failure, "no rows of one kind"):
            ddpsim.topo("dgx1v").to_frame()

    def test_missing_pandas_is_named(self):
        with mock.patch.dict(sys.modules, pandas=None), self.assertRaisesRegex(ddpsim.Failure, "pip install pandas"):
            ddpsim.buckets("resnet18").to_frame()


class Figures(unittest.TestCase):
    def setUp(self):
        self.addCleanup(pyplot.close, "all")

    def test_a_curve_shows_every_cap_and_the_current_step(self):
        answer = ddpsim.tune("resnet50-v100-b32", "dgx1v-1xedr@2", torch="2.8")
        axes = answer.plot()
        self.assertEqual(axes.get_title(loc="left"), answer.verdict)
        curve, default = axes.lines[0], axes.lines[1]
        steps = [point.iteration_us / 1000 for point in answer.curve if point.bucket_cap_mb is not None]
        self.assertEqual(len(curve.get_ydata()), 2 * len(steps))  # two ends of each range
        self.assertAlmostEqual(min(curve.get_ydata()), min(steps))
        self.assertAlmostEqual(max(curve.get_ydata()), max(steps))
        self.assertAlmostEqual(default.get_ydata()[0], answer.default.iteration_us / 1000)
        labels = [text.get_text() for text in axes.get_legend().get_texts()]
        self.assertIn("recommended: 5 MiB, with its interval", labels)

    def test_a_curve_leaves_other_first_buckets_out(self):
        """In PyTorch 2.4, the first bucket has a size of its own. Each size of it has its own curve."""
        answer = ddpsim.tune("resnet50-v100-b32", "dgx1v-1xedr@2", torch="2.4")
        drawn = list(answer.plot().lines[0].get_xdata())
        alone = [
            cap
            for point in answer.curve
            if point.first_bucket_mb in (point.bucket_cap_mb, answer.default.first_bucket_mb)
            for cap in point.cap_range_mb
        ]
        self.assertEqual(len(drawn), len(alone))
        self.assertTrue(drawn == sorted(alone))

    def test_a_step_shows_every_span_in_its_place(self):
        answer = ddpsim.simulate("resnet50-v100-b32", "dgx1v")
        axes = answer.plot()
        drawn = [(bar.get_x(), bar.get_width()) for bar in axes.patches if bar.get_width()]
        spans = [span for rank in answer.timeline().ranks for span in rank.spans if span.end_us > span.start_us]
        self.assertEqual(len(drawn), len(spans))
        self.assertAlmostEqual(max(x + width for x, width in drawn), max(span.end_us for span in spans) / 1000)

    def test_all_reduces_show_their_intervals(self):
        answer = ddpsim.allreduce("dgxa100@4", begin="1M", end="64M")
        axes = answer.plot()
        self.assertEqual(list(axes.lines[0].get_ydata()), [row.busbw_gbps for row in answer.rows])
        self.assertEqual(len(axes.collections), 1)

    def test_the_fastest_cluster_is_on_top(self):
        answer = ddpsim.compare("resnet50-v100-b32", "dgx1v", "dgx1v@2", no_tune=True)
        axes = answer.plot()
        self.assertEqual([text.get_text() for text in axes.get_yticklabels()], ["dgx1v@2", "dgx1v"])

    def test_axes_can_be_passed(self):
        _, axes = pyplot.subplots()
        self.assertIs(ddpsim.allreduce("dgx1v").plot(axes), axes)

    def test_missing_matplotlib_is_named(self):
        with (
            mock.patch.dict(sys.modules, {"matplotlib": None}),
            self.assertRaisesRegex(ddpsim.Failure, "pip install matplotlib"),
        ):
            ddpsim.allreduce("dgx1v").plot()
        with self.assertRaisesRegex(ddpsim.Failure, "has no plot"):
            ddpsim.topo("dgx1v").plot()
