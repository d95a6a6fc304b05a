// The step of paper_step.hpp: first without costs, then each cost alone, then all of them, then
// what slows compute or transfers. Each case shows its calculation.
#include "paper_step.hpp"
#include "ddpsim/sim/simulate/simulate.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using namespace ddpsim::paper;

TEST_CASE("paper step: only compute and transfers take time") {
  const SimulationResult result = simulated(free_of_costs());
  const StepResult& step = result.step;
  CHECK(differences(step.times, {.iteration = 360_us,
                                 .forward = 100_us,
                                 .backward = 200_us,
                                 .backward_compute = 200_us,
                                 .communication = 150_us,
                                 .exposed_communication = 30_us,
                                 .overlap = 0.8,
                                 .optimizer = 30_us}) == "");
  CHECK(differences(step.buckets,
                    {{150_us, 50_us, 150_us, 150_us, 190_us, 2'000'000_B},
                     {220_us, 120_us, 220_us, 220_us, 310_us, 4'000'000_B, kLonger},
                     {290_us, 190_us, 310_us, 310_us, 330_us, 1'000'000_B, kInFront}}) == "");
  CHECK(step.iteration == 0);
  CHECK(result.iterations.empty());
  CHECK_FALSE(result.statistics);
  CHECK(result.ranks.empty());
  CHECK(result.timeline.clock ==
        "simulated; zero is the start of forward on the compute stream of rank 0");
  REQUIRE(result.timeline.ranks.size() == 1);
  CHECK(result.timeline.ranks[0].rank == 0);
  CHECK(drawn(result.timeline.ranks[0]) == R"(
compute forward: 0 to 100
compute backward 0: 100 to 300
communication all_reduce 0: 150 to 190
communication all_reduce 1: 220 to 310
communication all_reduce 2: 310 to 330
compute optimizer: 330 to 360)");
}

TEST_CASE("paper step: every cost switched on") {
  const SimulationResult result = simulated(all_costs());
  CHECK(differences(result.step.times, times_with_all_costs()) == "");
  CHECK(differences(result.step.buckets,
                    {{150_us, 90_us, 160_us, 160_us, 200_us, 2'000'000_B},
                     {227_us, 160_us, 241_us, 241_us, 331_us, 4'000'000_B, kLonger},
                     {308_us, 230_us, 331_us, 331_us, 351_us, 1'000'000_B, kInFront}}) == "");
  CHECK(drawn(result.timeline.ranks.at(0)) == R"(
host gradient hooks: 0 to 10
compute forward: 0 to 100
host launch 0: 50 to 90
host gradient hooks: 90 to 100
compute backward 0: 100 to 150
host launch 1: 120 to 160
compute copy into bucket 0: 150 to 157
compute backward 1: 157 to 227
host gradient hooks: 160 to 170
communication all_reduce 0: 160 to 200
host launch 2: 190 to 230
compute copy into bucket 1: 227 to 238
compute backward 2: 238 to 308
communication all_reduce 1: 241 to 331
compute copy into bucket 2: 308 to 313
compute backward: 313 to 323
compute copy out of bucket 0: 323 to 330
communication all_reduce 2: 331 to 351
compute copy out of bucket 1: 334 to 345
compute copy out of bucket 2: 354 to 359
compute optimizer: 359 to 389)");
  CHECK(simulate_times(Job(workload(), gpus(), all_costs(), wire())).iteration == 389_us);
}

TEST_CASE("paper step: copies alone lengthen backward and follow the last all-reduce") {
  // As in the drawing, but with nothing between an event and its kernel: b1 runs from 238 to 328,
  // and b2 until 348. Copies out run from 323 to 341, then from 348 to 353.
  SimulationOptions options = free_of_costs();
  options.costs.copy_bandwidth_share = 1;
  options.costs.copy_kernel = 2_us;
  options.costs.kernel_gap = 1_us;
  CHECK(differences(step_with(options).times, {.iteration = 383_us,
                                               .forward = 100_us,
                                               .backward = 223_us,
                                               .backward_compute = 200_us,
                                               .copies_in = 23_us,
                                               .communication = 150_us,
                                               .exposed_communication = 25_us,
                                               .overlap = 1 - 25 / 150.0,
                                               .finalize = 5_us,
                                               .optimizer = 30_us}) == "");
  // At half of the memory's bandwidth, a copy takes 3 us and 4 us per MB: 11, 19, 7. Buckets are
  // full at 161, 250 and 327. Backward ends at 337. Bucket b1 runs from 250 to 340, and b2 until
  // 360. Copies out run from 337 to 348 and to 367, then from 367 to 374.
  options.costs.copy_bandwidth_share = 0.5;
  CHECK(differences(step_with(options).times, {.iteration = 404_us,
                                               .forward = 100_us,
                                               .backward = 237_us,
                                               .backward_compute = 200_us,
                                               .copies_in = 37_us,
                                               .communication = 150_us,
                                               .exposed_communication = 23_us,
                                               .overlap = 1 - 23 / 150.0,
                                               .finalize = 14_us,
                                               .optimizer = 30_us}) == "");
}

TEST_CASE(
    "paper step: latency from an event to its kernel, before each all-reduce and after the last") {
  SimulationOptions options = free_of_costs();
  options.costs.event_latency = 3_us;
  const StepResult step = step_with(options);
  // Bucket b0 runs from 153 to 193, and b1 from 223 to 313. Bucket b2 follows at once, because its
  // gradient has been ready for long, until 333. The optimizer starts at 336.
  CHECK(differences(step.times, {.iteration = 366_us,
                                 .forward = 100_us,
                                 .backward = 200_us,
                                 .backward_compute = 200_us,
                                 .communication = 150_us,
                                 .exposed_communication = 33_us,
                                 .overlap = 1 - 33 / 150.0,
                                 .optimizer = 30_us,
                                 .stall = 3_us}) == "");
  CHECK(step.buckets[0].start == TimePoint(153_us));
  CHECK(step.buckets[2].start == TimePoint(313_us));
}

TEST_CASE("paper step: a host ahead of the GPU hides its own time") {
  SimulationOptions options = free_of_costs();
  options.costs.host_hook = 10_us;
  options.costs.host_launch = 40_us;
  options.costs.launch_latency = 12_us;
  const StepResult step = step_with(options);
  CHECK(step.times.iteration == 360_us);
  // The first hook runs until 10, and the launch is at 50. The second ends at 100, with a launch at
  // 120. The third ends at 170, with a launch at 190.
  CHECK(step.buckets[0].launch == TimePoint(90_us));
  CHECK(step.buckets[1].launch == TimePoint(160_us));
  CHECK(step.buckets[2].launch == TimePoint(230_us));
}

TEST_CASE("paper step: a host that is behind delays every all-reduce") {
  SimulationOptions options = free_of_costs();
  options.costs.host_hook = 150_us;
  // Buckets are launched at 150, 300 and 450, which is when they start.
  const std::string late = "launched late: the host was behind";
  CHECK(differences(step_with(options).times, {.iteration = 500_us,
                                               .forward = 100_us,
                                               .backward = 200_us,
                                               .backward_compute = 200_us,
                                               .communication = 150_us,
                                               .exposed_communication = 110_us,
                                               .overlap = 1 - 110 / 150.0,
                                               .optimizer = 30_us,
                                               .stall = 60_us}) == "");
  CHECK(differences(step_with(options).buckets,
                    {{150_us, 150_us, 150_us, 150_us, 190_us, 2'000'000_B},
                     {220_us, 300_us, 300_us, 300_us, 390_us, 4'000'000_B, late},
                     {290_us, 450_us, 450_us, 450_us, 470_us, 1'000'000_B, kReadyLast}}) == "");
  // A launch also takes 40 us of the host: 190, 380, 570.
  options.costs.host_launch = 40_us;
  CHECK(differences(step_with(options).buckets,
                    {{150_us, 190_us, 190_us, 190_us, 230_us, 2'000'000_B},
                     {220_us, 380_us, 380_us, 380_us, 470_us, 4'000'000_B, late},
                     {290_us, 570_us, 570_us, 570_us, 590_us, 1'000'000_B, kReadyLast}}) == "");
  // The kernel starts 12 us after it.
  options.costs.launch_latency = 12_us;
  CHECK(differences(step_with(options).buckets,
                    {{150_us, 190_us, 202_us, 202_us, 242_us, 2'000'000_B},
                     {220_us, 380_us, 392_us, 392_us, 482_us, 4'000'000_B, late},
                     {290_us, 570_us, 582_us, 582_us, 602_us, 1'000'000_B, kReadyLast}}) == "");
  // A host that is only a little behind is not late: it launches at 240, with 60 us of backward
  // left.
  options = free_of_costs();
  options.costs.host_hook = 120_us;
  CHECK(step_with(options).buckets[1].exposed_because == kLonger);
}

TEST_CASE(
    "paper step: an all-reduce that holds half the SMs slows compute to half during the transfer") {
  // Bucket b0 runs from 150 to 190. Then 20 us of p1's 70 are done, and the other 50 end at 240.
  // Bucket b1 runs from 240 to 330. Then 45 of p0's 70 are done. The rest runs at full speed, so p0
  // is ready at 355. Bucket b2 runs from 355 to 375, and backward's last 10 us take 20 during it.
  SimulationOptions options = free_of_costs();
  options.interference.sm_share = 1;
  const StepResult step = step_with(
      options, workload(), RecordedModel{.durations = {40_us, 90_us, 20_us}, .channels = 32});
  CHECK(differences(step.times, {.iteration = 405_us,
                                 .forward = 100_us,
                                 .backward = 275_us,
                                 .backward_compute = 200_us,
                                 .interference = 75_us,
                                 .communication = 150_us,
                                 .overlap = 1,
                                 .optimizer = 30_us}) == "");
  CHECK(differences(step.buckets, {{150_us, 50_us, 150_us, 150_us, 190_us, 2'000'000_B},
                                   {240_us, 120_us, 240_us, 240_us, 330_us, 4'000'000_B},
                                   {355_us, 190_us, 355_us, 355_us, 375_us, 1'000'000_B}}) == "");
  // Half of the SMs it holds are lost, so three quarters of the speed are left.
  options.interference.sm_share = 0.5;
  // During b0, 30 of 70 are done by 190, so p1 is ready at 230. Bucket b1 runs from 230 to 320.
  // Then 67.5 of 70 are done, and p0 is ready at 322.5. Bucket b2 runs until 342.5, and backward's
  // last 10 us take 13.333334 (rounded up) during it.
  CHECK(step_with(options, workload(),
                  RecordedModel{.durations = {40_us, 90_us, 20_us}, .channels = 32})
            .times.backward == 235'833'334_ps);
}

TEST_CASE("paper step: copies into buckets are slowed like compute, and stay copies") {
  // Copies take 7, 11 and 5 us, and compute runs at half speed during transfers. Bucket b0 runs
  // from 157 to 197, with 20 us of p1 done. Gradient p1 is ready at 247 and copied at 258. Bucket
  // b1 runs from 258 to 348, with 45 of p0 done. Gradient p0 is ready at 373 and copied at 378.
  // Bucket b2 runs from 378 to 398, and backward's last 10 us end with it.
  //
  // The slowdown is 20 + 45 + 10. Copies out find a free GPU: 398 to 421.
  SimulationOptions options = free_of_costs();
  options.costs.copy_bandwidth_share = 1;
  options.costs.copy_kernel = 3_us;
  options.interference.sm_share = 1;
  const RecordedModel half{.durations = {40_us, 90_us, 20_us}, .channels = 32};
  CHECK(differences(step_with(options, workload(), half).times, {.iteration = 451_us,
                                                                 .forward = 100_us,
                                                                 .backward = 298_us,
                                                                 .backward_compute = 200_us,
                                                                 .copies_in = 23_us,
                                                                 .interference = 75_us,
                                                                 .communication = 150_us,
                                                                 .overlap = 1,
                                                                 .finalize = 23_us,
                                                                 .optimizer = 30_us}) == "");
  // A first all-reduce of 170 us runs from 157 to 327. Gradient p1 takes 140 us until 297, and its
  // copy 22 until 319. Of p0's 70 us, 4 are done by 327. So it is ready at 393 and copied at 398,
  // and backward ends at 408.
  options.ddp_to_set().gradient_as_bucket_view = true;
  const StepTimes slow_copy =
      step_with(options, workload(),
                RecordedModel{.durations = {170_us, 0_us, 0_us}, .channels = 32})
          .times;
  CHECK(slow_copy.copies_in == 23_us);
  CHECK(slow_copy.backward == 308_us);
  CHECK(slow_copy.interference == 85_us);
}

TEST_CASE("paper step: transfers run at half their rate during compute") {
  // Bucket b0 runs from 150 to 230. Of b1's 90 us from 230 on, 35 are done when backward ends at
  // 300. The other 55 run at full rate until 355. Bucket b2 runs from 355 to 375.
  SimulationOptions options = free_of_costs();
  options.interference.communication_rate = 0.5;
  const StepResult step = step_with(options);
  CHECK(differences(step.times, {.iteration = 405_us,
                                 .forward = 100_us,
                                 .backward = 200_us,
                                 .backward_compute = 200_us,
                                 .communication = 225_us,
                                 .exposed_communication = 75_us,
                                 .overlap = 1 - 75 / 225.0,
                                 .optimizer = 30_us}) == "");
  CHECK(differences(step.buckets,
                    {{150_us, 50_us, 150_us, 150_us, 230_us, 2'000'000_B},
                     {220_us, 120_us, 230_us, 230_us, 355_us, 4'000'000_B, kInFront},
                     {290_us, 190_us, 355_us, 355_us, 375_us, 1'000'000_B, kInFront}}) == "");
}

TEST_CASE("paper step: a GPU twice as fast halves compute, not DDP's own work") {
  // Forward takes 50. Gradient p2 exists at 75 and is copied at 82, p1 at 117 and 128, p0 at 163
  // and 168. Backward ends at 173. The host reaches gradients at 25, 60 and 95, and launches at 65,
  // 115 and 165.
  //
  // Bucket b0 starts at 85 (82 + 3) and ends after b1 is requested. Bucket b1 starts at 131, and b2
  // after it. Copies out start at 173 and 224, and the last runs from 244 to 249.
  SimulationOptions options = all_costs();
  options.compute_scale = 2;
  const StepResult step = step_with(options);
  CHECK(differences(step.times, {.iteration = 264_us,
                                 .forward = 50_us,
                                 .backward = 123_us,
                                 .backward_compute = 100_us,
                                 .copies_in = 23_us,
                                 .communication = 150_us,
                                 .exposed_communication = 68_us,
                                 .overlap = 1 - 68 / 150.0,
                                 .finalize = 5_us,
                                 .optimizer = 15_us,
                                 .stall = 3_us}) == "");
  CHECK(differences(step.buckets,
                    {{75_us, 65_us, 85_us, 85_us, 125_us, 2'000'000_B},
                     {117_us, 115_us, 131_us, 131_us, 221_us, 4'000'000_B, kInFront},
                     {163_us, 165_us, 221_us, 221_us, 241_us, 1'000'000_B, kInFront}}) == "");
}

TEST_CASE("paper step: a multi-GPU slowdown lengthens compute, and only compute") {
  // Compute takes 1.25 times as long: forward 125. Gradient p2 exists at 187.5 and is copied at
  // 194.5, p1 at 282 and 293, p0 at 380.5 and 385.5. Backward ends at 398.
  //
  // Bucket b1 is hidden (386). Copies out run from 398 to 421, and overlap b2 (388.5 to 408.5) for
  // 10.5 us.
  SimulationOptions options = all_costs();
  options.rank_slowdown.several_gpus = 0.25;
  const StepResult step = step_with(options);
  CHECK(differences(step.times, {.iteration = 458.5_us,
                                 .forward = 100_us,
                                 .backward = 223_us,
                                 .backward_compute = 200_us,
                                 .copies_in = 23_us,
                                 .communication = 150_us,
                                 .exposed_communication = 10.5_us,
                                 .overlap = 0.93,
                                 .finalize = 12.5_us,
                                 .optimizer = 30_us,
                                 .unexplained = 82.5_us}) == "");
  CHECK(end_of_backward(step.times) == TimePoint(398_us));
  CHECK(step.buckets[1].exposed_because.empty());
  CHECK(step.buckets[1].launch == TimePoint(190_us));
  CHECK(step.buckets[2].launch == TimePoint(277.5_us));
}

TEST_CASE(
    "paper step: a recorded iteration longer than its parts has a stall; a shorter one overlaps") {
  // Forward, backward and optimizer take 330 us.
  Workload step = workload();
  step.iteration = 345_us;
  StepTimes expected = times_with_all_costs();
  expected.stall = 3_us + 15_us;
  expected.iteration = 404_us;
  CHECK(differences(step_with(all_costs(), step).times, expected) == "");
  // The next forward begins 10 us before a step ends.
  step.iteration = 320_us;
  expected = times_with_all_costs();
  expected.forward = 90_us;
  expected.forward_ahead = 10_us;
  expected.iteration = 379_us;
  CHECK(differences(step_with(all_costs(), step).times, expected) == "");
  CHECK(end_of_backward(step_with(all_costs(), step).times) == TimePoint(323_us));
}

TEST_CASE("paper step: a forward that begins early scales with its GPU, and so does its advance") {
  Workload step = workload();
  step.iteration = 270_us;  // 60 us early
  SimulationOptions options = free_of_costs();
  // Forward takes 50 us, 30 of them early, backward 100 and the optimizer 15.
  options.compute_scale = 2;
  const StepTimes times = step_with(options, step).times;
  CHECK(times.forward == 20_us);
  CHECK(times.forward_ahead == 30_us);
  CHECK(times.stall == Duration());
  // Two micro-batches have two forwards.
  options.compute_scale = 1;
  options.accumulate = 2;
  CHECK(step_with(options, step).times.forward_ahead == 120_us);
  CHECK(step_with(options, step).times.forward == 80_us);
}

TEST_CASE("paper step: at most the whole forward runs ahead, whatever was recorded") {
  Workload step = workload();
  for (const Duration iteration : {230_us, 100_us, 1_us}) {
    step.iteration = iteration;
    const StepTimes times = step_with(free_of_costs(), step).times;
    CHECK(times.forward == Duration());
    CHECK(times.forward_ahead == 100_us);
    CHECK(times.stall == Duration());
    CHECK(times.iteration == 260_us);  // 200, 30 exposed, 30
  }
}

TEST_CASE(
    "paper step: buffers are broadcast where a forward begins, even if it overlaps the step "
    "before") {
  Workload step = workload();
  step.recorded_with.buffer_broadcast = 40_us;
  step.buffers = {{.dtype = Dtype::float32, .bytes = Bytes(4), .tensors = 1}};
  step.iteration = 320_us;
  CHECK(step_with(free_of_costs(), step).times.buffer_broadcast == 30_us);
  step.iteration = 280_us;
  CHECK(step_with(free_of_costs(), step).times.buffer_broadcast == Duration());
}

TEST_CASE(
    "paper step: a forward longer than its backward may run ahead by more than the backward") {
  Workload step = small::chain({{4096, 60}}, 500, 100);
  step.iteration = 250_us;
  const StepTimes times = step_with(free_of_costs(), step).times;
  CHECK(times.backward == 100_us);
  CHECK(times.forward_ahead == 350_us);
  CHECK(times.forward == 150_us);
}
