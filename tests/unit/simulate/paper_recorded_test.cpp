// What a recording already holds is replayed, not added again: the step of paper_step.hpp recorded under DDP.
#include "paper_step.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using namespace ddpsim::paper;

namespace {

/// The step with all costs as a profiler would have seen it: copies of 7, 11 and 5 us behind the gradients,
/// the copy of p1 without an instant of its own.
Workload recorded_under_ddp() {
  Workload step = workload();
  step.backward = Backward{.duration = 223_us,
                           .ready = {{.parameter = kP2, .at = 50_us, .copied_at = 57_us},
                                     {.parameter = kP1, .at = 127_us, .copied_at = {}},
                                     {.parameter = kP0, .at = 208_us, .copied_at = 213_us}}};
  step.recorded_with.ddp_hooks = true;
  step.recorded_with.world_size = 2;
  return step;
}

}  // namespace

TEST_CASE("paper recorded: copies in the recording are copies, not compute, and not added again") {
  const StepResult step = step_with(all_costs(), recorded_under_ddp());
  CHECK(differences(step.times, times_with_all_costs()) == "");
  // The host was a forward ahead of the recorded gradients: at 50, 127, 208.
  CHECK(differences(step.buckets,
                    {{150_us, 90_us, 160_us, 160_us, 200_us, 2'000'000_B},
                     {227_us, 167_us, 241_us, 241_us, 331_us, 4'000'000_B, kLonger},
                     {308_us, 248_us, 331_us, 331_us, 351_us, 1'000'000_B, kInFront}}) == "");
}

TEST_CASE("paper recorded: on a GPU twice as fast recorded copies halve with everything recorded") {
  // p2 at 75, copied 78.5; p1 113.5, 119; p0 154, 156.5; backward ends at 161.5. b0 81.5 to 121.5; b1 is
  // launched at 115, starts at 127, ends at 217; b2 to 237. Copies out were not recorded, so the model's hold:
  // 161.5 to 168.5, 220 to 231, 240 to 245.
  SimulationOptions options = all_costs();
  options.compute_scale = 2;
  CHECK(
      differences(step_with(options, recorded_under_ddp()).times, {.iteration = 260_us,
                                                                   .forward = 50_us,
                                                                   .backward = 111.5_us,
                                                                   .backward_compute = 100_us,
                                                                   .copies_in = 11.5_us,
                                                                   .communication = 150_us,
                                                                   .exposed_communication = 75.5_us,
                                                                   .overlap = 1 - 75.5 / 150,
                                                                   .finalize = 5_us,
                                                                   .optimizer = 15_us,
                                                                   .stall = 3_us}) == "");
}

TEST_CASE("paper recorded: a GPU that waited for its host before a copy waits again") {
  // p2's copy ended at 60: 3 us idle, then 7. Everything but b0's start is as before.
  Workload step = recorded_under_ddp();
  step.backward->ready[0].copied_at = 60_us;
  const StepResult result = step_with(all_costs(), step);
  CHECK(result.times.copies_in == 23_us);
  CHECK(result.times.backward == 223_us);
  CHECK(result.buckets[0].start == TimePoint(163_us));
  CHECK(result.buckets[0].ready == TimePoint(150_us));
}

TEST_CASE("paper recorded: micro-batches without synchronisation leave the recorded copies out") {
  // 200 us of the first backward are compute; the second adds 30 us of adding to 223.
  SimulationOptions options = all_costs();
  options.accumulate = 2;
  const StepTimes times = step_with(options, recorded_under_ddp()).times;
  CHECK(times.backward == 453_us);
  CHECK(times.copies_in == 23_us);
}

TEST_CASE("paper recorded: the host's clock is shifted by the micro-batches before") {
  // Reached 60, 130 and 220 us into a backward of 223 under copies; the first micro-batch takes 323 us as
  // recorded, the second forward 100: until 483, 553, 643, and 40 us of launching.
  Workload step = recorded_under_ddp();
  step.host_ready = {60_us, 130_us, 220_us};
  SimulationOptions options = all_costs();
  CHECK(step_with(options, step).buckets[0].launch == TimePoint(200_us));
  CHECK(step_with(options, step).buckets[2].launch == TimePoint(360_us));
  options.accumulate = 2;
  const std::vector<BucketResult> buckets = step_with(options, step).buckets;
  CHECK(buckets[0].launch == TimePoint(523_us));
  CHECK(buckets[1].launch == TimePoint(593_us));
  CHECK(buckets[2].launch == TimePoint(683_us));
}

TEST_CASE("paper recorded: launches of the very same buckets are where they were") {
  // At 70, 140 and 215 of backward: 170, 240, 315. Kernels 12 us after: 182 to 222, 252 to 342, then b2 to 362.
  // Copies out 323, 345 (342 + 3), 365 to 370.
  Workload step = recorded_under_ddp();
  step.recorded_with.collectives = {{.bytes = 2'000'000_B, .launch = 70_us, .start = 80_us},
                                    {.bytes = 4'000'000_B, .launch = 140_us, .start = 150_us},
                                    {.bytes = 1'000'000_B, .launch = 215_us, .start = 230_us}};
  const StepResult result = step_with(all_costs(), step);
  CHECK(differences(result.buckets,
                    {{150_us, 170_us, 182_us, 182_us, 222_us, 2'000'000_B},
                     {227_us, 240_us, 252_us, 252_us, 342_us, 4'000'000_B, kLonger},
                     {308_us, 315_us, 342_us, 342_us, 362_us, 1'000'000_B, kInFront}}) == "");
  CHECK(result.times.exposed_communication == 39_us);
  CHECK(result.times.finalize == 5_us);
  CHECK(result.times.iteration == 400_us);
  // Of other buckets they say nothing.
  step.recorded_with.collectives[1].bytes = 4'000'004_B;
  CHECK(step_with(all_costs(), step).buckets[0].launch == TimePoint(90_us));
  step.recorded_with.collectives.pop_back();
  CHECK(step_with(all_costs(), step).buckets[0].launch == TimePoint(90_us));
}

TEST_CASE("paper recorded: copies out that took twice as long as modelled do so in every bucket") {
  // 46 us of finalize and no tail: 14, 22, 10 us. 323 to 337, to 359, to 369; b2 ends at 351.
  Workload step = recorded_under_ddp();
  step.recorded_with.finalize = 46_us;
  StepTimes expected = times_with_all_costs();
  expected.finalize = 18_us;
  expected.stall = {};
  expected.iteration = 399_us;
  CHECK(differences(step_with(all_costs(), step).times, expected) == "");
  // Twice as fast a GPU halves what was recorded.
  SimulationOptions options = all_costs();
  options.compute_scale = 2;
  const SimulationResult halved = simulated(options, step);
  CHECK(drawn(halved.timeline.ranks[0]).find("copy out of bucket 0: 161.5 to 168.5") !=
        std::string::npos);
}

TEST_CASE(
    "paper recorded: a broadcast of buffers in the recorded forward stays there, or is taken out") {
  // 1 MB in two tensors: 5 us to flatten, 20 us of broadcast, 8 us to copy back, in a forward of 133.
  Workload step = recorded_under_ddp();
  step.forward = 133_us;
  step.buffers = {{.dtype = Dtype::float32, .bytes = 1'000'000_B, .tensors = 2}};
  step.recorded_with.buffer_broadcast = 20_us;
  SimulationOptions options = all_costs();
  StepTimes expected = times_with_all_costs();
  expected.forward = 133_us;
  expected.buffer_broadcast = 20_us;
  expected.iteration = 422_us;
  CHECK(differences(step_with(options, step).times, expected) == "");

  options.accumulate = 2;
  CHECK(step_with(options, step).times.forward == 233_us);
  options.accumulate = 1;
  options.compute_scale = 2;
  CHECK(step_with(options, step).times.forward == 66.5_us);
  CHECK(step_with(options, step).times.buffer_broadcast == 10_us);
  options = all_costs();
  options.ddp_to_set().broadcast_buffers = false;
  CHECK(differences(step_with(options, step).times, times_with_all_costs()) == "");
}

TEST_CASE(
    "paper recorded: of a job of one rank the broadcast itself is added, its copies are there") {
  // Forward of 113: 5 + 100 + 8. The broadcast runs before it, 3 to 43, and hands back at 46.
  Workload step = recorded_under_ddp();
  step.forward = 113_us;
  step.buffers = {{.dtype = Dtype::float32, .bytes = 1'000'000_B, .tensors = 2}};
  const StepTimes times = step_with(all_costs(), step).times;
  CHECK(times.forward == 159_us);
  CHECK(times.buffer_broadcast == 46_us);
}

TEST_CASE(
    "paper recorded: casts of the hook that ran are in the copies, those of another are added") {
  // Casts and divisions take 11, 16 and 8.5 us.
  Workload step = recorded_under_ddp();
  SimulationOptions options = all_costs();
  options.ddp_to_set().comm_hook = CommHook::fp16_compress;
  const auto copies_in = [&] { return step_with(options, step).times.copies_in; };
  CHECK(copies_in() == 23_us + 35.5_us);
  step.recorded_with.wire = Dtype::bfloat16;
  CHECK(copies_in() == 23_us + 35.5_us);
  step.recorded_with.wire = Dtype::float16;
  CHECK(copies_in() == 23_us);
  options.ddp_to_set().comm_hook = CommHook::none;
  CHECK(copies_in() == 23_us);
  options.torch = {1, 6};  // a division in place is in the recording, too
  CHECK(copies_in() == 23_us);
}

TEST_CASE("paper recorded: a zero fill of an unused parameter is in the recording") {
  Workload step = recorded_under_ddp();
  step.backward->ready.pop_back();
  SimulationOptions options = all_costs();
  options.ddp_to_set().find_unused_parameters = true;
  const StepTimes times = step_with(options, step).times;
  const Duration map_copy = 3_us + Duration::picoseconds(24);  // of the map, to the device
  CHECK(times.copies_in == 18_us + map_copy);
  CHECK(times.backward == 223_us + map_copy);
}
