// Options of DistributedDataParallel, one at a time and in pairs that interact, on the step of
// paper_step.hpp with every cost switched on.
#include "paper_step.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using namespace ddpsim::paper;

namespace {

/// The parameter p0 takes no part in the forward, so 80 us of backward follow p1's gradient.
Workload without_p0() {
  Workload step = workload();
  step.backward->ready.pop_back();
  return step;
}

using Members = std::vector<std::vector<std::size_t>>;

Members members(const std::vector<BucketResult>& buckets) {
  Members all;
  for (const BucketResult& bucket : buckets) all.push_back(bucket.bucket.parameters);
  return all;
}

}  // namespace

namespace {

/// The host's map of three parameters is copied to the device before its all-reduce: a kernel, and
/// 12 bytes at 500 GB/s.
constexpr Duration kMapCopy = 3_us + Duration::picoseconds(24);
constexpr Duration kMapCopyOfTwo = 3_us + Duration::picoseconds(16);

}  // namespace

TEST_CASE("paper options: one bucket for all waits for the last gradient") {
  // Since 2.5, a given cap also holds for the first bucket: 7 MB, launched when the host reaches
  // p0. It is full at 313 and reduced from 316 to 356. Copies out of 23 us follow from 359.
  SimulationOptions options = all_costs();
  options.ddp_to_set().bucket_cap_mb = 25;
  const StepResult step = step_with(options);
  CHECK(members(step.buckets) == Members{{kP2, kP1, kP0}});
  CHECK(step.buckets[0].bucket.bytes == 7'000'000_B);
  CHECK(differences(step.times, {.iteration = 412_us,
                                 .forward = 100_us,
                                 .backward = 223_us,
                                 .backward_compute = 200_us,
                                 .copies_in = 23_us,
                                 .communication = 40_us,
                                 .exposed_communication = 33_us,
                                 .overlap = 1 - 33 / 40.0,
                                 .finalize = 23_us,
                                 .optimizer = 30_us,
                                 .stall = 3_us}) == "");
  CHECK(differences(step.buckets,
                    {{308_us, 230_us, 316_us, 316_us, 356_us, 7'000'000_B, kReadyLast}}) == "");
}

TEST_CASE("paper options: a first bucket of 1 MiB, then the cap") {
  // Without a given cap, or before 2.5, p2 is alone and 5 MB follow. The second bucket is full at
  // 313, reduced from 316 to 406 and copied out from 409 to 425.
  SimulationOptions options = all_costs();
  const auto check = [&](std::optional<double> cap, TorchVersion torch) {
    options.ddp_to_set().bucket_cap_mb = cap;
    options.torch = torch;
    const StepResult step = step_with(options);
    CHECK(members(step.buckets) == Members{{kP2}, {kP1, kP0}});
    CHECK(differences(step.times, {.iteration = 455_us,
                                   .forward = 100_us,
                                   .backward = 223_us,
                                   .backward_compute = 200_us,
                                   .copies_in = 23_us,
                                   .communication = 130_us,
                                   .exposed_communication = 83_us,
                                   .overlap = 1 - 83 / 130.0,
                                   .finalize = 16_us,
                                   .optimizer = 30_us,
                                   .stall = 3_us}) == "");
    CHECK(differences(step.buckets,
                      {{150_us, 90_us, 160_us, 160_us, 200_us, 2'000'000_B},
                       {308_us, 230_us, 316_us, 316_us, 406_us, 5'000'000_B, kReadyLast}}) == "");
  };
  check(std::nullopt, {2, 8});
  check(25, {2, 4});
}

TEST_CASE("paper options: a first bucket of 5 MiB holds two gradients") {
  // Gradients p2 and p1 fill the first bucket at 238; it is reduced from 241 to 281, hidden. The
  // bucket of p0 is reduced from 316 to 406. The first one's copies out take 18 us.
  SimulationOptions options = all_costs();
  options.ddp_to_set().bucket_cap_mb.reset();
  options.ddp_to_set().first_bucket_mb = 5;
  const StepResult step = step_with(options);
  CHECK(members(step.buckets) == Members{{kP2, kP1}, {kP0}});
  CHECK(differences(step.times, {.iteration = 444_us,
                                 .forward = 100_us,
                                 .backward = 223_us,
                                 .backward_compute = 200_us,
                                 .copies_in = 23_us,
                                 .communication = 130_us,
                                 .exposed_communication = 83_us,
                                 .overlap = 1 - 83 / 130.0,
                                 .finalize = 5_us,
                                 .optimizer = 30_us,
                                 .stall = 3_us}) == "");
  CHECK(differences(step.buckets,
                    {{227_us, 160_us, 241_us, 241_us, 281_us, 6'000'000_B},
                     {308_us, 230_us, 316_us, 316_us, 406_us, 1'000'000_B, kReadyLast}}) == "");
}

TEST_CASE(
    "paper options: with views nothing is copied out, and only the last all-reduce is waited for") {
  // The optimizer follows b2's end after an event: 354.
  SimulationOptions options = all_costs();
  options.ddp_to_set().gradient_as_bucket_view = true;
  StepTimes expected = times_with_all_costs();
  expected.finalize = {};
  expected.iteration = 384_us;
  CHECK(differences(step_with(options).times, expected) == "");
}

TEST_CASE(
    "paper options: searching unused parameters costs host time per parameter, and an all-reduce") {
  // The host searches for 3 * 20 us before the first hook, so b0 is launched at 110. The hook of p1
  // ends at 120, in time.
  //
  // The map is copied to the device after p0's slice (kMapCopy, until 326). It is launched from 230
  // to 270 and follows b2: 351 to 356. The copy out of b2 overlaps it for 2 of its 5 us. The
  // optimizer begins at 356 + 3, when that copy ends.
  SimulationOptions options = all_costs();
  options.ddp_to_set().find_unused_parameters = true;
  const SimulationResult result = simulated(options);
  CHECK(differences(result.step.times, {.iteration = 389_us,
                                        .forward = 100_us,
                                        .backward = 223_us + kMapCopy,
                                        .backward_compute = 200_us,
                                        .copies_in = 23_us + kMapCopy,
                                        .communication = 155_us,
                                        .exposed_communication = 33_us - kMapCopy,
                                        .overlap = 1 - (33_us - kMapCopy) / 155_us,
                                        .finalize = 3_us,
                                        .optimizer = 30_us}) == "");
  CHECK(differences(result.step.buckets,
                    {{150_us, 110_us, 160_us, 160_us, 200_us, 2'000'000_B},
                     {227_us, 160_us, 241_us, 241_us, 331_us, 4'000'000_B, kLonger},
                     {308_us, 230_us, 331_us, 331_us, 351_us, 1'000'000_B, kInFront}}) == "");
  const std::string spans = drawn(result.timeline.ranks.at(0));
  CHECK(spans.find("host search unused parameters: 0 to 60\n") != std::string::npos);
  CHECK(spans.find("host launch: 230 to 270\n") != std::string::npos);
  CHECK(spans.find("communication local-used map: 351 to 356\n") != std::string::npos);
}

TEST_CASE("paper options: a map that takes longer than the copies out is waited for") {
  // It takes from 351 to 381, so the optimizer begins at 384, 25 us later.
  SimulationOptions options = all_costs();
  options.ddp_to_set().find_unused_parameters = true;
  const StepTimes times = step_with(options, workload(), wire({40_us, 90_us, 20_us, 30_us})).times;
  CHECK(times.iteration == 414_us);
  CHECK(times.exposed_communication == 58_us - kMapCopy);
  CHECK(times.finalize == Duration());
  CHECK(times.stall == 3_us);
}

TEST_CASE(
    "paper options: an unused parameter is zero-filled at the first hook, and read back at the "
    "end") {
  // After p2's gradient, filling p0's slice takes 4 us (one pass over 1 MB). So everything is full
  // 4 us later, at 161 and 242. Bucket b2 is complete when b1 is, and the host launches both at
  // 120, one after the other. Backward ends at 322, and the copy of the map 3 us later.
  //
  // Bucket b0 is reduced from 164 to 204, b1 from 245 to 335, b2 until 355, and the map until 360.
  // Copies out run until 322 and from 338 to 349. Then, at p0, the host waits for the map (363) and
  // reads it back. That is a round trip of 12 us, and 40 us for its next launch: 415. Nobody used
  // p0, so nothing is copied.
  SimulationOptions options = all_costs();
  options.ddp_to_set().find_unused_parameters = true;
  const StepResult step = step_with(options, without_p0());
  CHECK(differences(step.times, {.iteration = 445_us,
                                 .forward = 100_us,
                                 .backward = 222_us + kMapCopy,
                                 .backward_compute = 200_us,
                                 .copies_in = 22_us + kMapCopy,
                                 .communication = 155_us,
                                 .exposed_communication = 38_us - kMapCopy,
                                 .overlap = 1 - (38_us - kMapCopy) / 155_us,
                                 .optimizer = 30_us,
                                 .stall = 55_us}) == "");
  CHECK(differences(step.buckets,
                    {{150_us, 110_us, 164_us, 164_us, 204_us, 2'000'000_B},
                     {231_us, 160_us, 245_us, 245_us, 335_us, 4'000'000_B, kReadyLast},
                     {150_us, 200_us, 335_us, 335_us, 355_us, 1'000'000_B, kInFront}}) == "");
}

TEST_CASE(
    "paper options: the map is read back before the first unused parameter, once, and later "
    "copies wait for it") {
  // The slice of p1 is filled in 7 us after p2's gradient, which is copied by 164. Gradient p0
  // exists at 304 and is copied by 309. Backward ends at 319.
  //
  // Bucket b0 is reduced from 167 to 207, b1 until 297, b2 from 312 to 332, and the map until 337.
  // Bucket b0 is copied out from 319 to 326. Parameter p1 is in b1, so the host continues at 337 +
  // 3 + 52 = 392. The copy of b2 follows until 397.
  SimulationOptions options = all_costs();
  options.ddp_to_set().find_unused_parameters = true;
  Workload step = workload();
  step.backward->ready.erase(step.backward->ready.begin() + 1);
  CHECK(differences(step_with(options, step).times, {.iteration = 427_us,
                                                     .forward = 100_us,
                                                     .backward = 219_us + kMapCopy,
                                                     .backward_compute = 200_us,
                                                     .copies_in = 19_us + kMapCopy,
                                                     .communication = 155_us,
                                                     .exposed_communication = 18_us - kMapCopy,
                                                     .overlap = 1 - (18_us - kMapCopy) / 155_us,
                                                     .finalize = 5_us,
                                                     .optimizer = 30_us,
                                                     .stall = 55_us}) == "");
  SUBCASE("another rank used it, so it is copied out here too") {
    step.ranks.resize(2);
    static_cast<Recorded&>(step.ranks[0]) = step;
    static_cast<Recorded&>(step.ranks[1]) = workload();
    step.ranks[1].rank = 1;
    const SimulationResult result = simulated(options, step);
    CHECK(drawn(result.timeline.ranks.at(0)).find("copy out of bucket 1: ") != std::string::npos);
  }
  SUBCASE("with views nothing is copied, but the map is read") {
    options.ddp_to_set().gradient_as_bucket_view = true;
    CHECK(step_with(options, step).times.iteration == 422_us);
  }
}

TEST_CASE("paper options: after the map the host sets the pace of copies out") {
  // Parameter p2, in the first bucket, is unused. After the round trip, b1's copy takes the GPU 11
  // us, and b2's 5.
  SimulationOptions options = all_costs();
  options.ddp_to_set().find_unused_parameters = true;
  Workload step = workload();
  step.backward->ready.erase(step.backward->ready.begin());
  const auto with_launches_of = [&](Duration each) {
    options.costs.host_copy_kernel = each;
    return step_with(options, step).times.iteration;
  };
  CHECK(with_launches_of(6_us) == with_launches_of(11_us));
  CHECK(with_launches_of(20_us) - with_launches_of(6_us) == 9_us);
}

TEST_CASE("paper options: an ignored parameter does not count as unused") {
  // Parameter p0 is outside DDP and without a gradient, so there is nothing to fill or read back.
  // There are two buckets. Backward ends at 318, b1 at 331, and the map at 336. Copies out run from
  // 318 to 325 and from 334 to 345. Then the optimizer follows.
  SimulationOptions options = all_costs();
  options.ddp_to_set().find_unused_parameters = true;
  Workload step = without_p0();
  step.parameters[kP0].ignored = true;
  const StepResult result = step_with(options, step, wire({40_us, 90_us, 5_us}));
  CHECK(members(result.buckets) == Members{{kP2}, {kP1}});
  CHECK(result.times.copies_in == 18_us + kMapCopyOfTwo);
  CHECK(result.times.backward == 218_us + kMapCopyOfTwo);
  CHECK(result.times.iteration == 375_us);
}

TEST_CASE("paper options: static_graph knows the unused parameters and does not search again") {
  SimulationOptions options = all_costs();
  options.ddp_to_set().static_graph = true;
  CHECK(differences(step_with(options).times, times_with_all_costs()) == "");
  // With find_unused_parameters it is the same. No map is reduced, even if a parameter is unused.
  options.ddp_to_set().find_unused_parameters = true;
  CHECK(differences(step_with(options).times, times_with_all_costs()) == "");
  CHECK(step_with(options, without_p0()).times.communication == 150_us);
}

TEST_CASE("paper options: earlier micro-batches only compute, later ones add to their gradients") {
  // With two micro-batches, the first ends its backward at 300, and the second its forward at 400.
  // Adding makes three passes over memory: 9, 15 and 6 us after each gradient. Gradient p2 is ready
  // at 459 and copied at 466, p1 at 551 and 562, p0 at 638 and 643. Backward ends at 653.
  //
  // The host reaches gradients a forward ahead of them: 350, 420, 490. Bucket b0 starts at 469, b1
  // runs from 565 to 655, and b2 until 675. Copies out run until 653 and 660, and from 678 to 683.
  SimulationOptions options = all_costs();
  options.accumulate = 2;
  StepTimes expected{.iteration = 713_us,
                     .forward = 200_us,
                     .backward = 453_us,
                     .backward_compute = 430_us,
                     .copies_in = 23_us,
                     .communication = 150_us,
                     .exposed_communication = 22_us,
                     .overlap = 1 - 22 / 150.0,
                     .finalize = 5_us,
                     .optimizer = 30_us,
                     .stall = 3_us};
  const StepResult two = step_with(options);
  CHECK(differences(two.times, expected) == "");
  CHECK(differences(two.buckets,
                    {{459_us, 390_us, 469_us, 469_us, 509_us, 2'000'000_B},
                     {551_us, 460_us, 565_us, 565_us, 655_us, 4'000'000_B, kLonger},
                     {638_us, 530_us, 655_us, 655_us, 675_us, 1'000'000_B, kInFront}}) == "");

  // Time in which the GPU waits between steps counts for each micro-batch.
  Workload stalling = workload();
  stalling.iteration = 345_us;
  expected.stall = 3_us + 2 * 15_us;
  expected.iteration = 743_us;
  CHECK(differences(step_with(options, stalling).times, expected) == "");

  // A third one adds its forward, its backward and 30 us of adding, all before the last forward.
  options.accumulate = 3;
  const StepResult three = step_with(options);
  expected.iteration = 1043_us;
  expected.forward = 300_us;
  expected.backward = 683_us;
  expected.backward_compute = 660_us;
  expected.stall = 3_us;
  CHECK(differences(three.times, expected) == "");
  CHECK(three.buckets[0].launch == TimePoint(690_us));
  CHECK(three.buckets[1].launch == TimePoint(760_us));
}

TEST_CASE("paper options: buffers are broadcast before the forward, one type after the other") {
  // 1 MB in two tensors is flattened in 5 us, broadcast from 8 to 48 (the model's first), back at
  // 51, and copied in 8 us until 59. Half a MB in one tensor takes 4 us, is broadcast from 66 to
  // 156, back at 159, and copied in 4 us until 163. Everything else is 163 us later.
  SimulationOptions options = all_costs();
  Workload step = workload();
  step.buffers = {{.dtype = Dtype::float32, .bytes = 1'000'000_B, .tensors = 2},
                  {.dtype = Dtype::int64, .bytes = 500'000_B, .tensors = 1}};
  StepTimes expected = times_with_all_costs();
  expected.iteration = 552_us;
  expected.forward = 263_us;
  expected.buffer_broadcast = 163_us;
  const SimulationResult result = simulated(options, step);
  CHECK(differences(result.step.times, expected) == "");
  CHECK(result.step.buckets[0].start == TimePoint(323_us));
  CHECK(result.step.buckets[0].launch == TimePoint(90_us));
  const std::string spans = drawn(result.timeline.ranks.at(0));
  for (const char* span :
       {"compute buffer copies: 0 to 5\n", "communication buffer broadcast: 8 to 48\n",
        "compute buffer copies: 51 to 63\n", "communication buffer broadcast: 66 to 156\n",
        "compute buffer copies: 159 to 163\n", "compute forward: 163 to 263\n"}) {
    CAPTURE(span);
    CHECK(spans.find(span) != std::string::npos);
  }

  // This happens once in a synchronised step, not per micro-batch.
  options.accumulate = 2;
  const StepTimes two = step_with(options, step).times;
  CHECK(two.buffer_broadcast == 163_us);
  CHECK(two.iteration == 713_us + 163_us);

  options.torch = all_costs().torch;
  options.accumulate = all_costs().accumulate;
  options.scheme = all_costs().scheme;
  options.ddp_to_set().broadcast_buffers = false;
  CHECK(differences(step_with(options, step).times, times_with_all_costs()) == "");
}
