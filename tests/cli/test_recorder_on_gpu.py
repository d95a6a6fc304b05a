"""The recorder's CUDA code, and its use of torch 2.x, on a fake torch with a GPU whose times are known exactly."""

import contextlib
import gc
import importlib.util
import io
import json
import pathlib
import sys
import tempfile
import types
import unittest
import weakref

from command import ROOT, ddpsim
from fake_torch import Device, Gpu, Job, Node, fake_torch

SOURCE = ROOT / "traces" / "recorder" / "ddpsim_recorder.py"


class Recording:
    """A job recorded on the fake GPU, with the messages and the file of the recorder."""

    def __init__(self, case, steps=2, warmup=3, backwards=1, fake=None, **job):
        self.gpu = Gpu()
        self.torch = fake_torch(self.gpu, **(fake or {}))
        self.recorder = self._load()
        self.job = Job(self.torch, self.gpu, **job)
        self.backwards, self.steps, self.warmup = backwards, steps, warmup
        folder = tempfile.TemporaryDirectory()
        case.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.said = ""

    def _load(self):
        spec = importlib.util.spec_from_file_location("recorder_under_test", SOURCE)
        module = importlib.util.module_from_spec(spec)
        before = sys.modules.get("torch")
        sys.modules["torch"] = self.torch
        try:
            spec.loader.exec_module(module)
        finally:
            if before is None:
                del sys.modules["torch"]
            else:
                sys.modules["torch"] = before
        module.time = types.SimpleNamespace(perf_counter_ns=lambda: self.gpu.host_ns)
        return module

    def run(self, model=None, count=None, during=None, **options):
        out = io.StringIO()
        with contextlib.redirect_stderr(out):
            recorder = self.recorder.Recorder(
                model or self.job.model, self.folder / "step.json", steps=self.steps, warmup=self.warmup, **options
            )
            for k in range(count or self.warmup + 2 * self.steps + 2):
                if during:
                    during(k)
                self.job.step(self.backwards)
                recorder.step()
            recorder.close()
        self.said = out.getvalue()
        return recorder

    def document(self, name="step.json"):
        return json.loads((self.folder / name).read_text())


class OnGpu(unittest.TestCase):
    def test_times_are_those_of_the_kernels(self):
        recording = Recording(self)
        recording.run()
        document = recording.document()
        job = recording.job
        # Time zero is the first node of backward, so the fill for the gradient of the loss belongs to forward.
        self.assertEqual(document["forward"]["duration_us"], job.FORWARD_US + job.LOSS_US + job.FILL_US)
        self.assertEqual(
            [(entry["parameter"], entry["at_us"]) for entry in document["backward"]["ready"]],
            [(2, 200), (1, 300), (0, 400)],
        )
        self.assertEqual(document["backward"]["duration_us"], 400)
        self.assertEqual(document["optimizer"]["duration_us"], job.OPTIMIZER_US)
        self.assertEqual(document["iteration"]["duration_us"], 300 + 20 + 2 + 400 + 50)
        self.assertEqual(document["gpu"], "V100")
        self.assertEqual(document["torch"], "2.8.0+cu128")
        self.assertEqual(document["batch_per_gpu"], 32)
        self.assertEqual(document["precision"], "fp32")
        self.assertEqual(document["provenance"]["ready"], "register_post_accumulate_grad_hook")

    def test_host_times_lie_on_the_clock_of_the_gpu(self):
        # A host that needs 5 us per kernel runs far ahead. It has passed all hooks before backward starts on the GPU.
        recording = Recording(self, host_us=5)
        recording.run()
        ahead = recording.document()["host"]["ready_us"]
        self.assertTrue(all(at < 0 for at in ahead), ahead)
        self.assertEqual([round(b - a) for a, b in zip(ahead, ahead[1:])], [5, 5])
        # If the host needs 1 ms per kernel, the GPU waits for it. A gradient is written one kernel after its hook.
        behind = Recording(self, host_us=1000)
        behind.run()
        document = behind.document()
        for entry, host in zip(document["backward"]["ready"], document["host"]["ready_us"]):
            self.assertAlmostEqual(entry["at_us"] - host, Job.GRADIENT_US, places=2)

    def test_one_event_a_gradient_and_nothing_waits_for_the_gpu(self):
        recording = Recording(self, steps=4)
        recording.run()
        # Each call of step() has one mark for the end, and each measured step one for its start. A recorded step adds
        # the call of the model, the start of backward before and at its first node, its end, and one mark per gradient.
        boundaries = (3 + 8) + 8
        self.assertEqual(recording.gpu.events, boundaries + 4 * (4 + 3) + 2)
        self.assertEqual(recording.gpu.synchronized, 2)  # at the first step and after the last

    def test_under_ddp_the_gradient_and_its_copy_are_told_apart(self):
        for fake in ({}, {"post_accumulate": False, "version": "1.13.1"}):
            with self.subTest(**fake):
                recording = Recording(self, ddp={}, fake=fake)
                recording.run()
                document = recording.document()
                self.assertEqual(
                    [(entry["at_us"], entry["copied_at_us"]) for entry in document["backward"]["ready"]],
                    [(200, 207), (307, 314), (414, 421)],
                )
                self.assertEqual(document["backward"]["duration_us"], 421)
                self.assertEqual(
                    document["recorded_with"],
                    {"ddp_hooks": True, "world_size": 1, "nccl_kernels": 0, "finalize_us": 30},
                )
                self.assertEqual(document["provenance"]["bucket_bytes"], "400 800")
                self.assertEqual(document["provenance"]["ddp_options"], "defaults")

    def test_a_rank_of_several_has_a_file_of_its_own(self):
        recording = Recording(self, ddp={})
        recording.torch.world, recording.torch.rank = 4, 2
        recording.run()
        document = recording.document("step-rank2.json")
        self.assertEqual(document["recorded_with"]["world_size"], 4)
        self.assertEqual(document["recorded_with"]["nccl_kernels"], 2)  # one per bucket; no buffers
        self.assertEqual(document["recorded_with"]["exposed_us"], 30)
        self.assertEqual(document["provenance"]["rank"], "2")

    def test_all_reduces_run_on_their_own_stream_one_after_the_other(self):
        recording = Recording(self, ddp={})
        recording.torch.world = 2
        recording.run(collectives=True)
        document = recording.document("step-rank0.json")
        # The buckets are full and divided at 210, 320 and 430 us, and each all-reduce takes 250 us.
        found = [
            (one["bytes"], one["start_us"], one["duration_us"]) for one in document["recorded_with"]["collectives"]
        ]
        self.assertEqual(found, [(120, 210, 250), (80, 460, 250), (40, 710, 250)])
        for one in document["recorded_with"]["collectives"]:
            self.assertLess(one["launch_us"], one["start_us"])  # the host runs ahead
        self.assertEqual(document["recorded_with"]["nccl_kernels"], 2)
        self.assertEqual(document["recorded_with"]["exposed_us"], 960 + 30 - document["backward"]["duration_us"])
        self.assertEqual(
            [step["name"] for step in document["steps"] if "collectives" in step], ["recorded 1", "recorded 2"]
        )
        self.assertEqual(recording.gpu.synchronized, 2)  # no additional waits for the GPU

    def test_ddp_around_the_model_is_found_whenever_it_was_made(self):
        for before in (True, False):
            with self.subTest(before_the_recorder=before):
                recording = Recording(self, ddp={} if before else None)
                recording.torch.world = 2

                def wrap(k):
                    if k == 0 and not before:
                        recording.job.under_ddp({})

                recording.run(model=recording.job.module, during=wrap)
                document = recording.document("step-rank0.json")
                self.assertTrue(document["recorded_with"]["ddp_hooks"])
                self.assertEqual(document["backward"]["duration_us"], 421)

    def test_the_last_of_accumulated_backwards_is_recorded(self):
        recording = Recording(self, backwards=3)
        recording.run()
        document = recording.document()
        self.assertEqual(document["backward"]["duration_us"], 400)
        self.assertEqual(document["iteration"]["duration_us"], 772)  # one of three and the optimizer
        self.assertEqual(document["samples_per_step"], 96)
        self.assertIn("--accumulate 3", recording.said)

    def test_accumulated_backwards_of_a_slow_step_leave_something_of_a_fast_one(self):
        recording = Recording(self, backwards=3)

        def slow_where_recorded(k):
            recording.job.FORWARD_US = 3000 if k in (4, 6) else 300

        recording.run(during=slow_where_recorded)
        # The slow step takes 3 (3000 + 422) + 50 us, of which two backwards are not the last. Of the fast step, 3 (300
        # + 422) + 50 us, the same share is left out.
        self.assertAlmostEqual(recording.document()["iteration"]["duration_us"], 2216 * (1 - 6844 / 10316), places=2)

    def test_a_parameter_without_a_gradient_is_not_ready(self):
        recording = Recording(self)
        recording.job.unused = {"weight1"}
        recording.run()
        self.assertEqual([entry["parameter"] for entry in recording.document()["backward"]["ready"]], [2, 0])
        self.assertIn("1 parameters got no gradient: weight1", recording.said)

    def test_a_gradient_written_twice_is_ready_when_it_is_complete(self):
        recording = Recording(self)
        recording.job.twice = {"weight1"}
        recording.run()
        self.assertEqual(
            [(entry["parameter"], entry["at_us"]) for entry in recording.document()["backward"]["ready"]],
            [(2, 200), (0, 400), (1, 500)],
        )
        self.assertIn("1 gradients were written again", recording.said)

    def test_an_evaluation_before_the_step_is_not_its_forward(self):
        recording = Recording(self)

        def evaluate(k):
            recording.torch.grad = False
            recording.job.model(recording.torch.Tensor((5, 3)))
            recording.torch.grad = True

        recording.run(during=evaluate)
        document = recording.document()
        self.assertEqual(document["forward"]["duration_us"], 322)
        self.assertEqual(document["batch_per_gpu"], 32)

    def test_autocast_is_queried_as_in_torch_2_4(self):
        for dtype, precision in (("torch.float16", "amp"), ("torch.bfloat16", "bf16")):
            recording = Recording(self)
            recording.torch.autocast = dtype
            recording.run()
            self.assertEqual(recording.document()["precision"], precision)

    def test_the_median_step_is_written_and_the_recorder_states_its_cost(self):
        recording = Recording(self, steps=3)
        recording.job.jitter = iter([0, 0, 0] + [0, 9, 0, 9, 1, 30] + [0, 0])
        recording.run()
        self.assertIn("step without the recorder 0.772 ms, with it 0.781 ms (+1.2 %)", recording.said)
        self.assertEqual(recording.document()["iteration"]["duration_us"], 772)

    def test_a_compiled_backward_is_named(self):
        recording = Recording(self)
        compiled = recording.torch.nn.Module(_orig_mod=recording.job.module)
        compiled._orig_mod = recording.job.module
        compiled.forward = recording.job.forward
        recording.job.model = compiled
        recording.run(model=compiled)
        self.assertIn("the backward is compiled", recording.said)
        document = recording.document()
        self.assertIn("compiled", document["provenance"]["note_1"])
        self.assertEqual(document["recorded_with"]["compiled_gradients"], 3)
        self.assertEqual(document["parameters"][0]["name"], "weight0")

    def test_a_compiled_part_is_seen_in_the_graph(self):
        recording = Recording(self)
        forward = recording.job.forward

        def compiled(*arguments):
            output = forward(*arguments)
            output.grad_fn = Node("ViewBackward0", [Node("CompiledFunctionBackward")])
            return output

        recording.job.module.forward = compiled
        recording.run()
        self.assertIn("the backward is compiled", recording.said)


class Refusals(unittest.TestCase):
    def refused(self, recording, message, **run):
        original = recording.torch.autograd.backward
        recorder = recording.run(**run)
        self.assertIn("stopped, and training continues: ", recording.said)
        self.assertIn(message, recording.said)
        self.assertEqual(recording.said.count("\n"), 1, "one line, once")
        self.assertTrue(recorder.finished)
        self.assertEqual(list(recording.folder.iterdir()), [])
        self.assertIs(recording.torch.autograd.backward, original)
        for parameter in recording.job.module.own.values():
            self.assertFalse(parameter.post_hooks or parameter.hooks or parameter.accumulator.hooks)

    def test_models_that_ddp_does_not_reduce(self):
        for name, message in (
            ("FullyShardedDataParallel", "FSDP shards parameters"),
            ("FSDPModule", "FSDP shards parameters"),
            ("DataParallel", "without DDP's buckets"),
            ("DeepSpeedEngine", "without DDP's buckets"),
        ):
            with self.subTest(name):
                recording = Recording(self)
                recording.job.module.__class__ = type(name, (type(recording.job.module),), {})
                self.refused(recording, message)

    def test_no_parameter_with_a_gradient(self):
        recording = Recording(self)
        for parameter in recording.job.module.own.values():
            parameter.requires_grad = False
        self.refused(recording, "no parameter that requires a gradient")

    def test_clocks_that_cannot_be_compared(self):
        recording = Recording(self)
        recording.job.module.own["weight1"].device = Device("cuda:1")
        self.refused(recording, "parameters are on cuda:0, cuda:1")
        other = Recording(self, fake={"device": "mps:0"})
        self.refused(other, "only CPU and CUDA")

    def test_a_dtype_that_ddp_does_not_reduce(self):
        recording = Recording(self)
        recording.job.module.own["weight1"].dtype = "torch.float8_e4m3fn"
        self.refused(recording, "weight1 is of dtype float8_e4m3fn")

    def test_an_argument_that_is_not_a_model(self):
        self.refused(Recording(self), "expected a torch.nn.Module, got str", model="resnet50")

    def test_a_captured_graph(self):
        recording = Recording(self)

        def capture(k):
            recording.gpu.capturing = True

        self.refused(recording, "CUDA graph is being captured", during=capture)

    def test_a_failure_within_a_hook_neither_stops_training_nor_repeats(self):
        recording = Recording(self)

        def break_events(k):
            recording.gpu.fail_events = k >= 5

        self.refused(recording, "RuntimeError: CUDA error: out of events", during=break_events)

    def test_too_few_steps(self):
        self.refused(Recording(self), "only 3 steps were seen, but 5 are needed; nothing was written", count=3)

    def test_gradients_that_are_never_seen(self):
        recording = Recording(self)
        recording.job.unused = set(recording.job.module.own)
        self.refused(recording, "no gradient hook ran in the recorded steps")

    def test_fewer_steps_than_asked_for_are_written(self):
        recording = Recording(self, steps=10)
        recording.run(count=7)
        self.assertIn("by backward of 2 recorded", recording.document()["provenance"]["steps"])

    def test_the_model_is_released(self):
        recording = Recording(self)
        recorder = recording.run()
        model = weakref.ref(recording.job.module)
        recording.job = recording.torch = None
        gc.collect()
        self.assertTrue(recorder.finished)
        self.assertIsNone(model(), "the recorder still holds the model")

    def test_training_goes_on_if_stderr_is_closed(self):
        recording = Recording(self)
        listening = sys.stderr
        closed = io.StringIO()
        closed.close()
        sys.stderr = closed
        try:
            recorder = recording.recorder.Recorder("no model", recording.folder / "step.json")
            recorder.step()
        finally:
            sys.stderr = listening
        self.assertIn("expected a torch.nn.Module", recorder.problem)

    def test_an_error_out_of_backward_passes_through(self):
        recording = Recording(self)
        run_backward = recording.job.run_backward
        calls = []

        def sometimes():
            calls.append(1)
            if len(calls) == 5:
                raise MemoryError("of the training itself")
            run_backward()

        recording.job.run_backward = sometimes
        step = recording.job.step

        def tolerant(backwards):
            try:
                step(backwards)
            except MemoryError:
                pass

        recording.job.step = tolerant
        recording.run()
        self.assertIn("median by backward of 1 recorded", recording.document()["provenance"]["steps"])


class Accepted(unittest.TestCase):
    def test_the_file_goes_through_ddpsim_unchanged(self):
        recording = Recording(self, ddp={})
        recording.run()
        path = recording.folder / "step.json"
        outcome = ddpsim("import", path, "-o", recording.folder / "again.json")
        self.assertEqual(outcome.code, 0, outcome.err)
        self.assertEqual(path.read_text(), (recording.folder / "again.json").read_text())
        for command in ("simulate", "tune"):
            outcome = ddpsim(command, path, "2xv100-nvlink", "--json")
            self.assertEqual(outcome.code, 0, outcome.err)

    def test_an_order_without_times_suffices_for_buckets_only(self):
        recording = Recording(self)
        path = recording.folder / "order.json"
        recording.recorder.record_meta(recording.job.module, path=path)
        document = json.loads(path.read_text())
        self.assertNotIn("backward", document)
        document["backward"] = {"duration_us": 0, "ready": [{"parameter": i, "at_us": 0} for i in (1, 2, 0)]}
        path.write_text(json.dumps(document))
        buckets = ddpsim("buckets", path, "--json", "--bucket-cap-mb", "0").json()["buckets"]
        self.assertEqual([bucket["parameter_indices"] for bucket in buckets], [[1], [2], [0]])
        for command in ("simulate", "tune"):
            outcome = ddpsim(command, path, "2xv100-nvlink")
            self.assertEqual(outcome.code, 3, "a step without computation was timed")
            self.assertIn("the order of gradients but no times", outcome.err)


if __name__ == "__main__":
    unittest.main()
