"""`ddpsim compare` shows the numbers of simulate and tune for several candidates, or one clear error."""

import csv
import json
import pathlib
import tempfile
import unittest

from command import answer, ddpsim

WORKLOAD = "resnet50-v100-b32"
A100 = "node:2 gpu:8xA100 nvswitch:300GBps nic:8x200Gbps:ib"
H100 = "node:2 gpu:8xH100 nvswitch:450GBps nic:8x400Gbps:ib"


class Figures(unittest.TestCase):
    def test_rows_match_simulate_and_tune(self):
        rows = answer("compare", WORKLOAD, "2xv100-nvlink", "dgx1v-1xedr@2")["rows"]
        for row in rows:
            step = answer("simulate", WORKLOAD, row["cluster"])
            self.assertEqual(step["iteration_us"], row["iteration_us"])
            self.assertEqual(step["confidence"], row["confidence"])
        # Caps are searched only for candidates that may be the fastest.
        self.assertEqual(answer("tune", WORKLOAD, "dgx1v-1xedr@2")["recommended"], rows[1]["best_cap"])
        self.assertIsNone(rows[0]["best_cap"])
        self.assertIsNone(answer("compare", WORKLOAD, "dgx1v", "--no-tune")["rows"][0]["best_cap"])

    def test_the_fastest_comes_first_and_is_slower_than_none(self):
        answered = answer("compare", WORKLOAD, "dgx1v@1", "dgx1v@4", "dgx1v@2..2")
        self.assertEqual([1, 2, 0], answered["by_speed"])
        self.assertEqual({"value": 0, "low": 0, "high": 0}, answered["rows"][1]["behind_percent"])
        self.assertTrue(answered["fastest_is_certain"])

    def test_the_same_bytes_on_any_number_of_threads(self):
        command = ["compare", WORKLOAD, "2xv100-nvlink", "dgx1v@2", "--json", "--threads"]
        self.assertEqual(ddpsim(*command, 1).out, ddpsim(*command, 5).out)

    def test_the_table_has_a_row_per_job(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "jobs.csv"
            self.assertEqual(0, ddpsim("compare", WORKLOAD, "dgx1v@1..2", "--csv", path).code)
            lines = path.read_text().splitlines()
        self.assertEqual(["label", "dgx1v@1", "dgx1v@2"], [line.split(",")[1] for line in lines])
        self.assertEqual({len(lines[0].split(","))}, {len(line.split(",")) for line in lines})

    def test_near_equal_clusters_are_not_decided(self):
        line = "node:2 gpu:8xV100 nvlink:6x25GBps:cube nic:4x100Gbps:"
        told = ddpsim("compare", WORKLOAD, line + "ib", line + "roce").out.splitlines()[0]
        self.assertIn(" train equally fast, as far as is known: ", told)

    def test_names_do_not_affect_the_order(self):
        """Candidates share errors of the same cause. The same two clusters differ by the same speedup, whatever their
        names."""
        line = "node:8 gpu:8xV100 nvlink:6x25GBps:cube nic:"
        slow, fast = line + "1x100Gbps:ib", line + "4x100Gbps:ib"
        leads = [
            [row["behind_percent"] for row in answer("compare", WORKLOAD, *two)["rows"]]
            for two in ((slow, fast), ("a=" + slow, "b=" + fast), ("pod=" + line + "{1,4}x100Gbps:ib",))
        ]
        self.assertEqual(leads[0], leads[1])
        self.assertEqual(leads[0], leads[2])

    def test_each_candidate_has_its_label(self):
        def labels(*words):
            rows = sorted(answer("compare", WORKLOAD, *words, "--no-tune")["rows"], key=lambda row: row["label"])
            return {row["label"]: row["cluster"] for row in rows}

        # The text before "=" is a label, unless it is part of a name or one side is missing.
        self.assertEqual({"pod": "dgx1v", "y@1": "dgx1v@1", "y@2": "dgx1v@2"}, labels("pod=dgx1v", "y=dgx1v@{1,2}"))
        whole = ["=dgx1v", "end=", "a:b=dgx1v", "a/b=dgx1v", "a@2=dgx1v"]
        self.assertEqual({**{text: text for text in whole}, "dgx1v": "dgx1v"}, labels("dgx1v", *whole))
        self.assertEqual(
            {"dgx1v": "dgx1v", "x1=dgx1v": "x1=dgx1v", "x2=dgx1v": "x2=dgx1v"}, labels("dgx1v", "x{1,2}=dgx1v")
        )
        # A single line is its own label. Several lines are labelled by the words in which they differ. Given labels are
        # kept.
        start = "node:2 gpu:8xV100 nvlink:6x25GBps:cube "
        one, two, three = (start + f"nic:{nics}x100Gbps:ib" for nics in (1, 2, 4))
        self.assertEqual({"dgx1v": "dgx1v", one: one}, labels("dgx1v", one))
        self.assertEqual(
            {"nic:1x100Gbps:ib": one, "nic:2x100Gbps:ib": two, "own": three}, labels(one, two, "own=" + three)
        )
        self.assertEqual(
            {"nic:1x100Gbps:ib": one, "nic:2x100Gbps:ib latency:3us": two + " latency:3us"},
            labels(one, two + " latency:3us"),
        )
        self.assertEqual({one: one}, labels(one, one))
        # With several schemes, the label is the scheme, after that of the cluster if there are several clusters.
        schemes = ("--scheme", "ddp", "--scheme", "zero1")
        self.assertEqual(["ddp", "zero1"], list(labels("dgx1v", *schemes)))
        self.assertEqual(
            ["a ddp", "a zero1", "dgx1v@2 ddp", "dgx1v@2 zero1"], list(labels("a=dgx1v", "dgx1v@2", *schemes))
        )
        self.assertEqual(["dgx1v"], list(labels("dgx1v", *schemes[2:])))

    def test_a_label_and_a_scheme_are_given_once(self):
        for words, message in (
            (["a=dgx1v", "a=dgx1v@2"], "a: two candidates have this label"),
            (["dgx1v", "dgx1v=dgx1v@2"], "dgx1v: two candidates have this label"),
            (["dgx1v", "--scheme", "ddp", "--scheme", "ddp"], "--scheme: the same scheme is given twice"),
        ):
            outcome = ddpsim("compare", WORKLOAD, *words)
            self.assertEqual(2, outcome.code)
            self.assertIn(message, outcome.err)

    def test_one_that_fails_is_a_row_with_its_reason(self):
        answered = answer("compare", WORKLOAD, "2xv100-nvlink", "dgx1b@2", A100, "pod=dgx1v@2")
        rows = {row["label"]: row for row in answered["rows"]}
        self.assertIn('Did you mean "dgx1v"?', rows["dgx1b@2"]["error"])
        self.assertIsNone(rows["dgx1b@2"]["ranks"])
        self.assertIn("recorded on V100", rows[A100]["error"])
        self.assertEqual(rows[A100]["ranks"], 16)
        self.assertEqual([answered["rows"][k]["label"] for k in answered["by_speed"]], ["pod", "2xv100-nvlink"])

    def test_a_global_batch_is_shared_by_all_gpus(self):
        rows = answer("compare", "resnet50-v100-b32", "dgx1v@{1,2}", "--global-batch", 512, "--no-tune")["rows"]
        for row, batch in zip(rows, (64, 32)):
            alone = answer("simulate", "resnet50-v100-b32", row["cluster"], "--batch", batch)
            self.assertEqual(alone["iteration_us"], row["iteration_us"])
            self.assertAlmostEqual(row["samples_per_second"], 512e6 / row["iteration_us"], 3)

    def test_sequences_cost_by_the_million_tokens(self):
        words = (
            "compare",
            "gpt2@A100:b2:s512:bf16",
            "dgxa100@1",
            "dgxa100@2",
            "--no-tune",
            "--price",
            "dgxa100@1=10/node_hour",
            "--price",
            "dgxa100@2=10/node_hour",
        )
        for row in answer(*words)["rows"]:
            cost = row["cost"]
            self.assertAlmostEqual(
                cost["usd_per_million_samples"]["value"], 512 * cost["usd_per_million_tokens"]["value"]
            )
            self.assertAlmostEqual(row["tokens_per_second"], 512 * row["samples_per_second"], delta=1e-3)
            hours = 1e6 / row["tokens_per_second"] / 3600
            self.assertAlmostEqual(cost["usd_per_million_tokens"]["value"], hours * cost["usd_per_hour"])
        self.assertIn("a million tokens", ddpsim(*words).out)
        images = answer(
            "compare", "resnet50-v100-b32", "dgx1v@1", "dgx1v@2", "--no-tune", "--price", "dgx1v@1=10/node_hour"
        )
        self.assertNotIn("usd_per_million_tokens", images["rows"][0]["cost"])

    def test_what_it_costs_follows_from_prices_and_times(self):
        row, other = answer(
            "compare",
            "resnet50-v100-b32",
            "dgx1v@2",
            "p3dn@2",
            "--price",
            "dgx1v@2=10/node_hour",
            "--price",
            "p3dn@2=2/gpu_hour",
            "--samples",
            1e6,
            "--no-tune",
        )["rows"]
        for one, hourly in ((row, 20), (other, 32)):
            cost, step = one["cost"], one["iteration_us"] / 1e6
            self.assertEqual(cost["usd_per_hour"], hourly)
            self.assertAlmostEqual(cost["usd_per_1000_steps"]["value"], 1000 * step * hourly / 3600, 6)
            self.assertAlmostEqual(cost["seconds"]["value"], 1e6 / one["samples_per_second"], 3)
            self.assertAlmostEqual(cost["usd"]["value"], cost["seconds"]["value"] * hourly / 3600, 6)
            self.assertLess(cost["usd"]["low"], cost["usd"]["value"])

    def test_owned_hardware_and_failures_apply_to_all_candidates_or_to_one(self):
        words = (
            "compare",
            WORKLOAD,
            "dgx1v@2",
            "p3dn@2",
            "--price",
            "dgx1v@2=100000/node",
            "--price",
            "p3dn@2=100000/node",
            "--energy-price",
            0.1,
            "--no-tune",
        )

        def hourly(*more):
            return [row["cost"]["usd_per_hour"] for row in answer(*words, *more)["rows"]]

        def owned(hours, kilowatts):
            return 2 * (100000 / hours + 0.1 * kilowatts)

        alike = hourly("--life", "40000h", "--node-power", "4kW")
        apart = hourly(
            "--life", "40000h", "--life", "p3dn@2=20000h", "--node-power", "dgx1v@2=8kW", "--node-power", "4kW"
        )
        for got, expected in zip(alike + apart, (owned(40000, 4), owned(40000, 4), owned(40000, 8), owned(20000, 4))):
            self.assertAlmostEqual(got, expected, 6)
        rows = answer(
            *words,
            "--life",
            "4y",
            "--node-power",
            "4kW",
            "--mtbf",
            "5000h",
            "--mtbf",
            "p3dn@2=50h",
            "--restart",
            "10min",
            "--checkpoint",
            "30s",
        )["rows"]
        self.assertGreater(rows[0]["cost"]["goodput"], rows[1]["cost"]["goodput"] + 0.02)
        text = " ".join(ddpsim(*words, "--life", "4y", "--life", "p3dn@2=5y", "--node-power", "4kW").out.split())
        self.assertIn("Purchase, dgx1v@2: spread over 4 years at", text)
        self.assertIn("Purchase, p3dn@2: spread over 5 years at", text)
        run = answer(
            "compare",
            WORKLOAD,
            "dgx1v@2",
            "p3dn@2",
            "--no-tune",
            "--nnodes",
            "1:2",
            "--mtbf",
            "dgx1v@2=5000h",
            "--mtbf",
            "p3dn@2=500h",
            "--checkpoint",
            "30s",
            "--elastic",
            "seeds=4",
        )["rows"]
        self.assertGreater(run[0]["elastic"]["goodput"], run[1]["elastic"]["goodput"])

    def test_a_message_names_the_option_that_was_given(self):
        words = (
            "compare",
            WORKLOAD,
            "dgx1v@1",
            "dgx1v@2",
            "--price",
            "dgx1v@1=1/node_hour",
            "--price",
            "dgx1v@2=1/node_hour",
        )
        for option, values in (
            ("--samples", (1, 2)),
            ("--energy-price", (1, 2)),
            ("--node-power", ("1kW", "2kW")),
            ("--node-power", ("dgx1v@1=1kW", "dgx1v@1=2kW")),
            ("--life", ("4y", "5y")),
            ("--utilisation", ("50%", "60%")),
            ("--mtbf", ("1y", "2y")),
            ("--mtbf", ("nobody=1y",)),
            ("--restart", ("1min", "2min")),
            ("--checkpoint", ("x=1s",)),
            ("--nnodes", ("1:2", "1:3")),
        ):
            given = [word for value in values for word in (option, value)]
            outcome = ddpsim(*words, *given)
            self.assertEqual(outcome.code, 2, given)
            self.assertTrue(outcome.err.startswith(f"ddpsim: {option}"), outcome.err)
        self.assertIn(
            '--mtbf nobody=1y: no candidate is called "nobody"; the candidates are dgx1v@1, dgx1v@2',
            ddpsim(*words, "--mtbf", "nobody=1y").err,
        )
        for text in ("=500h", "dgx1v@1="):
            self.assertIn(
                f"--mtbf {text}: expected one value for all candidates, or LABEL=VALUE for one of them",
                ddpsim(*words, "--mtbf", text).err,
            )

    def test_a_scheme_that_trains_differently_is_named_in_the_ranking(self):
        schemes = [
            word
            for scheme in ("ddp", "parameter_server:mode=async", "local_sgd:period=8", "fsdp2")
            for word in ("--scheme", scheme)
        ]
        words = ("compare", WORKLOAD, "p3dn@4", "--no-tune", *schemes)
        rows = {row["label"]: row["changed_numerics"] for row in answer(*words)["rows"]}
        self.assertEqual(
            [label for label, why in rows.items() if why], ["parameter_server:mode=async", "local_sgd:period=8"]
        )
        verdict = ddpsim(*words, "--quiet").out
        self.assertIn("This compares samples per second, not training quality: ", verdict)
        text = ddpsim(*words, "--verbose").out
        for label in ("parameter_server:mode=async", "local_sgd:period=8"):
            self.assertIn(f"warning: {label}: {rows[label]}"[:60], " ".join(text.split()))
        for words in (
            ("--scheme", "parameter_server:mode=async"),
            ("--scheme", "slowmo"),
            ("--comm-hook", "powersgd"),
            ("--comm-hook", "fp16"),
            ("--comm-hook", "post_localSGD"),
            ("--scheme", "fsdp2:reduce_dtype=bf16"),
        ):
            warnings = answer("simulate", WORKLOAD, "p3dn@4", *words)["warnings"]
            self.assertEqual(1, sum("a step learns differently from a step of DDP" in one for one in warnings), words)
        for words in ((), ("--scheme", "fsdp2"), ("--scheme", "parameter_server")):
            warnings = answer("simulate", WORKLOAD, "p3dn@4", *words)["warnings"]
            self.assertFalse([one for one in warnings if "learns differently" in one], words)
        # If it is the same for all, the order is also that of training.
        self.assertNotIn(
            "training quality",
            ddpsim("compare", WORKLOAD, "p3dn@2", "p3dn@4", "--no-tune", "--comm-hook", "fp16", "--quiet").out,
        )

    def test_one_scheme_left_looks_like_several(self):
        told = ddpsim("compare", WORKLOAD, "p3dn@2", "--scheme", "ddp", "--scheme", "data_parallel", "--no-tune").out
        self.assertIn("ddp (16 GPUs) is the only candidate that runs: ", told.splitlines()[0])
        several = ddpsim("compare", WORKLOAD, "p3dn@2", "--scheme", "ddp", "--scheme", "fsdp2", "--no-tune").out

        def head(text):
            return next(line.split() for line in text.splitlines() if "step ms" in line)

        self.assertEqual("candidate", head(told)[0])
        for column in ("memory", "efficiency"):
            self.assertEqual(column in head(told), column in head(several), column)

    def test_a_study_equals_the_typed_words(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "study.json"
            path.write_text(
                json.dumps(
                    {
                        "schema": "ddpsim.study/1",
                        "workload": str(WORKLOAD),
                        "candidates": [
                            {"label": "pod", "cluster": "dgx1v@{1,2}", "price": "3/gpu_hour"},
                            "2xv100-nvlink",
                        ],
                        "options": {"torch": "2.4", "bucket-cap-mb": 10, "static-graph": True, "no-tune": True},
                    }
                )
            )
            typed = ddpsim(
                "compare",
                WORKLOAD,
                "pod=dgx1v@{1,2}",
                "2xv100-nvlink",
                "--price",
                "pod=3/gpu_hour",
                "--torch",
                "2.4",
                "--bucket-cap-mb",
                10,
                "--static-graph",
                "--no-tune",
                "--json",
            ).out
            self.assertEqual(ddpsim("compare", "--study", path, "--json").out, typed)
            newer = ddpsim("compare", "--study", path, "--torch", "2.8", "--json").out
            self.assertIn('"torch": "2.8"', newer)

    def test_each_gpu_has_its_ratio(self):
        rows = answer(
            "compare", WORKLOAD, "dgx1v@2", A100, H100, "--compute-scale", "A100:2.1±0.2", "--compute-scale", "H100:3.5"
        )["rows"]
        self.assertEqual([1, 2.1, 3.5], [row["compute_scale"] for row in rows])

    def test_one_ratio_holds_for_the_one_gpu_that_differs(self):
        rows = answer("compare", WORKLOAD, "dgx1v@2", A100, "--compute-scale", "2.1")["rows"]
        self.assertEqual([1, 2.1], [row["compute_scale"] for row in rows])

    def test_a_measured_step_that_cannot_correct_other_numbers_of_nodes_is_named(self):
        words = ("compare", WORKLOAD, "dgx1v", "dgx1v@2", "--measured-step", "dgx1v=130ms")
        self.assertIn(
            "corrects no other number of nodes. The step of dgx1v@2 stays as predicted", answer(*words)["warnings"][0]
        )
        both = answer(*words, "--measured-step", "dgx1v@2=135ms")["warnings"]
        self.assertFalse([warning for warning in both if "stays as predicted" in warning])

    def test_a_measured_step_shortens_recorded_waits_for_every_candidate(self):
        # One batch comes per 200 ms, and a step is 94 ms of work.
        slow_loader = str(pathlib.Path(__file__).parent / "first_lines" / "slow-loader.json")
        rows = answer("compare", slow_loader, "dgx1v", "dgx1v@2", "--measured-step", "dgx1v=100ms")["rows"]
        self.assertAlmostEqual(rows[0]["iteration_us"], 100_000, delta=10)
        self.assertLess(rows[1]["iteration_us"], 120_000)

    def test_a_cluster_given_twice_takes_its_measured_step_in_both_rows(self):
        rows = answer("compare", WORKLOAD, "dgx1v@2", "dgx1v@2", "--measured-step", "dgx1v@2=120ms")["rows"]
        self.assertEqual([120000, 120000], [row["replay"]["measured_us"] for row in rows])
        self.assertEqual(*[row["replay"] for row in rows])


class Mix(unittest.TestCase):
    """Several workloads. Their shares refer to the time of the first candidate."""

    OTHER = "resnet18@V100:b64"

    def test_workloads_match_single_comparisons_and_make_the_mix(self):
        both = answer(
            "compare",
            "--workload",
            WORKLOAD + "=70%",
            "--workload",
            self.OTHER + "=30%",
            "dgx1v@2",
            "dgx1v@4",
            "--no-tune",
        )
        for own in both["workloads"]:
            alone = answer("compare", own["name"], "dgx1v@2", "dgx1v@4", "--no-tune")
            for key in ("rows", "by_speed", "fastest_is_certain"):
                self.assertEqual(alone[key], own[key])
        self.assertEqual([0.7, 0.3], [own["share"] for own in both["workloads"]])
        first, second = both["mix"]["rows"]
        self.assertEqual(("dgx1v@2", 1), (both["mix"]["reference"], first["time"]["value"]))
        ratio = sum(
            own["share"] * own["rows"][1]["iteration_us"] / own["rows"][0]["iteration_us"] / 2
            for own in both["workloads"]
        )
        self.assertAlmostEqual(ratio, second["time"]["value"], 9)
        self.assertAlmostEqual(100 * (1 / ratio - 1), first["behind_percent"]["value"], 5)

    def test_a_single_workload_answers_as_before(self):
        typed = ddpsim("compare", WORKLOAD, "dgx1v@1..2", "--json").out
        self.assertEqual(typed, ddpsim("compare", "--workload", WORKLOAD, "dgx1v@1..2", "--json").out)
        self.assertEqual(typed, ddpsim("compare", "--workload", WORKLOAD + "=30", "dgx1v@1..2", "--json").out)

    def test_a_candidate_that_cannot_run_a_workload_has_no_mix(self):
        both = answer("compare", "--workload", WORKLOAD, "--workload", self.OTHER, "dgx1v@2", A100, "--no-tune")
        self.assertEqual(["dgx1v@2", A100], [row["label"] for row in both["mix"]["rows"]])
        self.assertIn(WORKLOAD + ": /gpu: recorded on V100", both["mix"]["rows"][1]["error"])

    def test_a_study_has_shares(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "study.json"
            path.write_text(
                json.dumps(
                    {
                        "schema": "ddpsim.study/1",
                        "workloads": [{"workload": WORKLOAD, "share": "60%"}, {"workload": self.OTHER, "share": "40%"}],
                        "candidates": ["dgx1v@2", "dgx1v@4"],
                        "options": {"no-tune": True},
                    }
                )
            )
            typed = ddpsim(
                "compare",
                "--workload",
                WORKLOAD + "=60%",
                "--workload",
                self.OTHER + "=40%",
                "dgx1v@2",
                "dgx1v@4",
                "--no-tune",
                "--json",
            ).out
            self.assertEqual(typed, ddpsim("compare", "--study", path, "--json").out)

    def test_csv_has_a_row_for_each_workload_and_for_the_mix(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "mix.csv"
            ddpsim(
                "compare",
                "--workload",
                WORKLOAD,
                "--workload",
                self.OTHER,
                "dgx1v@2",
                "dgx1v@4",
                "--no-tune",
                "--csv",
                path,
            )
            with open(path, newline="", encoding="utf-8") as file:
                rows = list(csv.DictReader(file))
        self.assertEqual([WORKLOAD] * 2 + [self.OTHER] * 2 + ["mix"] * 2, [row["workload"] for row in rows])
        self.assertEqual("1", rows[4]["time"])
        self.assertTrue(float(rows[0]["behind_bandwidth_low_percent"]) < float(rows[0]["behind_percent"]))

    def test_a_measured_step_names_its_workload(self):
        words = ["compare", "--workload", WORKLOAD, "--workload", self.OTHER, "dgx1v@2", "dgx1v@4", "--no-tune"]
        both = answer(*words, "--measured-step", WORKLOAD + ":dgx1v@2=120ms")
        self.assertEqual(120000, both["workloads"][0]["rows"][0]["iteration_us"])
        self.assertNotIn("replay", both["workloads"][1]["rows"][0])
        self.assertIn("state which candidate it belongs to", ddpsim(*words, "--measured-step", "dgx1v@2=120ms").err)


class Searched(unittest.TestCase):
    """--until over [LOW..HIGH] gives the answer that all single values would give."""

    LINE = "node:[2..12] gpu:8xV100 nvlink:6x25GBps:cube nic:1x25Gbps:ib"

    def test_a_range_finds_the_same_as_its_single_values(self):
        out = answer("compare", WORKLOAD, "dgx1v@2..12", "--until", "efficiency<81%", "--no-tune")["until"][0]
        searched = answer("compare", WORKLOAD, "dgx1v@[2..12]", "--until", "efficiency<81%", "--no-tune")["until"][0]
        for key in ("predicted", "possible", "certain"):
            self.assertEqual([{end: row + 2 for end, row in one.items()} for one in out[key]], searched[key])
        self.assertEqual("[2..12]", searched["range"])

    def test_an_order_flips_where_a_comparison_of_the_two_flips(self):
        fabric = "fabric=node:4 gpu:8xV100 nvlink:6x25GBps:cube nic:1x[10..400]Gbps:ib"
        more = "more=node:4 gpu:8xV100 nvlink:6x25GBps:cube nic:4x25Gbps:ib"
        until = answer("compare", WORKLOAD, fabric, more, "--until", "fabric faster than more", "--no-tune")["until"][0]
        self.assertEqual(1, len(until["predicted"]), until)
        at = int(until["predicted"][0]["from"])
        for rate, first in ((at - 1, "more"), (at, "fabric")):
            answered = answer("compare", WORKLOAD, fabric.replace("[10..400]", str(rate)), more, "--no-tune")
            self.assertEqual(first, answered["rows"][answered["by_speed"][0]]["label"])
        self.assertLess(until["possible"][0]["from"], at)

    def test_a_price_and_a_compute_scale_are_searched_too(self):
        words = ["compare", WORKLOAD, "old=dgx1v@2", "new=dgxa100@2", "--no-tune"]
        price = answer(
            *words,
            "--gpu",
            "A100",
            "--price",
            "old=10/node_hour",
            "--price",
            "new=[5..80]/node_hour",
            "--until",
            "new cheaper than old",
        )["until"][0]
        self.assertEqual(5, price["predicted"][0]["from"])
        at = int(price["predicted"][0]["to"])
        rows = answer(*words, "--gpu", "A100", "--price", "old=10/node_hour", "--price", f"new={at}/node_hour")
        self.assertEqual("new", rows["rows"][rows["by_cost"][0]]["label"])
        scale = answer(*words, "--compute-scale", "A100:[0.50..3.00]", "--until", "new faster than old")["until"][0]
        self.assertTrue(0.5 < scale["predicted"][0]["from"] < 1.5, scale)

    def test_the_same_bytes_on_any_number_of_threads(self):
        command = ["compare", WORKLOAD, self.LINE, "--until", "efficiency<60%", "--no-tune", "--json", "--threads"]
        self.assertEqual(ddpsim(*command, 1).out, ddpsim(*command, 5).out)

    def test_a_range_or_until_that_makes_no_sense_is_one_message(self):
        for words, message in (
            (["dgx1v@[1..4]"], "the goal of the search is missing"),
            (["dgx1v@[1..4]", "--until", "a faster than b"], "no candidate is called"),
            (["dgx1v@[4..1]", "--until", "efficiency<90%"], "the larger one last"),
            (
                ["dgx1v@[1..4]", "dgx1v-1xedr@[1..8]", "--until", "efficiency<90%"],
                "only one range can be searched at a time",
            ),
        ):
            outcome = ddpsim("compare", WORKLOAD, *words)
            self.assertEqual(2, outcome.code)
            self.assertIn(message, outcome.err)
            self.assertEqual(1, outcome.err.count("\n"))


class Errors(unittest.TestCase):
    def check(self, code, words, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "jobs.csv"
            outcome = ddpsim("compare", WORKLOAD, *arguments, "--csv", path)
            self.assertFalse(path.exists())
        self.assertEqual(code, outcome.code, outcome.err)
        self.assertEqual("", outcome.out)
        self.assertEqual(1, outcome.err.count("\n"), outcome.err)
        self.assertIn(words, outcome.err)

    def test_the_first_error_is_printed_if_no_candidate_runs(self):
        self.check(3, 'Did you mean "dgx1v"?', "dgx1b@2", "nosuch")

    def test_a_wrong_range(self):
        self.check(3, "dgxa100@1..16*2", "dgx1v@4..2")

    def test_another_gpu_without_a_ratio(self):
        self.check(3, "recorded on V100", A100)

    def test_one_ratio_for_two_gpus(self):
        self.check(2, "Give each its own", "dgx1v@2", A100, H100, "--compute-scale", "2.1")

    def test_a_ratio_for_a_gpu_that_no_cluster_has(self):
        self.check(2, "no cluster has that GPU", "dgx1v", "--compute-scale", "H100:3")
        self.check(2, "no cluster has that GPU", "dgx1v", "--gpu", "H100")

    def test_a_ratio_that_no_cluster_needs(self):
        self.check(2, "--compute-scale: every cluster has the recorded GPU", "dgx1v", "--compute-scale", "2")

    def test_a_ratio_given_twice(self):
        self.check(2, "given twice", A100, "--compute-scale", "A100:2", "--compute-scale", "A100:3")

    def test_a_ratio_that_is_not_a_number(self):
        self.check(2, "is not a factor", A100, "--compute-scale", "A100:fast")


if __name__ == "__main__":
    unittest.main()
