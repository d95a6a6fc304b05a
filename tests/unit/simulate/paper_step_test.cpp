// The step of paper_step.hpp: first without costs, then each cost alone, then all of them; then what slows
// compute or the wire. Figures are worked out beside each case.
#include "paper_step.hpp"
#include "ddpsim/sim/simulate/simulate.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using namespace ddpsim::paper;

TEST_CASE("paper step: nothing but compute and the wire takes time") {
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
  // As in the drawing, but nothing lies between an event and its kernel: b1 238 to 328, b2 to 348;
  // copies out from 323 to 341, then 348 to 353.
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
  // At half of the memory's bandwidth a copy takes 3 us and 4 us per MB: 11, 19, 7. Filled at 161, 250,
  // 327; backward ends at 337. b1 250 to 340, b2 to 360; copies out 337 to 348 to 367, then 367 to 374.
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
  // b0 153 to 193, b1 223 to 313, b2 at once (its gradient is long there) to 333, optimizer at 336.
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
  // Hook at 0 to 10; at 50 the launch. Hook to 100, at 120 the launch. Hook to 170, at 190 the launch.
  CHECK(step.buckets[0].launch == TimePoint(90_us));
  CHECK(step.buckets[1].launch == TimePoint(160_us));
  CHECK(step.buckets[2].launch == TimePoint(230_us));
}

TEST_CASE("paper step: a host that is behind delays every all-reduce") {
  SimulationOptions options = free_of_costs();
  options.costs.host_hook = 150_us;
  // Launched at 150, 300, 450, which is when they start.
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
  // A launch takes 40 us of the host, too: 190, 380, 570.
  options.costs.host_launch = 40_us;
  CHECK(differences(step_with(options).buckets,
                    {{150_us, 190_us, 190_us, 190_us, 230_us, 2'000'000_B},
                     {220_us, 380_us, 380_us, 380_us, 470_us, 4'000'000_B, late},
                     {290_us, 570_us, 570_us, 570_us, 590_us, 1'000'000_B, kReadyLast}}) == "");
  // And the kernel starts 12 us after it.
  options.costs.launch_latency = 12_us;
  CHECK(differences(step_with(options).buckets,
                    {{150_us, 190_us, 202_us, 202_us, 242_us, 2'000'000_B},
                     {220_us, 380_us, 392_us, 392_us, 482_us, 4'000'000_B, late},
                     {290_us, 570_us, 582_us, 582_us, 602_us, 1'000'000_B, kReadyLast}}) == "");
  // A little behind is not late: launched at 240 with 60 us of backward left.
  options = free_of_costs();
  options.costs.host_hook = 120_us;
  CHECK(step_with(options).buckets[1].exposed_because == kLonger);
}

TEST_CASE(
    "paper step: an all-reduce that holds half the SMs slows compute to half while it is there") {
  // b0 150 to 190: 20 us of p1's 70 are done, the other 50 end at 240. b1 240 to 330: 45 of p0's 70 done,
  // then at full speed, ready at 355. b2 355 to 375; of it the last 10 us of backward take 20.
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
  options.interference.sm_share = 0.5;  // of the SMs it holds: three quarters of the speed are left
  // b0: 30 of 70 by 190, ready 230. b1 230 to 320: 67.5 of 70, ready 322.5; b2 to 342.5, and the last 10 us
  // of backward take 13.333334 (rounded up) beside it.
  CHECK(step_with(options, workload(),
                  RecordedModel{.durations = {40_us, 90_us, 20_us}, .channels = 32})
            .times.backward == 235'833'334_ps);
}

TEST_CASE("paper step: copies into buckets are slowed as compute is, and stay copies") {
  // With copies of 7, 11, 5 us and half speed beside the wire: b0 157 to 197 (20 us of p1 done), p1 ready
  // 247, copied 258; b1 258 to 348 (45 of p0), p0 ready 373, copied 378; b2 378 to 398, backward's last
  // 10 us end with it. Slowed: 20 + 45 + 10. Copies out meet a free GPU: 398 to 421.
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
  // A first all-reduce of 170 us, 157 to 327: p1 takes 140 us to 297, its copy 22 to 319; of p0's 70 us 4
  // are done by 327, so it is ready at 393, copied at 398, and backward ends at 408.
  options.ddp_to_set().gradient_as_bucket_view = true;
  const StepTimes slow_copy =
      step_with(options, workload(),
                RecordedModel{.durations = {170_us, 0_us, 0_us}, .channels = 32})
          .times;
  CHECK(slow_copy.copies_in == 23_us);
  CHECK(slow_copy.backward == 308_us);
  CHECK(slow_copy.interference == 85_us);
}

TEST_CASE("paper step: a wire at half its rate beside compute") {
  // b0 150 to 230. b1 from 230: 35 of its 90 us are done when backward ends at 300, the other 55 at full
  // rate to 355. b2 355 to 375.
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
  // Forward 50; p2 to 75, copied 82; p1 to 117, copied 128; p0 to 163, copied 168; backward to 173. The
  // host reaches gradients at 25, 60, 95 and launches at 65, 115, 165. b0 starts at 85 (82 + 3) and ends after b1 was asked for; b1 starts at 131,
  // b2 after it. Copies out 173, 224, 244 to 249.
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
  // 1.25 times: forward 125; p2 187.5, copied 194.5; p1 282, copied 293; p0 380.5, copied 385.5; backward to
  // 398. b1 is hidden (386); copies out 398 to 421 run beside b2 (388.5 to 408.5) for 10.5 us.
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
    "paper step: a recorded iteration beyond its parts is a stall; one below overlaps steps") {
  // Forward, backward and optimizer are 330 us.
  Workload step = workload();
  step.iteration = 345_us;
  StepTimes expected = times_with_all_costs();
  expected.stall = 3_us + 15_us;
  expected.iteration = 404_us;
  CHECK(differences(step_with(all_costs(), step).times, expected) == "");
  // 10 us before a step ends the next forward has begun.
  step.iteration = 320_us;
  expected = times_with_all_costs();
  expected.forward = 90_us;
  expected.forward_ahead = 10_us;
  expected.iteration = 379_us;
  CHECK(differences(step_with(all_costs(), step).times, expected) == "");
  CHECK(end_of_backward(step_with(all_costs(), step).times) == TimePoint(323_us));
}

TEST_CASE("paper step: a forward that begins early is as long, and as early, as its GPU is fast") {
  Workload step = workload();
  step.iteration = 270_us;  // 60 us early
  SimulationOptions options = free_of_costs();
  options.compute_scale = 2;  // forward 50 us, 30 of them early; backward 100, optimizer 15
  const StepTimes times = step_with(options, step).times;
  CHECK(times.forward == 20_us);
  CHECK(times.forward_ahead == 30_us);
  CHECK(times.stall == Duration());
  // Two micro-batches, two forwards.
  options.compute_scale = 1;
  options.accumulate = 2;
  CHECK(step_with(options, step).times.forward_ahead == 120_us);
  CHECK(step_with(options, step).times.forward == 80_us);
}

TEST_CASE("paper step: no more than its forward runs ahead, whatever was recorded") {
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
    "paper step: buffers are broadcast where a forward begins, beside the step before or not") {
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
