"""Copies of real traces, changed to look like other schemes: none is taken for plain DDP."""

import pathlib
import tempfile
import unittest

import trace_copies as copies
from command import SHARED, ddpsim, write_json

TRACES = SHARED / "data" / "traces"
R50 = "r50-ddp-2xA100-rank0"
ONE_RANK = "r50-ddp-1xV100-rank0"
DLRM = "dlrm-ddp-8xV100-rank0"
DDP = (R50, ONE_RANK, DLRM)


def scattered(trace):
    return copies.renamed(copies.without_ddp(trace), "all_reduce", "reduce_scatter_tensor")


@unittest.skipUnless(TRACES.is_dir(), f"no real traces: {TRACES} is not there")
class OtherSchemes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # ATen's operators are left out. They are two thirds of the events and do not tell the scheme.
        cls.traces = {
            name: copies.keep(
                copies.read(TRACES / f"{name}.json.gz"), lambda event: not str(event.get("name")).startswith("aten::")
            )
            for name in DDP
        }

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def trace(self, name=R50):
        return copies.copied(self.traces[name])

    def imported(self, trace):
        output = self.folder / "workload.json"
        output.unlink(missing_ok=True)
        outcome = ddpsim("import", write_json(self.folder / "copy.json", trace), "-o", output)
        return outcome, output

    def refused(self, trace, *fragments):
        outcome, output = self.imported(trace)
        self.assertEqual(outcome.code, 3, outcome.err)
        self.assertFalse(output.exists())
        for fragment in (*fragments, "copy.json"):
            self.assertIn(fragment, outcome.err)

    def accepted(self, trace, *fragments):
        outcome, output = self.imported(trace)
        self.assertEqual(outcome.code, 0, outcome.err)
        for fragment in fragments:
            self.assertIn(fragment, outcome.err)
        return copies.json.loads(output.read_text())

    def test_sharded_gradients_are_named(self):
        for name in DDP:
            with self.subTest(trace=name):
                self.refused(
                    scattered(self.trace(name)),
                    "reduce-scatter",
                    "sharded",
                    "ddpsim simulates DistributedDataParallel",
                    "Record this model under DDP",
                )
        fsdp = copies.renamed(scattered(self.trace()), "broadcast", "all_gather_into_tensor")
        self.refused(fsdp, "5 reduce-scatters a step", "as by FSDP or ZeRO 3")
        for name, called in [
            ("FullyShardedDataParallel._pre_forward", "FullyShardedDataParallel ran"),
            ("FSDP::pre_forward (layers.0)", "FSDP 2, fully_shard, ran"),
        ]:
            for trace in DDP:
                self.refused(copies.with_range(scattered(self.trace(trace)), name), called, name)
        unsharded = copies.with_range(copies.without_ddp(self.trace()), "FSDP::pre_forward (layers.0)")
        self.refused(
            unsharded,
            "replicate, or fully_shard in groups of one rank, ran",
            "all-reduces the gradients of each module",
        )
        self.refused(copies.with_range(fsdp, "PreBackwardFunctionForModuleBackward"), "by DeepSpeed's ZeRO 3")
        hybrid = copies.renamed(
            copies.without_ddp(self.trace()), "all_reduce", "reduce_scatter_tensor", lambda k: k % 2 == 0
        )
        self.refused(hybrid, "hybrid FSDP (HSDP)")

    def test_a_partitioned_optimizer_is_named(self):
        gathered = copies.with_collective(scattered(self.trace()), "all_gather_into_tensor", 12_778_516)
        self.refused(gathered, "ZeRO 1 or 2 or Megatron-LM's distributed optimizer")
        self.refused(copies.with_range(copies.copied(gathered), "DeepSpeedEngine.step"), "DeepSpeed's ZeRO 1 or 2")
        self.refused(
            copies.with_range(gathered, "_CopyToModelParallelRegion"), "by Megatron-LM's distributed optimizer"
        )
        reduced = copies.with_collective(copies.without_ddp(self.trace()), "all_gather_into_tensor", 12_778_516)
        self.refused(reduced, "1 all-gather after backward", "ZeRO 1 or 2")
        to_one = copies.renamed(copies.without_ddp(self.trace()), "all_reduce", "reduce")
        self.refused(to_one, "5 reduces a step", "ZeRO")

    def test_model_parallel_ranks_are_named(self):
        for name in DDP:
            with self.subTest(trace=name):
                staged = copies.renamed(copies.without_ddp(self.trace(name)), "all_reduce", "send")
                self.refused(staged, "sends or receives a step", "a stage of a pipeline")
        part = copies.of_group(self.trace(), "all_reduce", "DATA_PARALLEL_GROUP", 2)
        part["distributedInfo"]["world_size"] = 4
        self.refused(part, "among 2 of 4 ranks (group DATA_PARALLEL_GROUP)", "tensor, pipeline or expert parallel")
        experts = copies.renamed(copies.copied(part), "broadcast", "all_to_all")
        self.refused(experts, "2 all-to-alls a step: expert parallel")
        tensors = copies.renamed(copies.copied(part), "broadcast", "all_reduce")
        self.refused(tensors, "tensor parallel")
        alone = copies.without(copies.without_ddp(self.trace()), "all_reduce")
        self.refused(
            copies.renamed(alone, "broadcast", "all_reduce"), "2 all-reduces a step in forward", "tensor parallel"
        )

    def test_one_process_and_horovod_are_named(self):
        replicas = copies.without(copies.without_ddp(self.trace()), "all_reduce")
        copies.with_range(replicas, "DataParallel.forward", 1)
        self.accepted(copies.copied(replicas))  # on one GPU it is a plain model
        for k, event in enumerate(copies.spans(replicas)):
            if event.get("cat") == "kernel" and k % 2:
                event["args"]["device"] = 1
        self.refused(replicas, "DataParallel ran", "on 2 GPUs: one process")
        horovod = copies.without_ddp(self.trace())
        self.refused(copies.with_range(copies.copied(horovod), "HorovodAllreduce"), "Horovod ran")
        calls = {"record_param_comms", "nccl:all_reduce", "nccl:broadcast"}
        horovod = copies.keep(horovod, lambda event: event.get("name") not in calls)
        launched = {
            event["args"]["correlation"]
            for event in copies.spans(horovod)
            if event.get("cat") == "kernel" and copies.is_collective(event, "all_reduce")
        }
        for event in copies.spans(horovod):
            if event.get("cat") == "cuda_runtime" and event["args"].get("correlation") in launched:
                event["tid"] = 4711
        self.refused(horovod, "5 all-reduces a step from a thread of their own", "as Horovod calls them")

    def test_accumulation_is_set_and_the_synchronised_step_taken(self):
        trace = self.trace(ONE_RANK)
        times = copies.step_times(trace)
        document = self.accepted(
            copies.without(trace, "all_reduce", [times[k] for k in (0, 2, 4)]),
            "3 of 5 steps launch no all-reduce",
            "took ProfilerStep#102",
            "--accumulate is 2",
        )
        self.assertEqual(document["recorded_with"]["accumulate"], 2)
        trace = self.trace()
        document = self.accepted(
            copies.without(trace, "all_reduce", copies.step_times(trace)[:2]),
            "took ProfilerStep#6",
            "may have more than 3",
        )
        self.assertEqual(document["recorded_with"]["accumulate"], 3)
        self.refused(copies.without(self.trace(), "all_reduce"), "DDP ran on 2 ranks", "micro-batches under no_sync()")

    def test_merged_steps_are_taken_apart(self):
        for name, buckets in ((R50, 5), (ONE_RANK, 5)):
            for with_marker in (True, False):
                for optimizer_steps in ("all", "none"):
                    if not with_marker and (optimizer_steps == "all" or name == ONE_RANK):
                        continue  # it is already divided
                    with self.subTest(trace=name, with_marker=with_marker, optimizer_steps=optimizer_steps):
                        document = self.accepted(
                            copies.merged(self.trace(name), 3, with_marker, optimizer_steps),
                            "3 backward passes",
                            f"{buckets} buckets recorded: 8196000 31502336 26255360 26550272 9724160 bytes",
                        )
                        self.assertEqual(len(document["backward"]["ready"]), 161)
                        self.assertNotIn("accumulate", document["recorded_with"])

    def test_merged_micro_batches_are_accumulation(self):
        trace = self.trace()
        times = copies.step_times(trace)
        for with_marker in (True, False):
            document = self.accepted(
                copies.merged(copies.without(trace, "all_reduce", times[:2]), 3, with_marker, "the last"),
                "3 backward passes",
                "(3 of 3)",
                "--accumulate is 3",
                "5 buckets recorded",
            )
            self.assertEqual(document["recorded_with"]["accumulate"], 3)
            self.assertEqual(len(document["backward"]["ready"]), 161)

    def test_collectives_outside_the_reducer_are_named(self):
        trace = copies.from_script(copies.without_ddp(self.trace()))
        document = self.accepted(trace, "not DDP's reducer but the script, after backward, made the 5 all-reduces")
        self.assertEqual(document["recorded_with"]["reduced_by"], "script")
        self.assertEqual(len(document["recorded_with"]["collectives"]), 5)
        tuned = ddpsim(
            "tune", self.folder / "copy.json", "node:1 gpu:2xA100 nvlink:12x25GBps", "--model", "resnet50", "--verbose"
        )
        self.assertEqual(tuned.code, 0, tuned.err)
        self.assertIn("no bucket cap was used", " ".join(tuned.out.split()))
        self.assertIn("PyTorch's bucketing is not how this job ran", " ".join((tuned.out + tuned.err).split()))

    def test_without_host_events_the_scheme_is_unknown(self):
        kernels = copies.keep(self.trace(), lambda event: event.get("cat") not in ("cpu_op", "user_annotation"))
        self.refused(kernels, "cannot tell how gradients are reduced", "ProfilerActivity.CPU")

    def test_the_original_traces_are_ddp_and_name_other_collectives(self):
        for name, beside in (
            (R50, ""),
            (ONE_RANK, ""),
            (DLRM, "other collectives than the gradients' all-reduces: 5 all-to-alls;"),
        ):
            document = self.accepted(copies.read(TRACES / f"{name}.json.gz"), beside)
            self.assertNotIn("reduced_by", document["recorded_with"])
            self.assertNotIn("accumulate", document["recorded_with"])
        compiled = copies.read(TRACES / "compiled-allreduce-2xV100-rank1.json.gz")
        document = self.accepted(compiled, "not DDP's reducer but nodes of torch.compile made", "one for each")
        self.assertEqual(document["recorded_with"]["reduced_by"], "compiled")


if __name__ == "__main__":
    unittest.main()
