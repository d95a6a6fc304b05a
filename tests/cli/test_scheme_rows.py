"""Tests the interpretation of rows of other schemes, and of their figures. The rows are made up."""

import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "accuracy"))

import scheme_figures  # noqa: E402
from vocabulary.gpus import WORDS as GPUS  # noqa: E402
from vocabulary.models import CATALOGUE, CONFIGS, model_of  # noqa: E402
import scheme_rows as rows  # noqa: E402
import schemes  # noqa: E402
from scheme_program import Predictor  # noqa: E402
from scheme_report import Case, figures_of  # noqa: E402
from scheme_wire import link_rate, sent_bytes  # noqa: E402

BINARY = os.environ.get("DDPSIM_BIN")


def row(**changes):
    made = {
        "row_id": "made-up",
        "source": "somebody",
        "source_ref": "",
        "model": "Llama2-7B",
        "params_M": "6740",
        "framework": "PyTorch",
        "gpu": "A100-80GB",
        "gpus_per_node": "8",
        "nodes": "2",
        "n_gpus": "16",
        "network": "1600 Gb/s RoCE between nodes",
        "precision": "bf16",
        "per_gpu_batch": "2",
        "metric": "tokens/s per GPU",
        "baseline_gpus": "",
        "value_1gpu": "",
        "value_ngpu": "3000",
        "scaling_efficiency": "",
        "flags": "",
        "notes": "",
        "scheme": "FSDP1 FULL_SHARD",
        "scheme_settings": "seq=2048",
    }
    return {**made, **changes}


def scheme(**changes):
    return rows.job_of(row(**changes)).scheme_text()


class Schemes(unittest.TestCase):
    def test_names_become_those_of_the_command_line(self):
        half = "param_dtype=bf16"
        self.assertEqual(scheme(), f"fsdp1:{half}")
        self.assertEqual(scheme(scheme="FSDP1 SHARD_GRAD_OP"), f"fsdp1:strategy=shard_grad_op,{half}")
        self.assertEqual(scheme(scheme="FSDP1 _HYBRID_SHARD_ZERO2"), f"fsdp1:strategy=hybrid_shard_zero2,{half}")
        self.assertEqual(scheme(scheme="FSDP1 (torch 2.3 nightly Nov 2023)"), f"fsdp1:{half}")
        self.assertEqual(
            scheme(scheme="FSDP2", framework="torchtitan FSDP2 (2024)"),
            f"fsdp2:{half},reduce_dtype=fp32,reshard_root=true",
        )
        self.assertEqual(scheme(scheme="DeepSpeed ZeRO-2"), "zero2")
        self.assertEqual(scheme(scheme="DeepSpeed ZeRO stage 1"), "zero1")
        self.assertEqual(scheme(scheme="DDP"), "ddp")
        self.assertEqual(scheme(scheme="DataParallel", nodes="1", n_gpus="8"), "data_parallel")
        self.assertEqual(
            scheme(scheme="parameter server in one process (variables on CPU)", nodes="1", n_gpus="8"),
            "parameter_server:servers=host,pull=forward",
        )
        several = "as many PS as workers except 8 instances (6 PS); seq=8"
        self.assertEqual(
            scheme(scheme="parameter server synchronous (distributed)", scheme_settings=several), "parameter_server"
        )
        self.assertEqual(
            scheme(
                scheme="parameter server synchronous (distributed)", scheme_settings=several, nodes="8", n_gpus="64"
            ),
            "parameter_server:servers=6",
        )
        self.assertEqual(
            scheme(scheme="BytePS PS sync (2 CPU server VMs)"),
            "parameter_server:servers=2,colocated=false,placement=partitioned,update=worker",
        )
        self.assertEqual(scheme(scheme="replicated all-reduce"), "naive:when=gradient")
        self.assertEqual(scheme(scheme="single GPU", n_gpus="1", nodes="1"), "none")

    def test_unknown_schemes_are_named(self):
        for stated, reason in (
            ("parameter server in one process (variables on GPU)", "not simulated: parameter server on GPUs"),
            ("BytePS", "number of servers not stated"),
            ("DeepSpeed ZenFlow", "not simulated: optimizer that steps late"),
            ("FSDP2+TP8", "not simulated: tensor, pipeline"),
            ("DeepSpeed ZeRO-1/2", "stage of ZeRO not stated"),
            ("replicated all-reduce (no NCCL)", "not simulated: all-reduce by copies"),
            ("Gossip", "not simulated: averaging without an option"),
            ("Flurble", "unknown word: Flurble"),
            ("DDP; flurble_size=3", "unknown word: flurble"),
            ("", "scheme not stated"),
        ):
            with self.assertRaisesRegex(rows.NotPredicted, reason, msg=stated):
                scheme(scheme=stated)

    def test_offload(self):
        there = {
            "DeepSpeed ZeRO-3 + CPU offload": "zero3:offload_optimizer=cpu,offload_param=cpu",
            "DeepSpeed ZeRO-3 Offload": "zero3:offload_optimizer=cpu,offload_param=cpu",
            "DeepSpeed ZeRO-Offload (cores bound)": "zero2:offload_optimizer=cpu",
        }
        sharded = {"scheme": "FSDP1 FULL_SHARD", "scheme_settings": "seq=8; cpu offload", "flags": "offload"}
        for stated, text in there.items():
            self.assertEqual(scheme(scheme=stated), text)
        self.assertEqual(scheme(**sharded), "fsdp1:param_dtype=bf16,cpu_offload=true")
        self.assertEqual(scheme(**sharded, nodes="1", n_gpus="1"), "fsdp1:param_dtype=bf16,cpu_offload=true")
        self.assertEqual(scheme(scheme_settings="seq=8; cpu_offload=False"), "fsdp1:param_dtype=bf16")
        with self.assertRaisesRegex(rows.NotPredicted, "steps late"):
            scheme(scheme="DeepSpeed ZenFlow")

    def test_stacks_differ_in_the_options_they_pass(self):
        composer = {"framework": "Composer/llm-foundry, PyTorch FSDP", "precision": "amp_bf16"}
        self.assertEqual(
            scheme(**composer, scheme_settings="mp=DEFAULT; seq=2048"),
            "fsdp1:param_dtype=bf16,reduce_dtype=fp32,backward_prefetch=post",
        )
        self.assertEqual(
            scheme(**composer, scheme_settings="mp=PURE; seq=2048"), "fsdp1:param_dtype=bf16,backward_prefetch=post"
        )
        self.assertEqual(
            scheme(
                framework="accelerate + PyTorch FSDP (2022)",
                precision="fp16",
                scheme_settings="min_num_params=2K; seq=8",
            ),
            "fsdp1:wrap=size,min_num_params=2000,backward_prefetch=none,limit_all_gathers=false",
        )
        self.assertEqual(
            scheme(
                scheme="DeepSpeed ZeRO-2",
                scheme_settings="overlap_comm=true; reduce_bucket=allgather_bucket=2e8; seq=8",
            ),
            "zero2:overlap_comm=true,reduce_bucket_size=200000000,allgather_bucket_size=200000000",
        )

    def test_micro_batches_are_reduced_each_or_once(self):
        def options(**changes):
            job = rows.job_of(row(**changes))
            return job.options, job.scheme_options.get("no_sync"), job.syncs_each

        composer = {"framework": "Composer/llm-foundry, PyTorch FSDP"}
        self.assertEqual(
            options(**composer, scheme_settings="grad_accum=3; seq=8"), (["--accumulate", "3"], "false", True)
        )
        self.assertEqual(options(**composer, scheme_settings="grad_accum=1; seq=8"), ([], None, False))
        self.assertEqual(options(scheme="DDP", scheme_settings="accum 4; seq=8"), (["--accumulate", "4"], None, False))
        self.assertEqual(
            options(
                scheme="DDP gradient accumulation", scheme_settings="accumulation=4; every micro-batch synced; seq=8"
            ),
            ([], None, True),
        )

    def test_checkpointing(self):
        for settings, kind in (
            ("act_ckpt=True", "full"),
            ("act_ckpt=False", "none"),
            ("selective act ckpt; compile", "selective"),
            ("no act ckpt; compile", "none"),
            ("full act ckpt", "full"),
            ("layers with act ckpt=0", "none"),
            ("selective per-op act ckpt", "selective"),
            ("act ckpt; seq=8", "full"),
            ("layers with act ckpt=10", "10"),
            ("", "none"),
        ):
            self.assertEqual(rows.job_of(row(scheme_settings=settings)).checkpointing, kind, settings)
        with self.assertRaisesRegex(rows.NotPredicted, "checkpointing of every other"):
            scheme(scheme_settings="seq=2048; selective per-layer act ckpt")

    def with_script(self, **changes):
        return rows.job_of(schemes.with_scripts([row(**changes)])[0])

    def test_a_script_fills_in_what_a_row_leaves_open(self):
        belle = {
            "source": "LianjiaTech/BELLE",
            "source_ref": "LianjiaTech/BELLE#402",
            "model": "BLOOM-560M",
            "gpu": "TITAN RTX 24GB",
            "gpus_per_node": "2",
            "nodes": "1",
            "n_gpus": "2",
            "network": "",
            "precision": "",
            "metric": "batches/s",
            "per_gpu_batch": "1",
        }
        job = self.with_script(**belle, scheme="DeepSpeed ZeRO-1")
        self.assertEqual(
            (job.checkpointing, job.micro_batches, job.precision, job.options),
            ("full", 4, "amp", ["--accumulate", "4"]),
        )
        self.assertEqual(
            self.with_script(**belle, scheme="DeepSpeed ZeRO-3").scheme_text(),
            "zero3:stage3_prefetch_bucket_size=30000000,stage3_param_persistence_threshold=10000,"
            "stage3_max_live_parameters=30000000",
        )
        stated = self.with_script(**belle, scheme="DeepSpeed ZeRO-1", scheme_settings="seq=8; no act ckpt; accum 2")
        self.assertEqual((stated.checkpointing, stated.micro_batches), ("none", 2))
        self.assertEqual(
            self.with_script(**{**belle, "source": "somebody"}, scheme="DeepSpeed ZeRO-1").micro_batches, 1
        )

    def test_a_script_may_contradict_the_precision_of_a_row_only_under_fsdp(self):
        page = {
            "source": "huggingface/blog",
            "source_ref": "huggingface/blog@0:pytorch-fsdp.md",
            "model": "GPT-2 Large 762M",
            "gpu": "Titan RTX 24GB",
            "gpus_per_node": "2",
            "nodes": "1",
            "n_gpus": "2",
            "network": "",
            "precision": "fp16",
            "framework": "accelerate + PyTorch FSDP (2022)",
            "scheme_settings": "",
        }
        sharded, replicated = (self.with_script(**page, scheme=name) for name in ("FSDP1 FULL_SHARD", "DDP"))
        self.assertEqual((sharded.precision, replicated.precision, sharded.sequence), ("fp32", "amp", 128))
        self.assertEqual(sharded.cluster, "node:1 gpu:2xTITANRTX nvlink:2x25GBps")
        self.assertTrue(sharded.guesses_links)
        self.assertEqual(rows.with_other_links(sharded), [])

    def test_parameters_that_a_script_loads_in_bfloat16_stay_so_under_any_scheme(self):
        page = {
            "source": "whyNLP/tinyllama",
            "model": "TinyLlama 1.1B",
            "gpu": "RTX 4090",
            "gpus_per_node": "2",
            "nodes": "1",
            "n_gpus": "2",
            "network": "",
            "precision": "",
            "scheme_settings": "accum 4",
        }
        self.assertTrue(self.with_script(**page, scheme="DDP").arrives_in_bf16)
        self.assertEqual(self.with_script(**page, scheme="DDP").sequence, 2048)
        self.assertFalse(rows.job_of(row(scheme="DDP")).arrives_in_bf16)

    def test_words_both_sides_of_a_ratio_must_share(self):
        self.assertEqual(rows.job_of(row(scheme_settings="seq=8; no compile")).words, ())
        self.assertEqual(rows.job_of(row(scheme_settings="seq=8; torch.compile + Float8")).words, ("compile", "fp8"))
        self.assertEqual(rows.job_of(row(precision="amp_fp8")).words, ("fp8",))


class Clusters(unittest.TestCase):
    def line(self, **changes):
        return rows.job_of(row(**changes)).cluster

    def test_the_words_of_a_row_become_a_cluster_line(self):
        self.assertEqual(self.line(), "node:2 gpu:8xA100 nvswitch:300GBps nic:8x200Gbps:roce")
        self.assertEqual(
            self.line(network="8 x 200 Gb/s HDR per VM"), "node:2 gpu:8xA100 nvswitch:300GBps nic:8x200Gbps:ib"
        )
        self.assertEqual(
            self.line(gpu="H100", network="NVLink within host of 8; 400 Gb/s RDMA per GPU between hosts"),
            "node:2 gpu:8xH100 nvswitch:450GBps nic:8x400Gbps:ib",
        )
        self.assertEqual(
            self.line(gpu="H200", network="NVLink; one 400 Gb/s CX-7 per GPU"),
            "node:2 gpu:8xH200 nvswitch:450GBps nic:8x400Gbps:ib",
        )
        self.assertEqual(
            self.line(gpu="P100-SXM2", nodes="1", n_gpus="8", network="DGX-1 (P100, NVLink)", precision="fp32"),
            "node:1 gpu:8xP100 nvlink:4x20GBps:cube",
        )
        self.assertEqual(
            self.line(gpu="RTX 4090", gpus_per_node="2", nodes="1", n_gpus="2"), "node:1 gpu:2xRTX4090 pcie:31.5GBps"
        )
        self.assertEqual(
            self.line(gpu="V100", gpus_per_node="1", n_gpus="2", network="cloud TCP 13.7-21 Gb/s measured"),
            "node:2 gpu:1xV100 nic:1x13.7Gbps:tcp",
        )

    def test_usual_values_that_are_assumed_are_named(self):
        self.assertEqual(rows.job_of(row()).assumed, [])
        silent = rows.job_of(row(network="", flags="gpn-assumed"))
        self.assertEqual(silent.cluster, "node:2 gpu:8xA100 nvswitch:300GBps nic:8x200Gbps:ib")
        self.assertEqual(len(silent.assumed), 2)

    def test_a_pair_of_cards_may_be_bridged(self):
        pair = rows.job_of(
            row(gpu="TITAN RTX 24GB", gpus_per_node="2", nodes="1", n_gpus="2", network="", precision="fp32")
        )
        self.assertEqual(pair.cluster, "node:1 gpu:2xTITANRTX pcie:15.75GBps")
        self.assertTrue(pair.guesses_links)
        self.assertEqual(
            [job.cluster for job in rows.with_other_links(pair)], ["node:1 gpu:2xTITANRTX nvlink:2x25GBps"]
        )
        stated = row(gpu="RTX 4090", gpus_per_node="2", nodes="1", n_gpus="2", network="", precision="fp32")
        self.assertEqual(rows.with_other_links(rows.job_of(stated)), [])

    def test_all_groups_of_a_machine_have_the_same_links(self):
        one, other = row(source_ref="page", model="BLOOM-560M"), row(source_ref="page", model="BLOOM-1.1B")
        self.assertEqual(rows.machine_of(one), rows.machine_of(other))
        self.assertNotEqual(rows.machine_of(one), rows.machine_of(row(source_ref="page", gpu="A100-40GB")))
        self.assertEqual(schemes.least_scaled([[0.9, 1.05], [0.6, 0.7]]), 1)
        self.assertEqual(schemes.least_scaled([[0.9, 1.05], [0.9, 0.5]]), 0)
        self.assertEqual(schemes.least_scaled([[0.5, 1.05], [0.5, None]]), 0)
        self.assertEqual(schemes.least_scaled([[2.0]]), 0)

    def test_a_step_that_compute_does_not_explain_has_no_scale(self):
        class Inverse(Predictor):
            def step_s(self, job, scale=1.0):
                return 10 / scale

        alone, older = (
            rows.job_of(
                row(gpu=gpu, nodes="1", n_gpus="1", model="ResNet-50", precision="fp32", network="", baseline_gpus="1")
            )
            for gpu in ("A100-80GB", "K80")
        )
        predictor = Inverse(None, None)
        self.assertAlmostEqual(predictor.scale_for(alone, 20), 0.5, 2)
        self.assertIsNone(predictor.scale_for(alone, 60))
        self.assertIsNone(predictor.scale_for(alone, 2))
        self.assertAlmostEqual(predictor.scale_for(older, 60), 1 / 6, 2)

    def test_servers_step_as_their_stack_does(self):
        served = {"scheme": "parameter server synchronous (distributed)"}
        self.assertEqual(rows.job_of(row(**served, framework="TensorFlow 1.x tf_cnn_benchmarks")).estimate, ("sgd",))
        self.assertEqual(rows.job_of(row(**served)).estimate, ())

    def test_a_newer_gpu_stands_in_and_says_so(self):
        stated = {"gpu": "K80 (half board)", "network": "AWS p2.8xlarge, 10 Gb/s class", "model": "ResNet-50"}
        # No step is given to which the stand-in could be scaled.
        with self.assertRaisesRegex(rows.NotPredicted, "GPU not in"):
            rows.job_of(row(**stated))
        job = rows.job_of(row(**stated, baseline_gpus="1"))
        self.assertTrue(job.stands_in)
        self.assertEqual(job.cluster, "node:2 gpu:8xP100 pcie:15.75GBps nic:1x10Gbps:tcp")
        self.assertFalse(rows.job_of(row()).stands_in)
        self.assertFalse(rows.job_of(row(gpu="RTX 3090")).stands_in)

    def test_an_unknowable_fact_is_a_reason(self):
        for changes, reason in (
            ({"gpu": ""}, "GPU not stated"),
            ({"gpu": "M60"}, "GPU not in"),
            ({"n_gpus": "", "nodes": ""}, "GPUs not stated"),
            ({"n_gpus": "24"}, "contradiction: GPUs"),
            ({"scheme": "DDP", "scheme_settings": "strategy=SHARD_GRAD_OP"}, "contradiction: strategy"),
            ({"scheme": "ZeRO-2", "scheme_settings": "stage: 3"}, "contradiction: stage"),
            ({"gpu": "T4 (GCP)", "gpus_per_node": "1", "n_gpus": "2", "network": ""}, "network"),
            ({"per_gpu_batch": ""}, "batch"),
            ({"model": "LLM fine-tune", "params_M": ""}, "dimensions"),
        ):
            with self.assertRaisesRegex(rows.NotPredicted, reason):
                self.line(**changes)

    def test_a_flag_says_that_a_figure_is_no_measurement_of_a_step(self):
        self.assertIsNone(rows.not_judged(row(flags="group=x approx")))
        self.assertEqual(rows.not_judged(row(flags="group=x context-missing")), "flag context-missing")

    def test_a_baseline_is_the_same_job_on_fewer_gpus(self):
        job = rows.job_of(row(baseline_gpus="8"), baseline=True)
        self.assertEqual((job.nodes, job.gpus, job.scheme), (1, 8, "fsdp1"))
        self.assertEqual(job.cluster, "node:1 gpu:8xA100 nvswitch:300GBps")
        half = rows.job_of(row(baseline_gpus="4"), baseline=True)
        self.assertEqual((half.cluster, half.options), (job.cluster, ["--gpus-per-node", "4"]))
        alone = rows.job_of(row(baseline_gpus="1"), baseline=True)
        self.assertEqual((alone.scheme, alone.options), ("none", []))


class Figures(unittest.TestCase):
    def speed(self, metric, value, **changes):
        found = scheme_figures.speed_of(metric, value, rows.job_of(row(**changes)))
        return found and (round(found.value, 6), found.unit, found.step_s and round(found.step_s, 6))

    def test_samples_of_all_gpus_a_second_and_the_step(self):
        self.assertEqual(self.speed("tokens/s per GPU", "4096"), (32, "samples/s", 1))
        self.assertEqual(self.speed("k tokens/s total", "65.536"), (32, "samples/s", 1))
        self.assertEqual(self.speed("images/s total", "64", model="ResNet-50"), (64, "samples/s", 0.5))
        self.assertEqual(self.speed("ms/iter", "500"), (64, "samples/s", 0.5))
        self.assertEqual(self.speed("batches/s", "4"), (128, "samples/s", 0.25))
        self.assertEqual(self.speed("batches/s", "4", scheme_settings="accumulation=4; seq=8"), (128, "samples/s", 1))
        self.assertEqual(self.speed("it/s", "4", scheme_settings="accumulation=4; seq=8"), (512, "samples/s", 0.25))
        self.assertEqual(self.speed("s per 2000 training items", "20"), (100, "samples/s", 0.32))
        self.assertEqual(self.speed("minutes per run (run_clm)", "2"), (round(1 / 120, 6), "runs/s", None))
        self.assertEqual(self.speed("s/epoch (mean of 2 epochs)", "4"), (0.25, "runs/s", None))
        self.assertEqual(
            self.speed("s per micro-batch", "0.5", scheme_settings="accumulation=4; seq=8"), (64, "samples/s", 2)
        )
        for metric in (
            "MB/s",
            "peak GB per GPU",
            "hours mean time to failure",
            "minutes stall per failure",
            "TFLOPS per GPU",
        ):
            self.assertIsNone(self.speed(metric, "1"), metric)

    def test_peaks_by_their_counter(self):
        def found(**changes):
            return [(m.counter, round(m.bytes)) for m in scheme_figures.memory_of(row(**changes))]

        self.assertEqual(found(metric="peak GB per GPU", value_ngpu="12.5"), [("peak", 12_500_000_000)])
        self.assertEqual(
            found(notes="16 samples/s; allocated/reserved 43.86/70.14 GB"),
            [("allocated", 43_860_000_000), ("reserved", 70_140_000_000)],
        )
        self.assertEqual(
            found(notes="memory of 100 GiB: active 25 % reserved 50 %"),
            [("allocated", 25 << 30), ("reserved", 50 << 30)],
        )
        self.assertEqual(found(notes="peak memory 82.0 GiB"), [("reserved", 82 << 30)])
        self.assertEqual(found(), [])


class OneStep(Predictor):
    """A predictor of a step with 0.3 s of communication, and 0.7 s of compute at scale 1."""

    def __init__(self):
        super().__init__(None, "")

    def step_s(self, job, scale=1.0):
        return 0.3 + 0.7 / scale

    def compute_s(self, job):
        return 0.7


class Statistics(unittest.TestCase):
    def case(self, measured, predicted, table="ratios"):
        return Case(table, "scheme", "ddp", "g: a over b", measured, predicted, {}, False)

    def test_errors_and_signs(self):
        self.assertAlmostEqual(self.case(2, 1).error(), 1)
        self.assertAlmostEqual(self.case(1, 2).error(), 1)
        self.assertAlmostEqual(self.case(2, 1, "memory").error(), 0.5)
        self.assertFalse(self.case(1.04, 0.9).has_sign())
        self.assertTrue(self.case(0.95, 0.9).has_sign())
        self.assertTrue(self.case(1.2, 1.01).sign_is_right())
        self.assertFalse(self.case(1.2, 1).sign_is_right())
        self.assertFalse(self.case(1.2, 1.001).sign_is_right())
        self.assertFalse(self.case(1.2, 0.9).sign_is_right())
        right, signed, median, p90, worst = figures_of([self.case(2, 1), self.case(1.1, 1.1), self.case(1, 1)])
        self.assertEqual((right, signed, median, p90, worst), (1, 2, 0, 1, 1))

    def test_the_scale_is_found_if_there_is_one(self):
        predictor, job = OneStep(), rows.job_of(row())
        self.assertAlmostEqual(predictor.scale_for(job, 0.65), 2, delta=0.01)
        self.assertAlmostEqual(predictor.scale_for(job, 1.7), 0.5, delta=0.01)
        self.assertIsNone(predictor.scale_for(job, 0.2))

    def test_bytes_over_bandwidth(self):
        job = rows.job_of(row())
        self.assertAlmostEqual(sent_bytes(job, row()), 6740e6 * 6 * 15 / 16)
        self.assertAlmostEqual(link_rate(job), 200e9)
        ddp = rows.job_of(row(scheme="DDP", nodes="1", n_gpus="8"))
        self.assertAlmostEqual(sent_bytes(ddp, row()), 6740e6 * 8 * 7 / 8)
        self.assertAlmostEqual(link_rate(ddp), 300e9)


class Models(unittest.TestCase):
    def name(self, text, millions=""):
        model = model_of(text, millions)[0]
        return model and (model.config or model.name)

    def test_names_are_found_however_they_are_spelt(self):
        for text, name in (
            ("Llama-2 7B", "llama2-7b"),
            ("meta-llama/Llama-2-7b-hf", "llama2-7b"),
            ("Granite 7B (Llama2 architecture)", "llama2-7b"),
            ("ResNet 50", "resnet50"),
            ("RN50v1.5", "resnet50"),
            ("MPT-1.3B", "mpt-1b"),
            ("MPT-13B", "mpt-13b"),
            ("BERT-large SQuAD finetune", "bert-large"),
            ("ViT-L/16", "vit_l_16"),
        ):
            self.assertEqual(self.name(text), name, text)

    def test_a_size_alone_has_the_dimensions_of_a_paper_or_of_usual_proportions(self):
        self.assertEqual(self.name("1.3B GPT"), "gpt-1.3b")
        self.assertEqual(self.name("dense 7B"), "llama2-7b")
        self.assertEqual(self.name("22B transformer"), "llama:layers=48,hidden=6144,ffn=16384")
        self.assertEqual(
            self.name("own Llama (24 layers, hidden 2048, 16 heads, ffn 5504, vocab 32000)"),
            "llama:layers=24,hidden=2048,heads=16,ffn=5504,vocab=32000",
        )
        self.assertTrue(model_of("dense 7B")[0].sized)
        self.assertFalse(model_of("Llama-2 7B")[0].sized)

    def test_a_changed_or_unknown_model_is_none(self):
        for text in (
            "LLM fine-tune",
            "Llama2-7B (20 layers)",
            "Yi-6B LoRA",
            "ResNet (see thread)",
            "BERT",
            "modded GPT-2 124M",
            "",
        ):
            self.assertIsNone(self.name(text), text)

    def test_the_program_knows_the_names(self):
        if not BINARY:
            self.skipTest("no program")
        listed = subprocess.run([BINARY, "list", "--json"], capture_output=True, text=True, check=True).stdout
        known = {model["name"] for model in json.loads(listed)["models"]}
        self.assertLessEqual({name for names in CATALOGUE.values() for name in names.split()}, known)
        gpus = {gpu["model"] for gpu in json.loads(listed)["gpus"]} | {
            gpu["name"] for gpu in json.loads(listed)["gpus"]
        }
        self.assertLessEqual({entry.value for entry in GPUS.values() if entry.concept in ("gpu", "stand_in")}, gpus)

    def test_dimensions_give_the_published_parameters(self):
        for name, millions in (("olmo-1b", 1177), ("cs336-xl", 1998), ("llama-65b", 65286)):
            config = CONFIGS[name]
            hidden, heads = config["hidden_size"], config["num_attention_heads"]
            attention = 2 * hidden * hidden * (1 + config["num_key_value_heads"] / heads)
            block = attention + 3 * hidden * config["intermediate_size"] + 2 * hidden
            words = config["vocab_size"] * hidden * (1 if config["tie_word_embeddings"] else 2)
            self.assertEqual(round((config["num_hidden_layers"] * block + hidden + words) / 1e6), millions, name)


if __name__ == "__main__":
    unittest.main()
