// What is sent, and how many transfers run at a time: compression hooks, divisions, process groups
// and gloo. The step is that of paper_step.hpp with every cost switched on.
#include "paper_step.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using namespace ddpsim::paper;

TEST_CASE("paper wire: a compression hook casts before and after, on half the bytes") {
  // Each launch takes 30 us more of the host. A cast takes 3 us plus two passes over 4 bytes and 2,
  // which is 6 MB, 12 MB or 3 MB of memory: 6, 9 and 4.5 us. Dividing half the bytes takes 5, 7 and
  // 4 us. Buckets are full at 168, 265 and 348.5. Backward ends at 358.5.
  //
  // Bucket b0 starts at 171, b1 runs from 268 to 358, and b2 until 378. Copies out wait for an
  // event of 3 us, the cast back and its event: 358.5 to 365.5, 373 to 384, 388.5 to 393.5. Not
  // overlapped are 378 to 384 of the second copy, 4.5 of the last cast, and 5.
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
    CHECK(step.buckets[0].bucket.bytes == 2'000'000_B);  // gradients, as counted for the cap
  }
}

TEST_CASE("paper wire: gradients of the hook's own type are divided, not cast") {
  // An element has two bytes, and the sizes are the same: divided in 7, 11 and 5 us. Buckets are
  // full at 164, 256 and 336. Backward ends at 346. Bucket b0 starts at 167, b1 runs from 259 to
  // 349, and b2 until 369. Copies out start at 346 and 353, and the last runs from 372 to 377.
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
  // A hook takes 130 us. The hook of b0 is called at 130 + 30 = 160, and its kernels start 12 us
  // later, at 172. Before that, the copy of p2 had ended at 157.
  SimulationOptions options = all_costs();
  options.costs.host_hook = 130_us;
  options.ddp_to_set().comm_hook = CommHook::fp16_compress;
  const StepResult step = step_with(options);
  CHECK(step.buckets[0].launch == TimePoint(200_us));
  CHECK(step.buckets[0].start == TimePoint(212_us));  // launched at 200, filled at 172 + 11
  CHECK(step.buckets[1].ready == TimePoint(253_us));  // p1 follows at 183
}

TEST_CASE("paper wire: before 1.7 a full bucket is divided in place") {
  // Divisions take 7, 11 and 5 us more on the compute stream, as when the hook divides (see above).
  SimulationOptions options = all_costs();
  options.torch = {1, 6};
  const StepTimes before = step_with(options).times;
  CHECK(before.copies_in == 46_us);
  CHECK(before.iteration == 407_us);
  options.torch = {1, 7};
  CHECK(differences(step_with(options).times, times_with_all_costs()) == "");
}

TEST_CASE("paper wire: two process groups hold two all-reduces in flight, which share the wire") {
  // Bucket b0 runs from 160 to 200. Bucket b1 runs alone from 241 until b2, of b0's group, starts
  // at 316. Then b1 has 15 us left, which take 30, until 346. By then b2 has done 15 of its 20, and
  // ends at 351. Copies out run from 323 to 330, from 349 to 360 (2 us during b2) and until 365.
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
  // At 50 GB/s, the bytes take 40, 80 and 20 us, after 6 us of latency. Copies to the host and back
  // take a picosecond a byte: 2, 4 and 1 us.
  //
  // Bucket b0 runs from 160 + 2 to 208. Bucket b1 runs from 245 (238 + 3 + 4). Bucket b2 starts at
  // 317 (313 + 3 + 1). Then 8 of b1's 80 us are left and take 16, until 333. By then b2 has done 8
  // of its 20, and ends at 345. The results are back at 213, 340 and 349. Copies out run from 323
  // to 330, from 340 (5 of 11 us during b2), and from 351 to 356.
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
