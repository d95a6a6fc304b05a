// The recorded step taken apart, for the step of paper_step.hpp.
#include "recording.hpp"

#include "paper_step.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using namespace ddpsim::paper;

namespace {

struct HeldJob {
  Job job;
};

/// A recording together with the job it refers to.
struct RecordingOf : HeldJob, Recording {
  explicit RecordingOf(const Workload& step, const SimulationOptions& options = all_costs())
      : HeldJob{Job(step, gpus(), options, FreeModel{})}, Recording(job, job.workload()) {}
};

/// A recording with hooks: gradients at 50, 127 and 208 us of a backward of 223.
Workload hooked() {
  Workload step = workload();
  step.backward = Backward{.duration = 223_us,
                           .ready = {{.parameter = kP2, .at = 50_us, .copied_at = 57_us},
                                     {.parameter = kP1, .at = 127_us, .copied_at = 138_us},
                                     {.parameter = kP0, .at = 208_us, .copied_at = 213_us}}};
  step.recorded_with.ddp_hooks = true;
  return step;
}

}  // namespace

TEST_CASE("recording: without hooks a gradient follows the one before, and nothing is copied") {
  const Workload step = workload();
  const RecordingOf recording(step);
  REQUIRE(recording.gradients() == 3);
  const std::vector<std::size_t> parameters = {kP2, kP1, kP0};
  const std::vector<Bytes> bytes = {2'000'000_B, 4'000'000_B, 1'000'000_B};
  const std::vector<Duration> compute = {50_us, 70_us, 70_us};
  const std::vector<Duration> host = {-50_us, 20_us, 90_us};  // one forward ahead
  for (std::size_t k = 0; k < 3; ++k) {
    const GradientInterval gradient = recording.gradient(k);
    CHECK(gradient.parameter == parameters[k]);
    CHECK(gradient.bytes == bytes[k]);
    CHECK(gradient.compute == compute[k]);
    CHECK(gradient.idle == Duration());
    CHECK(gradient.copy == Duration());
    CHECK(gradient.host == host[k]);
  }
  CHECK(recording.after_last_gradient() == 10_us);
  CHECK(recording.unused().empty());
}

TEST_CASE("recording: a copy is cut short by the next gradient and by the end of backward") {
  // Without recorded ends, copies take the model's 7, 11 and 5 us. p1 follows p2 after 4 us, and
  // backward ends 2 us after p0.
  Workload step = hooked();
  step.backward->duration = 210_us;
  for (ReadyEvent& event : step.backward->ready) event.copied_at.reset();
  step.backward->ready[1].at = 54_us;
  const RecordingOf recording(step);
  CHECK(recording.gradient(0).copy == 4_us);
  CHECK(recording.gradient(1).compute == Duration());
  CHECK(recording.gradient(1).copy == 11_us);
  CHECK(recording.gradient(2).compute == 143_us);  // from 65 us on
  CHECK(recording.gradient(2).copy == 2_us);
  CHECK(recording.after_last_gradient() == Duration());
}

TEST_CASE("recording: time between a gradient and its copy beyond the kernel counts as idle") {
  Workload step = hooked();
  step.backward->ready[0].copied_at = 60_us;
  step.backward->ready[1].copied_at = 135_us;  // 3 us faster than the model's kernel
  const RecordingOf recording(step);
  CHECK(recording.gradient(0).idle == 3_us);
  CHECK(recording.gradient(0).copy == 7_us);
  CHECK(recording.gradient(1).compute == 67_us);
  CHECK(recording.gradient(1).idle == Duration());
  CHECK(recording.gradient(1).copy == 8_us);
  CHECK(recording.gradient(2).compute == 73_us);
}

TEST_CASE("recording: a gradient outside DDP has no copy") {
  Workload step = hooked();
  step.parameters[kP1].ignored = true;
  const RecordingOf recording(step);
  CHECK(recording.gradient(1).copy == Duration());
  CHECK(recording.gradient(2).compute == 81_us);  // from 127 us on
}

TEST_CASE("recording: parameters of DDP without a gradient are unused") {
  Workload step = workload();
  step.backward->ready.erase(step.backward->ready.begin(), step.backward->ready.begin() + 2);
  CHECK(RecordingOf(step).unused() == std::vector<std::size_t>{kP1, kP2});
  step.parameters[kP1].ignored = true;
  CHECK(RecordingOf(step).unused() == std::vector<std::size_t>{kP2});
}

TEST_CASE("recording: NCCL's slowdown is removed according to the SMs it held") {
  // The kernel holds 32 of 64 SMs from 30 to 90 us, so 20 us of p2's 50 and 40 us of p1's 70 ran at
  // half speed.
  Workload step = workload();
  step.recorded_with.collectives = {
      {.bytes = 2'000'000_B, .launch = 20_us, .start = 30_us, .duration = 60_us, .channels = 32}};
  SimulationOptions options = all_costs();
  options.interference.sm_share = 1;
  const auto compute = [&](std::size_t k) {
    return RecordingOf(step, options).gradient(k).compute;
  };
  CHECK(compute(0) == 40_us);
  CHECK(compute(1) == 50_us);
  CHECK(compute(2) == 70_us);
  options.recorded_sms = 128;  // it held a quarter of them
  CHECK(compute(0) == 45_us);
  options.recorded_sms = 32;  // all of them: compute never quite stops
  CHECK(compute(0) == 32_us);
  options.recorded_sms = 0;
  options.interference.sm_share = 0.5;
  CHECK(compute(0) == 45_us);
  options.interference.sm_share = 0;
  CHECK(compute(0) == 50_us);
}

TEST_CASE("recording: intervals slowed by two collectives never become negative") {
  Workload step = workload();
  const RecordedCollective all{.bytes = 4_B, .duration = 200_us, .channels = 64};
  step.recorded_with.collectives = {all, all};
  SimulationOptions options = all_costs();
  options.interference.sm_share = 1;
  CHECK(RecordingOf(step, options).gradient(0).compute == Duration());
}

TEST_CASE("recording: forward without the recorded part of a buffer broadcast") {
  // Flattening 1 MB takes 5 us, copying two tensors back 8 us, and the broadcast 20 us.
  Workload step = workload();
  step.buffers = {{.dtype = Dtype::float32, .bytes = 1'000'000_B, .tensors = 2}};
  CHECK(RecordingOf(step).forward(false) == 100_us);  // recorded without DDP: contains none
  step.recorded_with.ddp_hooks = true;
  CHECK(RecordingOf(step).forward(true) == 100_us);
  CHECK(RecordingOf(step).forward(false) == 87_us);
  CHECK_FALSE(RecordingOf(step).has_buffer_broadcast());
  step.recorded_with.buffer_broadcast = 20_us;
  CHECK(RecordingOf(step).forward(false) == 67_us);
  CHECK(RecordingOf(step).has_buffer_broadcast());
  step.forward = 10_us;
  CHECK(RecordingOf(step).forward(false) == Duration());
  step.forward.reset();
  CHECK(RecordingOf(step).recorded_forward() == Duration());
}

TEST_CASE("recording: copies out are known if hooks and a finalize were recorded") {
  Workload step = hooked();
  CHECK_FALSE(RecordingOf(step).copies_out());
  step.recorded_with.finalize = 5_us;
  CHECK(RecordingOf(step).copies_out() == 5_us);
  step.recorded_with.ddp_hooks = false;
  CHECK_FALSE(RecordingOf(step).copies_out());
}

TEST_CASE("recording: copies out hidden in the exposed tail are added to those seen") {
  // The last bucket held p0, 5 of 23 us of copying. With 5 us recorded and a tail of t, the other
  // copies fill the tail while (5 + t) * 18/23 >= t, so up to t = 18. Beyond that, the 5 us belong
  // to the last bucket only.
  Workload step = hooked();
  step.recorded_with.finalize = 5_us;
  step.recorded_with.collectives = {{.bytes = 6'000'000_B}, {.bytes = 1'000'000_B}};
  const auto with_tail = [&](Duration tail) {
    step.recorded_with.exposed = tail;
    return *RecordingOf(step).copies_out();
  };
  CHECK(with_tail(0_us) == 5_us);
  CHECK(with_tail(10_us) == 15_us);
  CHECK(with_tail(17_us) == 22_us);
  CHECK(with_tail(19_us) == 23_us);
  CHECK(with_tail(1000_us) == 23_us);
  // A last bucket of p1 and p0 holds 16 of 23 us: (5 + t) * 7/23 >= t up to 2.1.
  step.recorded_with.collectives.back().bytes = 5'000'000_B;
  CHECK(with_tail(2_us) == 7_us);
  CHECK(with_tail(3_us) == (5_us).scaled(23 / 16.0));
  // With p1 outside DDP, the bucket also contains p2, and there are only 12 us of copies.
  step.parameters[kP1].ignored = true;
  step.recorded_with.collectives.back().bytes = 3'000'000_B;
  CHECK(with_tail(3_us) == 5_us);
}

TEST_CASE("recording: a casting hook carries two bytes for every four of gradients") {
  Workload step = hooked();
  step.recorded_with.collectives = {{.bytes = 3'000'000_B, .launch = 150_us},
                                    {.bytes = 500'000_B, .launch = 215_us}};
  const std::vector<Bucket> buckets = {{.parameters = {kP2, kP1}, .bytes = 6'000'000_B},
                                       {.parameters = {kP0}, .bytes = 1'000'000_B}};
  CHECK_FALSE(RecordingOf(step).instants_launched(buckets));
  step.recorded_with.wire = Dtype::float16;
  CHECK(RecordingOf(step).instants_launched(buckets) == std::vector<Duration>{150_us, 215_us});
  CHECK_FALSE(RecordingOf(step).instants_launched({buckets[0]}));
  CHECK_FALSE(RecordingOf(step).instants_launched({buckets[1], buckets[0]}));
  // Only DDP's gradients count, although a parameter outside DDP with another type comes first.
  step.parameters[kP0].ignored = true;
  step.parameters[kP0].dtype = Dtype::float64;
  CHECK(RecordingOf(step).instants_launched(buckets));
}
