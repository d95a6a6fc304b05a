// Options of DistributedDataParallel, one at a time and in pairs that meet, on the step of paper_step.hpp
// with every cost switched on.
#include "paper_step.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using namespace ddpsim::paper;

namespace {

/// p0 takes no part in the forward: after p1's gradient 80 us of backward are left.
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

/// The host's map of three parameters is copied to the device in front of its all-reduce: a kernel, and 12 bytes at 500 GB/s.
constexpr Duration kMapCopy = 3_us + Duration::picoseconds(24);
constexpr Duration kMapCopyOfTwo = 3_us + Duration::picoseconds(16);

}  // namespace

TEST_CASE("paper options: one bucket for all waits for the last gradient") {
  // A cap that is passed holds for the first bucket since 2.5: 7 MB, launched when the host comes to p0.
  // Filled at 313: 316 to 356; copies out, all 23 us of them, from 359.
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
  // No cap passed, or one before 2.5: p2 alone, then 5 MB. The second is filled at 313: 316 to 406, copied
  // out 409 to 425.
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
  // p2 and p1, filled at 238: 241 to 281, hidden. p0: 316 to 406. The first's copies out take 18 us.
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
    "paper options: views leave nothing to copy out, and wait for the last all-reduce alone") {
  // The optimizer follows b2's end by an event: 354.
  SimulationOptions options = all_costs();
  options.ddp_to_set().gradient_as_bucket_view = true;
  StepTimes expected = times_with_all_costs();
  expected.finalize = {};
  expected.iteration = 384_us;
  CHECK(differences(step_with(options).times, expected) == "");
}

TEST_CASE(
    "paper options: searching unused parameters costs host time per parameter, and an all-reduce") {
  // The host searches 3 * 20 us before the first hook, so b0 is launched at 110; the hook of p1 ends at
  // 120, in time. The map is copied to the device behind p0's slice (kMapCopy, to 326), launched at 230 to 270 and follows b2: 351 to 356; b2's copy out lies beside
  // it for 2 of its 5 us, and the optimizer begins at 356 + 3, as that copy ends.
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
  // 351 to 381: the optimizer begins at 384, 25 us later.
  SimulationOptions options = all_costs();
  options.ddp_to_set().find_unused_parameters = true;
  const StepTimes times = step_with(options, workload(), wire({40_us, 90_us, 20_us, 30_us})).times;
  CHECK(times.iteration == 414_us);
  CHECK(times.exposed_communication == 58_us - kMapCopy);
  CHECK(times.finalize == Duration());
  CHECK(times.stall == 3_us);
}

TEST_CASE(
    "paper options: an unused parameter is zero-filled at the first hook, and read back in the "
    "end") {
  // Behind p2's gradient 4 us fill p0's slice (one pass over 1 MB), so everything is filled 4 us later:
  // 161 and 242. b2 has all it needs when b1 has: the host launches both at 120, one after the other. Backward
  // ends at 322, the copy of the map 3 us later. b0 164 to 204, b1 245 to 335, b2 to 355, the map to 360. Copies out 322, 338 to 349.
  // There, at p0, the host waits for the map (363) and reads it back, which is a round trip (12 us, and 40 for its next
  // launch): 415. Nobody used p0, so nothing is copied.
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
    "paper options: the map is read back in front of the first unused parameter, once, and later "
    "copies wait for it") {
  // p1's slice is filled in 7 us behind p2's gradient, copied by 164; p0's at 304, copied by 309; backward ends at 319.
  // b0 167 to 207, b1 to 297, b2 312 to 332, the map to 337. b0 is copied out from 319 to 326; p1 is in b1: 337 + 3 +
  // 52 = 392. Behind it b2's copy, to 397.
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
  SUBCASE("another rank used it: it is copied out here, too") {
    step.ranks.resize(2);
    static_cast<Recorded&>(step.ranks[0]) = step;
    static_cast<Recorded&>(step.ranks[1]) = workload();
    step.ranks[1].rank = 1;
    const SimulationResult result = simulated(options, step);
    CHECK(drawn(result.timeline.ranks.at(0)).find("copy out of bucket 1: ") != std::string::npos);
  }
  SUBCASE("views leave nothing to copy, but the map is read") {
    options.ddp_to_set().gradient_as_bucket_view = true;
    CHECK(step_with(options, step).times.iteration == 422_us);
  }
}

TEST_CASE(
    "paper options: behind the map copies out come at the pace of the host that launches them") {
  // p2, in the first bucket, is unused; behind the round trip b1's copy takes the GPU 11 us, b2's 5.
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

TEST_CASE("paper options: an ignored parameter is no unused one") {
  // p0 outside DDP and without a gradient: nothing to fill or read back. Two buckets, backward to 318, b1 to
  // 331, the map to 336. Copies out 318 to 325 and 334 to 345, then the optimizer.
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

TEST_CASE("paper options: static_graph knows the unused parameters and searches no more") {
  SimulationOptions options = all_costs();
  options.ddp_to_set().static_graph = true;
  CHECK(differences(step_with(options).times, times_with_all_costs()) == "");
  // Beside find_unused_parameters, too, and no map is reduced, even where a parameter is unused.
  options.ddp_to_set().find_unused_parameters = true;
  CHECK(differences(step_with(options).times, times_with_all_costs()) == "");
  CHECK(step_with(options, without_p0()).times.communication == 150_us);
}

TEST_CASE(
    "paper options: earlier micro-batches compute alone, later ones add into their gradients") {
  // Of two: forward and backward alone to 300, forward to 400. Adding is three passes over memory: 9, 15,
  // 6 us behind each gradient. p2 ready at 459, copied 466; p1 551, 562; p0 638, 643; backward ends at 653.
  // The host comes to gradients a forward ahead of them: 350, 420, 490. b0 469, b1 565 to 655, b2 to 675.
  // Copies out 653, 660 and 678 to 683.
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

  // What kept the GPU waiting between steps does so for each.
  Workload stalling = workload();
  stalling.iteration = 345_us;
  expected.stall = 3_us + 2 * 15_us;
  expected.iteration = 743_us;
  CHECK(differences(step_with(options, stalling).times, expected) == "");

  // A third: its forward, backward and 30 us of adding, all before the last forward.
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
  // 1 MB in two tensors: flattened in 5 us, broadcast from 8 to 48 (the model's first), back at 51, copied
  // in 8 us to 59. Half a MB in one: 4 us, 66 to 156, back at 159, 4 us to 163. The rest is 163 us later.
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

  // Once a synchronised step, not per micro-batch.
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
