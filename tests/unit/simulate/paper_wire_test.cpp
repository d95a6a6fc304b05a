// What goes over the wire and how many at a time: compression hooks, divisions, process groups, gloo; on the step of
// paper_step.hpp with every cost switched on.
#include "paper_step.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using namespace ddpsim::paper;

TEST_CASE("paper wire: a compression hook casts before and after, on half the bytes") {
  // At the launch, 30 us of the host more each: cast 3 us + 6 MB, 12 MB or 3 MB of memory for two passes over
  // 4 bytes and 2 (6, 9, 4.5 us), divide half the bytes (5, 7, 4 us). Filled at 168, 265, 348.5; backward ends
  // at 358.5. b0 171, b1 268 to 358, b2 to 378. Copies out wait for an event of 3 us, the cast back and its event:
  // 358.5 to 365.5, 373 to 384, 388.5 to 393.5. Not beside the wire: 378 to 384 of the second, 4.5 of the last
  // cast, 5.
  SimulationOptions options = all_costs();
  for (const CommHook hook : {CommHook::fp16_compress, CommHook::bf16_compress}) {
    options.ddp_to_set().comm_hook = hook;
    const StepResult step = step_with(options);
    CHECK(differences(step.times, {.iteration = 423.5_us,
                                   .forward = 100_us,
                                   .backward = 258.5_us,
                                   .backward_compute = 200_us,
                                   .copies_in = 58.5_us,
                                   .communication = 150_us,
                                   .exposed_communication = 19.5_us,
                                   .overlap = 0.87,
                                   .finalize = 15.5_us,
                                   .optimizer = 30_us}) == "");
    CHECK(differences(step.buckets,
                      {{150_us, 120_us, 171_us, 171_us, 211_us, 1'000'000_B},
                       {238_us, 200_us, 268_us, 268_us, 358_us, 2'000'000_B},
                       {335_us, 280_us, 358_us, 358_us, 378_us, 500'000_B, kInFront}}) == "");
    CHECK(step.buckets[0].bucket.bytes == 2'000'000_B);  // of gradients, as the cap counts them
  }
}

TEST_CASE("paper wire: gradients of the hook's own type are divided, not cast") {
  // Two bytes an element and as many bytes: divided in 7, 11, 5 us. Filled at 164, 256, 336; backward ends
  // at 346; b0 167, b1 259 to 349, b2 to 369. Copies out 346, 353, 372 to 377.
  Workload step = workload();
  for (Parameter& parameter : step.parameters) {
    parameter.dtype = Dtype::float16;
    parameter.shape->front() *= 2;
  }
  SimulationOptions options = all_costs();
  options.ddp_to_set().comm_hook = CommHook::fp16_compress;
  const StepResult result = step_with(options, step);
  CHECK(differences(result.times, {.iteration = 407_us,
                                   .forward = 100_us,
                                   .backward = 246_us,
                                   .backward_compute = 200_us,
                                   .copies_in = 46_us,
                                   .communication = 150_us,
                                   .exposed_communication = 23_us,
                                   .overlap = 1 - 23 / 150.0,
                                   .finalize = 5_us,
                                   .optimizer = 30_us,
                                   .stall = 3_us}) == "");
  CHECK(result.buckets[1].bytes == 4'000'000_B);
}

TEST_CASE("paper wire: a hook's casts wait for the host that launches them") {
  // Hooks take 130 us: b0's is called at 130 + 30 = 160; its kernels 12 us later, at 172. Before, the copy of
  // p2 had ended at 157.
  SimulationOptions options = all_costs();
  options.costs.host_hook = 130_us;
  options.ddp_to_set().comm_hook = CommHook::fp16_compress;
  const StepResult step = step_with(options);
  CHECK(step.buckets[0].launch == TimePoint(200_us));
  CHECK(step.buckets[0].start == TimePoint(212_us));  // launched at 200, filled at 172 + 11
  CHECK(step.buckets[1].ready == TimePoint(253_us));  // p1 follows at 183
}

TEST_CASE("paper wire: before 1.7 a full bucket is divided in place") {
  // 7, 11 and 5 us more on the compute stream, as where the hook divides: see above.
  SimulationOptions options = all_costs();
  options.torch = {1, 6};
  const StepTimes before = step_with(options).times;
  CHECK(before.copies_in == 46_us);
  CHECK(before.iteration == 407_us);
  options.torch = {1, 7};
  CHECK(differences(step_with(options).times, times_with_all_costs()) == "");
}

TEST_CASE("paper wire: two process groups hold two all-reduces in flight, which share the wire") {
  // b0 160 to 200. b1 from 241 alone; b2, of b0's group, at 316: b1 has 15 us left and takes 30, to 346; b2 has
  // had 15 of its 20 by then and ends at 351. Copies out 323 to 330, 349 to 360 (2 us beside b2), to 365.
  SimulationOptions options = all_costs();
  options.torch = {1, 13};
  options.ddp_to_set().process_groups = 2;
  const StepResult step = step_with(options);
  CHECK(differences(step.times, {.iteration = 395_us,
                                 .forward = 100_us,
                                 .backward = 223_us,
                                 .backward_compute = 200_us,
                                 .copies_in = 23_us,
                                 .communication = 150_us,
                                 .exposed_communication = 28_us,
                                 .overlap = 1 - 28 / 150.0,
                                 .finalize = 14_us,
                                 .optimizer = 30_us}) == "");
  CHECK(differences(step.buckets, {{150_us, 90_us, 160_us, 160_us, 200_us, 2'000'000_B},
                                   {227_us, 160_us, 241_us, 241_us, 346_us, 4'000'000_B, kLonger},
                                   {308_us, 230_us, 316_us, 316_us, 351_us, 1'000'000_B,
                                    "shares the link with bucket 1"}}) == "");
}

TEST_CASE("paper wire: gloo copies to the host and back, and its threads share the wire") {
  // 50 GB/s: 40, 80, 20 us of bytes behind 6 us of latency. A byte a picosecond to the host and back: 2, 4,
  // 1 us. b0 160 + 2 to 208. b1 from 245 (238 + 3 + 4); b2 from 317 (313 + 3 + 1): of b1's 80 us 8 are left and
  // take 16, to 333; b2 has had 8 of its 20, ends at 345. Back at 213, 340 and 349: copies out 323 to 330,
  // 340 (5 of 11 us beside b2), 351 to 356.
  const GlooModel gloo{.links = {.process = 50_GBps,
                                 .to_fill = 1,
                                 .host = 1000_GBps,
                                 .cache = 1'000'000'000_B,
                                 .step = {},
                                 .start = 6_us,
                                 .copy = 1000_GBps}};
  const StepResult step = step_with(all_costs(), workload(), gloo);
  CHECK(differences(step.times, {.iteration = 386_us,
                                 .forward = 100_us,
                                 .backward = 223_us,
                                 .backward_compute = 200_us,
                                 .copies_in = 23_us,
                                 .communication = 146_us,
                                 .exposed_communication = 22_us,
                                 .overlap = 1 - 22 / 146.0,
                                 .finalize = 11_us,
                                 .optimizer = 30_us}) == "");
  CHECK(differences(step.buckets, {{150_us, 90_us, 162_us, 162_us, 208_us, 2'000'000_B},
                                   {227_us, 160_us, 245_us, 245_us, 333_us, 4'000'000_B, kLonger},
                                   {308_us, 230_us, 317_us, 317_us, 345_us, 1'000'000_B,
                                    "shares the link with bucket 1"}}) == "");
}
