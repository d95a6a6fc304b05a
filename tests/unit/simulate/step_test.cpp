#include <doctest/doctest.h>

#include <cstdint>

#include "ddpsim/sim/collectives/collective_model.hpp"
#include "ddpsim/sim/simulate/cannot_simulate.hpp"
#include "ddpsim/sim/simulate/simulate.hpp"
#include "ddpsim/sim/values/simulation_options.hpp"
#include "ddpsim/sim/values/split_mix.hpp"
#include "small_jobs.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

/// Collectives with times chosen by the test.
RecordedModel taking(std::vector<Duration> durations) {
  return {std::move(durations)};
}

SimulationResult simulated_ranks(const Workload& workload, const SimulationOptions& options,
                                 const CollectiveModel& model, int ranks = 2) {
  REQUIRE_FALSE(cannot_simulate(Job(workload, small::node(ranks), options, FreeModel{})));
  return simulate(Job(workload, small::node(ranks), options, model));
}

void check_sums(const StepTimes& times) {
  for (const Duration part :
       {times.forward, times.buffer_broadcast, times.backward, times.exposed_communication,
        times.finalize, times.optimizer, times.stall, times.forward_ahead})
    CHECK(part >= Duration());
  CHECK(times.iteration == times.forward + times.backward + times.exposed_communication +
                               times.finalize + times.optimizer + times.stall);
  CHECK(times.backward == times.backward_compute + times.copies_in + times.interference);
  CHECK(times.exposed_communication <= times.communication + times.wait);
  if (times.overlap) {
    CHECK(*times.overlap >= 0);
    CHECK(*times.overlap <= 1);
  }
}

/// A small seeded generator for random jobs.
struct Random {
  std::uint64_t state;
  std::uint64_t next() { return next_random(state); }
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(n));
  }
};

}  // namespace

TEST_CASE("step: two buckets, the first hidden, the second exposed") {
  // Backward takes 100 us. 4 MB are ready at 40, and 4 MB at 100. Each all-reduce takes 30 us.
  const Workload workload = small::chain({{4'000'000, 40}, {4'000'000, 100}}, 50, 100, 10);
  SimulationOptions options = small::bare();
  options.ddp_to_set().bucket_cap_mb = 1;
  const SimulationResult result = simulated_ranks(workload, options, taking({30_us, 30_us}));
  const StepTimes& times = result.step.times;
  CHECK(times.iteration == 190_us);
  CHECK(times.communication == 60_us);
  CHECK(times.exposed_communication == 30_us);
  CHECK(*times.overlap == doctest::Approx(0.5));
  CHECK(result.step.buckets[0].exposed_because.empty());
  CHECK(result.step.buckets[1].start == TimePoint(150_us));
  CHECK(result.step.buckets[1].exposed_because ==
        "its last gradient ends backward, so no compute is left to hide it");
  check_sums(times);
}

TEST_CASE("step: a bucket complete before its turn waits for the one before it") {
  // The order of buckets follows the ready order of rank 0. With the buckets forced into the
  // opposite order, the first one to be complete is second in line.
  const Workload workload = small::chain({{4'000'000, 10}, {4'000'000, 60}}, 0, 100);
  SimulationOptions options = small::bare();
  std::vector<Bucket> buckets = rebuilt_buckets(workload, std::vector<Bytes>{1_B});
  std::swap(buckets[0], buckets[1]);
  options.buckets = buckets;
  const SimulationResult result = simulated_ranks(workload, options, taking({5_us, 5_us}));
  CHECK(result.step.buckets[0].start == TimePoint(60_us));
  CHECK(result.step.buckets[1].ready == TimePoint(10_us));
  CHECK(result.step.buckets[1].start == TimePoint(65_us));
}

TEST_CASE("step: the first iteration of a run has one bucket and hides nothing") {
  const Workload workload = small::chain({{4'000'000, 40}, {4'000'000, 100}}, 50, 100);
  SimulationOptions options = small::bare();
  options.ddp_to_set().bucket_cap_mb = 1;
  options.iterations = 2;
  const SimulationResult result = simulated_ranks(workload, options, taking({30_us, 30_us}));
  REQUIRE(result.iterations.size() == 2);
  CHECK(result.iterations[0].buckets.size() == 1);
  CHECK(*result.iterations[0].times.overlap == 0);
  CHECK(result.iterations[1].buckets.size() == 2);
}

TEST_CASE("step: static_graph starts with everything after backward") {
  const Workload workload = small::chain({{4'000'000, 40}, {4'000'000, 100}}, 50, 100);
  SimulationOptions options = small::bare();
  options.ddp_to_set().bucket_cap_mb = 1;
  options.ddp_to_set().static_graph = true;
  options.iterations = 3;
  const SimulationResult result = simulated_ranks(workload, options, taking({30_us, 30_us, 1_us}));
  for (const BucketResult& bucket : result.iterations[0].buckets)
    CHECK(bucket.start >= TimePoint(150_us));
  CHECK(result.iterations[0].buckets.size() == 1);
  CHECK(result.iterations[1].buckets.size() == 1);
  CHECK(result.iterations[2].buckets.size() == 2);
}

TEST_CASE("step: accumulation adds micro-batches without collectives") {
  const Workload workload = small::chain({{4'000'000, 40}, {4'000'000, 100}}, 50, 100, 10);
  SimulationOptions options = small::bare();
  options.ddp_to_set().bucket_cap_mb = 1;
  const StepTimes once = simulated_ranks(workload, options, taking({30_us, 30_us})).step.times;
  options.accumulate = 3;
  const StepTimes thrice = simulated_ranks(workload, options, taking({30_us, 30_us})).step.times;
  CHECK(thrice.communication == once.communication);
  CHECK(thrice.exposed_communication == once.exposed_communication);
  CHECK(thrice.iteration >= once.iteration + 2 * 150_us);
  // Adding to gradients costs nothing here.
  CHECK((thrice.iteration - once.iteration - 2 * 150_us) < 1_us);
  check_sums(thrice);
}

TEST_CASE("step: gradient_as_bucket_view leaves nothing to copy out") {
  const Workload workload = small::chain({{40'000'000, 40}, {40'000'000, 100}}, 50, 100, 10);
  SimulationOptions options;
  const StepTimes copied = simulated_ranks(workload, options, taking({30_us, 30_us})).step.times;
  options.ddp_to_set().gradient_as_bucket_view = true;
  const StepTimes views = simulated_ranks(workload, options, taking({30_us, 30_us})).step.times;
  CHECK(copied.finalize > 100_us);
  CHECK(views.finalize == Duration());
  CHECK(views.copies_in == copied.copies_in);
}

TEST_CASE("step: copies that the recording contains are not added again") {
  Workload plain = small::chain({{40'000'000, 300}, {40'000'000, 800}}, 50, 1000);
  Workload hooked = plain;
  hooked.recorded_with.ddp_hooks = true;
  const SimulationOptions options;
  const StepTimes added = simulated_ranks(plain, options, taking({30_us, 30_us})).step.times;
  const StepTimes kept = simulated_ranks(hooked, options, taking({30_us, 30_us})).step.times;
  CHECK(kept.backward == 1000_us);
  CHECK(added.backward == 1000_us + added.copies_in);
  CHECK(kept.copies_in == added.copies_in);
}

TEST_CASE("step: a recorded finalize replaces the modelled one, and views remove it") {
  Workload workload = small::chain({{40'000'000, 300}, {40'000'000, 800}}, 50, 1000);
  workload.recorded_with.ddp_hooks = true;
  workload.recorded_with.finalize = 777_us;
  SimulationOptions options = small::bare();
  options.costs.copy_kernel = 1_us;
  const StepTimes recorded = simulated_ranks(workload, options, taking({1_us, 1_us})).step.times;
  CHECK((recorded.finalize - 777_us) < 1_us);
  CHECK((777_us - recorded.finalize) < 1_us);
  options.ddp_to_set().gradient_as_bucket_view = true;
  CHECK(simulated_ranks(workload, options, taking({1_us, 1_us})).step.times.finalize == Duration());
}

TEST_CASE("step: unused parameters need find_unused_parameters and are ready at the first hook") {
  Workload workload = small::chain({{4'000'000, 40}, {4'000'000, 100}}, 50, 100);
  workload.backward->ready.pop_back();
  SimulationOptions options = small::bare();
  const auto problem = cannot_simulate(Job(workload, small::node(2), options, FreeModel{}));
  REQUIRE(problem);
  CHECK(problem->find("--find-unused-parameters") != std::string::npos);
  options.ddp_to_set().find_unused_parameters = true;
  options.ddp_to_set().bucket_cap_mb = 1;
  const SimulationResult result = simulated_ranks(workload, options, taking({30_us, 30_us, 2_us}));
  for (const BucketResult& bucket : result.step.buckets) CHECK(bucket.start <= TimePoint(120_us));
  // The map of used parameters follows the last bucket.
  CHECK(result.step.times.communication == 62_us);
}

TEST_CASE("step: parameters outside DDP have no bucket but keep their place in backward") {
  Workload workload = small::chain({{4'000'000, 40}, {4'000'000, 100}}, 50, 100);
  workload.parameters[1].ignored = true;
  const SimulationResult result = simulated_ranks(workload, small::bare(), taking({30_us}));
  REQUIRE(result.step.buckets.size() == 1);
  CHECK(result.step.buckets[0].bucket.parameters == std::vector<std::size_t>{0});
  CHECK(result.step.times.backward == 100_us);
}

TEST_CASE("step: buffers are broadcast before forward unless the recording contains it") {
  Workload workload = small::chain({{4'000'000, 100}}, 50, 100);
  workload.buffers = {{.dtype = Dtype::float32, .bytes = 200_KiB, .tensors = 10}};
  const CollectiveModel model = AnalyticModel{};
  SimulationOptions options;
  const StepTimes with = simulated_ranks(workload, options, model).step.times;
  CHECK(with.buffer_broadcast > Duration());
  CHECK(with.forward == 50_us + with.buffer_broadcast);
  options.ddp_to_set().broadcast_buffers = false;
  CHECK(simulated_ranks(workload, options, model).step.times.forward == 50_us);
  workload.recorded_with.ddp_hooks = true;
  workload.recorded_with.buffer_broadcast = 20_us;
  options.ddp_to_set().broadcast_buffers = true;
  const StepTimes recorded = simulated_ranks(workload, options, model).step.times;
  CHECK(recorded.forward == 50_us);
  CHECK(recorded.buffer_broadcast == 20_us);
}

TEST_CASE("step: a straggler makes the others wait, and only wait") {
  const Workload workload = small::chain({{4'000'000, 40}, {4'000'000, 100}}, 50, 100);
  SimulationOptions options = small::bare();
  options.ddp_to_set().bucket_cap_mb = 1;
  options.variation.stragglers = {{.rank = 2, .slowdown = 1.2}};
  const StepTimes times = simulated_ranks(workload, options, taking({30_us, 30_us}), 4).step.times;
  // Rank 2 ends backward at 180 us instead of 150. The last all-reduce ends 30 us later.
  CHECK(times.iteration == 210_us);
  // The wait is 108 - 90 us at the first bucket, and 180 - 150 at the second.
  CHECK(times.wait == 18_us + 30_us);
  options.variation.stragglers = {{.rank = 1, .slowdown = 1.2}};
  CHECK(simulated_ranks(workload, options, taking({30_us, 30_us}), 4).step.times.iteration ==
        times.iteration);
}

TEST_CASE("step: one rank has nothing to communicate") {
  const Workload workload = small::chain({{4'000'000, 40}, {4'000'000, 100}}, 50, 100);
  const CollectiveModel model = AnalyticModel{};
  const StepTimes times = simulated_ranks(workload, {}, model, 1).step.times;
  CHECK(times.communication == Duration());
  CHECK_FALSE(times.overlap);
  check_sums(times);
}

TEST_CASE("step: random jobs keep the sums, and a faster network is never slower") {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    Random random{seed};
    std::vector<small::Gradient> gradients;
    double at = 0;
    const std::int64_t count = 1 + random.below(20);
    for (std::int64_t k = 0; k < count; ++k) {
      at += static_cast<double>(random.below(400));
      gradients.push_back({4 * random.below(5'000'000), at});
    }
    Workload workload =
        small::chain(gradients, 500, at + static_cast<double>(random.below(50)), 20);
    workload.recorded_with.ddp_hooks = random.below(2) == 0;
    if (random.below(3) == 0)
      workload.iteration = Duration::microseconds(at + 1 + static_cast<double>(random.below(1200)));
    SimulationOptions options;
    options.ddp_to_set().bucket_cap_mb = static_cast<double>(random.below(30));
    options.ddp_to_set().gradient_as_bucket_view = random.below(2) == 0;
    options.ddp_to_set().find_unused_parameters = random.below(3) == 0;
    options.accumulate = static_cast<int>(1 + random.below(3));
    const int ranks = static_cast<int>(2 + random.below(12));
    // Without interference, because a slower NCCL kernel holds SMs for longer, and a faster one at
    // another time.
    options.interference.sm_share = 0;
    Duration before = Duration::max();
    for (const double rate : {5.0, 20.0, 80.0, 320.0}) {
      const Cluster cluster = small::node(ranks, rate);
      const CollectiveModel model =
          AnalyticModel{.tuning = {.algorithms = Algorithm::ring, .protocols = Protocol::simple}};
      const StepTimes times = simulate(Job(workload, cluster, options, model)).step.times;
      check_sums(times);
      CHECK(times.iteration <= before);
      before = times.iteration;
    }
  }
}

TEST_CASE("step: a job that cannot be simulated is refused with a way out") {
  const Cluster cluster = small::node(2);
  Workload workload = small::chain({{400, 10}}, 5, 20);
  workload.parameters[0].shape.reset();
  CHECK(cannot_simulate(Job(workload, cluster, {}, FreeModel{}))->find("--model") !=
        std::string::npos);
  workload = small::chain({{400, 10}}, 5, 20);
  workload.backward.reset();
  CHECK(cannot_simulate(Job(workload, cluster, {}, FreeModel{}))->find("import") !=
        std::string::npos);
  workload = small::chain({}, 5, 20);
  CHECK(cannot_simulate(Job(workload, cluster, {}, FreeModel{})));
  workload = small::chain({{400, 10}}, 5, 20);
  workload.parameters[0].shape = {{std::int64_t{1} << 62}};
  CHECK(cannot_simulate(Job(workload, cluster, {}, FreeModel{}))->find("2^63") !=
        std::string::npos);
  workload.parameters[0].shape = {{std::int64_t{1} << 60}};
  CHECK(cannot_simulate(Job(workload, cluster, {}, FreeModel{}))->find("TiB") != std::string::npos);
  workload.parameters[0].shape = {{std::int64_t{1} << 47}};
  CHECK(cannot_simulate(Job(workload, small::node(2, 1e-6), {}, FreeModel{}))->find("days") !=
        std::string::npos);
}

namespace {

/// Two gradients recorded under DDP on two ranks, with an 8-channel kernel from 30 to 90 us of
/// backward.
Workload recorded_on_two_ranks() {
  Workload workload = small::chain({{4'000'000, 40}, {4'000'000, 100}}, 50, 120, 10);
  RecordedWith& recorded = workload.recorded_with;
  recorded.ddp_hooks = true;
  recorded.world_size = 2;
  recorded.nccl_kernels = 2;
  recorded.collectives = {{4_MiB, 30_us, 30_us, 60_us, 8}, {4_MiB, 110_us, 120_us, 40_us, 8}};
  recorded.exposed = 40_us;
  recorded.finalize = 30_us;
  return workload;
}

}  // namespace

TEST_CASE("step: the recorded slowdown by NCCL is removed for every cluster") {
  const Workload workload = recorded_on_two_ranks();
  SimulationOptions options = small::bare();
  options.interference.sm_share = 1;
  // 60 us of backward ran at 72/80 of the speed, so 6 us of its 120 are not its own.
  for (const int ranks : {1, 2, 8}) {
    const Cluster cluster = small::node(ranks);
    const StepTimes times = simulate(Job(workload, cluster, options, AnalyticModel{})).step.times;
    CHECK(times.backward_compute == 114_us);
  }
  const Cluster cluster = small::node(2);
  CHECK(simulate_times(Job(workload, cluster, options, FreeModel{})).backward_compute == 114_us);
}

TEST_CASE("step: replaying a recording with its own durations and kernels reproduces it") {
  const Workload workload = recorded_on_two_ranks();
  SimulationOptions options = small::bare();
  options.interference.sm_share = 1;
  options.ddp_to_set().bucket_cap_mb = 1;
  const RecordedModel model{.durations = {60_us, 40_us}, .channels = 8};
  const StepTimes times = simulate_times(Job(workload, small::node(2), options, model));
  CHECK(times.backward.microseconds() == doctest::Approx(120).epsilon(0.05));
  CHECK(times.interference > Duration());
}

TEST_CASE("step: copies out take the recorded time for any buckets under study") {
  const Workload workload = recorded_on_two_ranks();
  SimulationOptions options = small::bare();
  options.costs.copy_kernel = 1_us;
  Duration least = Duration::max();
  Duration most;
  for (const double cap : {0.0, 1.0, 100.0}) {
    options.ddp_to_set().bucket_cap_mb = cap;
    // With free collectives nothing hides a copy, so finalize is the time of all copies.
    const Duration finalize =
        simulate_times(Job(workload, small::node(2), options, FreeModel{})).finalize;
    least = std::min(least, finalize);
    most = std::max(most, finalize);
  }
  CHECK((most - least) < 10_ps);
}

TEST_CASE("step: buffers are broadcast once per synchronised step, not per micro-batch") {
  Workload workload = recorded_on_two_ranks();
  workload.buffers = {{.dtype = Dtype::float32, .bytes = 4_KiB, .tensors = 1}};
  workload.recorded_with.buffer_broadcast = 20_us;
  SimulationOptions options = small::bare();
  CHECK(simulate_times(Job(workload, small::node(2), options, FreeModel{})).forward == 50_us);
  options.accumulate = 2;
  CHECK(simulate_times(Job(workload, small::node(2), options, FreeModel{})).forward == 80_us);
  options.ddp_to_set().broadcast_buffers = false;
  const StepTimes without = simulate_times(Job(workload, small::node(2), options, FreeModel{}));
  CHECK(without.forward == 60_us);
  CHECK(without.buffer_broadcast == Duration());
}

TEST_CASE("step: static_graph's first iteration keeps everything that was recorded") {
  Workload workload = recorded_on_two_ranks();
  for (ReadyEvent& event : workload.backward->ready) event.copied_at = event.at + 15_us;
  SimulationOptions options = small::bare();
  options.ddp_to_set().static_graph = true;
  options.iterations = 2;
  const SimulationResult result =
      simulate(Job(workload, small::node(2), options, taking({1_us, 1_us, 1_us})));
  CHECK(result.iterations[0].times.backward == result.iterations[1].times.backward);
}

TEST_CASE("step: a compression hook halves the bytes sent and adds casts around them") {
  // 4 MB of fp32 are ready at 100 us. At 1 byte per ps of memory, a cast moves 6 MB, a division 4
  // MB, a cast back 6 MB, and each copy 8 MB.
  const Workload workload = small::chain({{4'000'000, 100}}, 50, 100);
  SimulationOptions options = small::bare();
  options.costs.copy_bandwidth_share = 1;
  Cluster cluster = small::node(2);
  cluster.gpu.memory_bandwidth = Bandwidth::gigabytes_per_second(1000);
  const auto run_with = [&](CommHook hook) {
    options.ddp_to_set().comm_hook = hook;
    return simulate(Job(workload, cluster, options, taking({30_us}))).step;
  };
  const StepResult plain = run_with(CommHook::none);
  CHECK(plain.times.copies_in == 8_us);
  CHECK(plain.times.finalize == 8_us);
  for (const CommHook hook : {CommHook::fp16_compress, CommHook::bf16_compress}) {
    const StepResult hooked = run_with(hook);
    check_sums(hooked.times);
    CHECK(hooked.times.copies_in == 8_us + 6_us + 4_us);
    CHECK(hooked.times.exposed_communication == 30_us);
    CHECK(hooked.times.finalize == 6_us + 8_us);
    CHECK(hooked.times.stall == Duration());
    CHECK(hooked.buckets[0].bucket.bytes == 4'000'000_B);  // gradients, as counted for the cap
  }
}

TEST_CASE("step: casts of a compression hook wait for a host that is behind") {
  Workload workload = small::chain({{4'000'000, 100}}, 50, 100);
  workload.host_ready = {300_us};  // 200 us after the GPU
  SimulationOptions options = small::bare();
  options.costs.copy_bandwidth_share = 1;
  Cluster cluster = small::node(2);
  cluster.gpu.memory_bandwidth = Bandwidth::gigabytes_per_second(1000);
  const auto start_with = [&](CommHook hook) {
    options.ddp_to_set().comm_hook = hook;
    const StepResult step = simulate(Job(workload, cluster, options, taking({30_us}))).step;
    check_sums(step.times);
    return step.buckets[0].start;
  };
  // Casting 6 MB and dividing 4 MB follow the launch, and do not use the idle time before it.
  CHECK(start_with(CommHook::fp16_compress) - start_with(CommHook::none) == 10_us);
}

TEST_CASE("step: recorded casts are not added again") {
  Workload workload = small::chain({{4'000'000, 100}}, 50, 100);
  workload.recorded_with.ddp_hooks = true;
  workload.recorded_with.world_size = 2;
  SimulationOptions options = small::bare();
  options.costs.copy_bandwidth_share = 1;
  options.ddp_to_set().comm_hook = CommHook::fp16_compress;
  const auto backward = [&] {
    return simulate(Job(workload, small::node(2), options, taking({30_us}))).step.times.backward;
  };
  const Duration added = backward();
  workload.recorded_with.wire = Dtype::float16;
  CHECK(backward() < added);
  workload.recorded_with.wire = Dtype::bfloat16;  // other casts
  CHECK(backward() == added);
}

TEST_CASE("step: a cast back runs during the next all-reduce, not before it") {
  const Workload workload = small::chain({{4'000'000, 10}, {4'000'000, 10}}, 0, 10);
  SimulationOptions options = small::bare();
  options.costs.copy_bandwidth_share = 1;
  options.ddp_to_set() = {.bucket_cap_mb = 1, .gradient_as_bucket_view = true};
  options.ddp_to_set().comm_hook = CommHook::fp16_compress;
  Cluster cluster = small::node(2);
  cluster.gpu.memory_bandwidth = Bandwidth::gigabytes_per_second(1000);
  const StepResult step = simulate(Job(workload, cluster, options, taking({30_us, 30_us}))).step;
  CHECK(step.buckets[1].start == step.buckets[0].end);
  CHECK(step.times.finalize == 6_us);  // the last bucket's
  check_sums(step.times);
}

TEST_CASE("step: an all-reduce under a compression hook carries two bytes an element") {
  DdpOptions options;
  CHECK(wire_bytes(options, Dtype::float32, 12_B) == 12_B);
  options.comm_hook = CommHook::bf16_compress;
  CHECK(wire_bytes(options, Dtype::float32, 12_B) == 6_B);
  CHECK(wire_bytes(options, Dtype::float64, 16_B) == 4_B);
  CHECK(wire_bytes(options, Dtype::float16, 12_B) == 12_B);
  const Workload workload = small::chain({{64'000'000, 100}}, 50, 100);
  SimulationOptions simulation = small::bare();
  const auto transfer = [&] {
    return simulate(Job(workload, small::node(4), simulation, AnalyticModel{}))
        .step.times.communication;
  };
  const Duration whole = transfer();
  simulation.ddp_to_set().comm_hook = CommHook::fp16_compress;
  CHECK(transfer() / whole == doctest::Approx(0.5).epsilon(0.05));
}

TEST_CASE("step: small buckets may travel uncompressed, divided like the others") {
  const Workload workload = small::chain({{4'000'000, 10}, {1'000'000, 20}}, 0, 20);
  SimulationOptions options = small::bare();
  options.costs.copy_bandwidth_share = 1;
  options.torch = {2, 11};
  options.ddp_to_set() = {.bucket_cap_mb_list = {1, 0.5}};
  options.ddp_to_set().gradient_as_bucket_view = true;
  options.ddp_to_set().comm_hook = CommHook::fp16_compress;
  Cluster cluster = small::node(2);
  cluster.gpu.memory_bandwidth = Bandwidth::gigabytes_per_second(1000);
  const auto step_from = [&](double mib) {
    options.ddp_to_set().comm_hook_min_mb = mib;
    return simulate(Job(workload, cluster, options, taking({30_us, 30_us}))).step;
  };
  const StepResult all = step_from(0);
  CHECK(all.buckets[1].bytes == 500'000_B);
  const StepResult large = step_from(1);
  CHECK(large.buckets[0].bytes == 2'000'000_B);
  CHECK(large.buckets[1].bytes == 1'000'000_B);
  // For 1 MB: copied 2, cast 1.5 and divided 1; or only divided 2.
  CHECK(all.times.copies_in - large.times.copies_in == Duration::microseconds(0.5));
  CHECK(all.times.finalize - large.times.finalize == Duration::microseconds(1.5));
  // The limit applies from 4 MB on, but not at a byte more.
  CHECK(step_from(4'000'000.0 / 1048576).buckets[0].bytes == 2'000'000_B);
  CHECK(step_from(4'000'001.0 / 1048576).buckets[0].bytes == 4'000'000_B);
  CHECK_FALSE(unsupported(options.ddp(), options.torch));
  options.ddp_to_set().comm_hook = CommHook::power_sgd;
  options.ddp_to_set().comm_hook_min_mb = 0.5;
  CHECK(unsupported(options.ddp(), options.torch)
            .value_or("")
            .find("a minimum bucket size (--comm-hook-min-mb) only works with fp16") == 0);
}

TEST_CASE("step: communication hooks need a version that has them") {
  DdpOptions options;
  options.comm_hook = CommHook::fp16_compress;
  CHECK(unsupported(options, {1, 7})->find("fp16_compress_hook") != std::string::npos);
  CHECK_FALSE(unsupported(options, {1, 8}));
  options.comm_hook = CommHook::bf16_compress;
  CHECK(unsupported(options, {1, 8})->find("1.10") != std::string::npos);
}
