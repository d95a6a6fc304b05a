// Jobs that cannot be simulated, tested on both sides of each limit.
#include "ddpsim/sim/simulate/cannot_simulate.hpp"
#include "paper_step.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

Duration seconds(double count) {
  return Duration::seconds(count);
}

/// A forward of 400,000 s and a very short backward. A step may last 1,000,000 s.
Workload slow() {
  Workload step = small::chain({{400, 10}}, 0, 20);
  step.forward = seconds(400'000);
  return step;
}

std::string problem(const Workload& step, const SimulationOptions& options = small::bare(),
                    const Cluster& cluster = paper::gpus()) {
  return cannot_simulate(Job(step, cluster, options, FreeModel{})).value_or("");
}

const std::string kTooLong =
    "a step would take longer than 12 days; check the units of times and rates";
const std::string kTooLarge = "gradients or buffers of more than 1024 TiB cannot be simulated";

}  // namespace

TEST_CASE("limits: every recorded part counts towards the longest step") {
  Workload step = slow();
  CHECK(problem(step) == "");
  step.backward->duration = seconds(400'000);
  CHECK(problem(step) == "");
  step.optimizer = seconds(300'000);
  CHECK(problem(step) == kTooLong);
  step = slow();
  step.iteration = seconds(800'000);
  CHECK(problem(step) == "");
  step.iteration = seconds(1'100'000);
  CHECK(problem(step) == kTooLong);
  step.iteration = seconds(-300'000);  // overlap longer than the step
  CHECK(problem(step) == kTooLong);
}

TEST_CASE("limits: anything that slows compute counts at its slowest") {
  const auto with = [](auto change) {
    SimulationOptions options = small::bare();
    change(options);
    return problem(slow(), options);
  };
  using Options = SimulationOptions;
  CHECK(with([](Options& o) { o.compute_scale = 0.5; }) == "");
  CHECK(with([](Options& o) { o.compute_scale = 0.25; }) == kTooLong);
  CHECK(with([](Options& o) { o.compute_scale_range = {0.5, 4}; }) == "");
  CHECK(with([](Options& o) { o.compute_scale_range = {0.25, 4}; }) == kTooLong);
  CHECK(with([](Options& o) { o.rank_slowdown.several_gpus = 1; }) == "");
  CHECK(with([](Options& o) { o.rank_slowdown.several_gpus = 2; }) == kTooLong);
  CHECK(with([](Options& o) {
          o.rank_slowdown_range = {RankSlowdown{}, RankSlowdown{.several_gpus = 1}};
        }) == "");
  CHECK(with([](Options& o) {
          o.rank_slowdown_range = {RankSlowdown{}, RankSlowdown{.several_gpus = 2}};
        }) == kTooLong);
  CHECK(with([](Options& o) { o.variation.stragglers = {{1, 2}, {0, 1}}; }) == "");
  CHECK(with([](Options& o) { o.variation.stragglers = {{1, 3}, {0, 1}}; }) == kTooLong);
  CHECK(with([](Options& o) { o.variation.jitter = 0.1; }) == "");
  CHECK(with([](Options& o) { o.variation.jitter = 0.2; }) == kTooLong);
  CHECK(with([](Options& o) { o.variation.stagger = seconds(500'000); }) == "");
  CHECK(with([](Options& o) { o.variation.stagger = seconds(700'000); }) == kTooLong);
  CHECK(with([](Options& o) { o.accumulate = 2; }) == "");
  CHECK(with([](Options& o) { o.accumulate = 3; }) == kTooLong);
}

TEST_CASE("limits: the slowest of several recordings counts, however far from rank 0 it begins") {
  const auto with = [](double forward, double offset) {
    Workload step = slow();
    RankRecording other;
    static_cast<Recorded&>(other) = step;
    other.rank = 1;
    other.forward = seconds(forward);
    other.offset = seconds(offset);
    RankRecording first;
    static_cast<Recorded&>(first) = step;
    step.ranks = {first, other};
    return problem(step);
  };
  CHECK(with(900'000, 0) == "");
  CHECK(with(1'100'000, 0) == kTooLong);
  CHECK(with(400'000, 500'000) == "");
  CHECK(with(400'000, 700'000) == kTooLong);
  CHECK(with(400'000, -700'000) == kTooLong);
}

TEST_CASE("limits: passes over memory, tensors and transfers count at their worst") {
  // One GPU has no transfers. There are twenty passes over gradients and eight over buffers at 1
  // GB/s; a tensor takes 1 ms.
  const Cluster alone = paper::gpus(1);
  const auto with_gradient = [&](std::int64_t terabytes, const Cluster& cluster) {
    Workload step = small::chain({{400, 10}}, 5, 20);
    step.parameters[0].shape = {{terabytes * 250'000'000'000}};
    return problem(step, small::bare(), cluster);
  };
  CHECK(with_gradient(45, alone) == "");
  CHECK(with_gradient(55, alone) == kTooLong);
  const auto with_buffers = [&](std::int64_t terabytes, std::int64_t tensors) {
    Workload step = small::chain({{400, 10}}, 5, 20);
    step.buffers = {{.bytes = Bytes(terabytes * 1'000'000'000'000), .tensors = tensors}};
    return problem(step, small::bare(), alone);
  };
  CHECK(with_buffers(120, 1) == "");
  CHECK(with_buffers(130, 1) == kTooLong);
  CHECK(with_buffers(0, 900'000'000) == "");
  CHECK(with_buffers(0, 1'100'000'000) == kTooLong);
  // At 1 GB/s between two GPUs, the same 45 TB take at least 45,000 s, and sixteen times that at
  // worst.
  CHECK(with_gradient(45, small::node(2, 1)) == kTooLong);
}

TEST_CASE("limits: bytes beyond 2^50, of gradients or of buffers together") {
  Workload step = small::chain({{400, 10}}, 5, 20);
  step.parameters[0].shape = {{std::int64_t{1} << 48}};
  CHECK(problem(step) == kTooLong);  // exactly 2^50: too slow, not too large
  step.parameters[0].shape = {{(std::int64_t{1} << 48) + 1}};
  CHECK(problem(step) == kTooLarge);
  step = small::chain({{400, 10}}, 5, 20);
  const Bytes half(std::int64_t{1} << 49);
  step.buffers = {{.bytes = half}, {.bytes = half}};
  CHECK(problem(step) == kTooLong);
  step.buffers.push_back({.bytes = 1_B});
  CHECK(problem(step) == kTooLarge);
  step.buffers = {{.bytes = Bytes::max()}, {.bytes = Bytes::max()}};
  CHECK(problem(step) == kTooLarge);
}

TEST_CASE("limits: more than 100,000 buckets are refused, with the option that makes them fewer") {
  const auto with = [](std::size_t gradients) {
    SimulationOptions options = small::bare();
    options.ddp_to_set().bucket_cap_mb = 0;
    options.ddp_to_set().first_bucket_mb = 0;
    return problem(small::chain(std::vector<small::Gradient>(gradients, {4, 10}), 5, 20), options);
  };
  CHECK(with(100'000) == "");
  CHECK(with(100'001) ==
        "a step has 100001 buckets, and the limit is 100000; raise --bucket-cap-mb");
}

TEST_CASE("limits: at most 65536 ranks may differ, but any number may be alike") {
  Cluster cluster = paper::gpus(8);
  cluster.network = {.kind = NetworkKind::infiniband, .nics_per_node = 8, .per_nic = 100_Gbps};
  SimulationOptions options = small::bare();
  const Workload step = paper::workload();
  const std::string too_many =
      "ranks that differ are simulated one by one: at most 65536, not 65544";
  cluster.nodes = 8193;
  CHECK(problem(step, options, cluster) == "");
  options.iterations = 3;
  CHECK(problem(step, options, cluster) == "");
  options.variation.stagger = 1_us;
  CHECK(problem(step, options, cluster) == too_many);
  cluster.nodes = 8192;
  CHECK(problem(step, options, cluster) == "");
  // Recordings of several ranks drift apart only from iteration to iteration.
  Workload several = step;
  RankRecording first;
  static_cast<Recorded&>(first) = step;
  several.ranks = {first};
  cluster.nodes = 8193;
  options.variation = {};
  CHECK(problem(several, options, cluster) == too_many);
  options.iterations = 0;
  CHECK(problem(several, options, cluster) == "");
}

TEST_CASE("limits: a gradient that never comes needs an option that expects it") {
  Workload step = paper::workload();
  step.backward->ready.pop_back();
  CHECK(problem(step) ==
        "parameter \"p0\" gets no gradient in this backward, so DDP would stop with an error at "
        "the next forward. If the script sets find_unused_parameters, add "
        "--find-unused-parameters. Otherwise mark the parameter \"ignored\", or \"frozen\" if its "
        "requires_grad is False (frozen= in an estimate)");
  SimulationOptions options = small::bare();
  options.ddp_to_set().find_unused_parameters = true;
  CHECK(problem(step, options) == "");
  options.ddp_to_set() = {.static_graph = true};
  CHECK(problem(step, options) == "");
  step.parameters[0].ignored = true;
  CHECK(problem(step) == "");
}

TEST_CASE("limits: a workload without parameters, order or times says what to record") {
  Workload step = paper::workload();
  for (Parameter& parameter : step.parameters) parameter.ignored = true;
  CHECK(problem(step) == "the workload has no parameters under DDP");
  step = paper::workload();
  step.backward->ready.clear();
  const std::string no_timing =
      "the workload has no backward timing (backward.ready). Record one, or import a profiler "
      "trace: "
      "ddpsim import TRACE -o WORKLOAD";
  CHECK(problem(step) == no_timing);
  step.backward.reset();
  CHECK(problem(step) == no_timing);
  step = paper::workload();
  step.backward->duration = {};
  CHECK(problem(step) == "");  // a recorded forward is enough
  step.forward.reset();
  CHECK(
      problem(step) ==
      "the workload holds the order of gradients but no times. Record a step, or import a profiler "
      "trace: ddpsim import TRACE -o WORKLOAD");
  step.backward->duration = 200_us;
  CHECK(problem(step) == "");
}
