// What a recording already contains is replayed, not added again: the step of paper_step.hpp
// recorded under DDP.
#include "paper_step.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using namespace ddpsim::paper;

namespace {

/// The step with all costs as a profiler would have recorded it. Copies of 7, 11 and 5 us follow
/// the gradients. The copy of p1 has no time of its own.
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

TEST_CASE("paper recorded: recorded copies count as copies, not compute, and are not added again") {
  const StepResult step = step_with(all_costs(), recorded_under_ddp());
  CHECK(differences(step.times, times_with_all_costs()) == "");
  // The host was one forward ahead of the recorded gradients: at 50, 127 and 208.
  CHECK(differences(step.buckets,
                    {{150_us, 90_us, 160_us, 160_us, 200_us, 2'000'000_B},
                     {227_us, 167_us, 241_us, 241_us, 331_us, 4'000'000_B, kLonger},
                     {308_us, 248_us, 331_us, 331_us, 351_us, 1'000'000_B, kInFront}}) == "");
}

TEST_CASE("paper recorded: on a GPU twice as fast, recorded copies take half the time too") {
  // Gradient p2 exists at 75 and is copied at 78.5; p1 at 113.5 and 119; p0 at 154 and 156.5.
  // Backward ends at 161.5.
  //
  // Bucket b0 runs from 81.5 to 121.5. Bucket b1 is launched at 115 and runs from 127 to 217; b2
  // ends at 237. Copies out were not recorded, so the modelled ones are used: 161.5 to 168.5, 220
  // to 231, 240 to 245.
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
  // The copy of p2 ended at 60: 3 us idle, then 7. Everything except b0's start is as before.
  Workload step = recorded_under_ddp();
  step.backward->ready[0].copied_at = 60_us;
  const StepResult result = step_with(all_costs(), step);
  CHECK(result.times.copies_in == 23_us);
  CHECK(result.times.backward == 223_us);
  CHECK(result.buckets[0].start == TimePoint(163_us));
  CHECK(result.buckets[0].ready == TimePoint(150_us));
}

TEST_CASE("paper recorded: micro-batches without synchronisation leave the recorded copies out") {
  // The first backward is 200 us of compute. The second adds 30 us of adding to 223.
  SimulationOptions options = all_costs();
  options.accumulate = 2;
  const StepTimes times = step_with(options, recorded_under_ddp()).times;
  CHECK(times.backward == 453_us);
  CHECK(times.copies_in == 23_us);
}

TEST_CASE("paper recorded: the host's clock is shifted by the micro-batches before") {
  // Gradients were reached at 60, 130 and 220 us of a backward of 223 us, during copies. The first
  // micro-batch takes 323 us as recorded, and the second forward 100. So the host gets there at
  // 483, 553 and 643, and launching takes 40 us.
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

TEST_CASE("paper recorded: launches of exactly the same buckets stay where they were") {
  // They were at 70, 140 and 215 of backward: 170, 240, 315. Kernels start 12 us later: 182 to 222,
  // 252 to 342, then b2 until 362. Copies out run until 323 and 345 (from 342 + 3 at the earliest),
  // and from 365 to 370.
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
  // For other buckets they say nothing.
  step.recorded_with.collectives[1].bytes = 4'000'004_B;
  CHECK(step_with(all_costs(), step).buckets[0].launch == TimePoint(90_us));
  step.recorded_with.collectives.pop_back();
  CHECK(step_with(all_costs(), step).buckets[0].launch == TimePoint(90_us));
}

TEST_CASE("paper recorded: copies out that took twice as long as modelled do so in every bucket") {
  // A finalize of 46 us without a tail makes copies of 14, 22 and 10 us: 323 to 337, then to 359
  // and 369. Bucket b2 ends at 351.
  Workload step = recorded_under_ddp();
  step.recorded_with.finalize = 46_us;
  StepTimes expected = times_with_all_costs();
  expected.finalize = 18_us;
  expected.stall = {};
  expected.iteration = 399_us;
  CHECK(differences(step_with(all_costs(), step).times, expected) == "");
  // A GPU twice as fast halves the recorded times.
  SimulationOptions options = all_costs();
  options.compute_scale = 2;
  const SimulationResult halved = simulated(options, step);
  CHECK(drawn(halved.timeline.ranks[0]).find("copy out of bucket 0: 161.5 to 168.5") !=
        std::string::npos);
}

TEST_CASE("paper recorded: a broadcast of buffers in the recorded forward stays or is removed") {
  // 1 MB in two tensors takes 5 us to flatten, 20 us to broadcast and 8 us to copy back, in a
  // forward of 133.
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

TEST_CASE("paper recorded: in a job of one rank, the broadcast is added but its copies exist") {
  // The forward of 113 is 5 + 100 + 8. The broadcast runs before it, from 3 to 43, and returns at
  // 46.
  Workload step = recorded_under_ddp();
  step.forward = 113_us;
  step.buffers = {{.dtype = Dtype::float32, .bytes = 1'000'000_B, .tensors = 2}};
  const StepTimes times = step_with(all_costs(), step).times;
  CHECK(times.forward == 159_us);
  CHECK(times.buffer_broadcast == 46_us);
}

TEST_CASE(
    "paper recorded: casts of the recorded hook are in its copies, another hook's are added") {
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
  options.torch = {1, 6};  // the recording also contains divisions in place
  CHECK(copies_in() == 23_us);
}

TEST_CASE("paper recorded: a zero fill of an unused parameter is in the recording") {
  Workload step = recorded_under_ddp();
  step.backward->ready.pop_back();
  SimulationOptions options = all_costs();
  options.ddp_to_set().find_unused_parameters = true;
  const StepTimes times = step_with(options, step).times;
  const Duration map_copy = 3_us + Duration::picoseconds(24);  // to the device
  CHECK(times.copies_in == 18_us + map_copy);
  CHECK(times.backward == 223_us + map_copy);
}
