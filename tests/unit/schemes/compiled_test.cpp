// DDP around a compiled model. The step is that of scheme_step.hpp, whose parameters have 4 MB
// each. The cuts of PyTorch 2.13 were logged by tests/cli/compiled_trainings.py.
#include "compiled.hpp"

#include <set>
#include <string>
#include <vector>

#include "ddpsim/sim/simulate/cannot_simulate.hpp"
#include "ddpsim/sim/simulate/simulate.hpp"
#include "ddpsim/sim/step/job_buckets.hpp"
#include "ddpsim/sim/tune/tune.hpp"
#include "mentions.hpp"
#include "paper_step.hpp"
#include "scheme_step.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using namespace ddpsim::schemes;

namespace {

constexpr Compiled kCut{};
constexpr Compiled kWhole{.optimize_ddp = OptimizeDdp::no_optimization};
constexpr Compiled kPython{.optimize_ddp = OptimizeDdp::python_reducer};

/// Gradients of the given sizes in bytes, in the order written.
Workload written(const std::vector<std::pair<std::string, std::int64_t>>& gradients) {
  Workload step;
  step.backward = Backward{.duration = 1_us, .ready = {}};
  for (const auto& [name, bytes] : gradients) {
    step.backward->ready.push_back(
        {.parameter = step.parameters.size(), .at = 1_us, .copied_at = {}});
    step.parameters.push_back(parameter(name, {bytes / 4}));
  }
  return step;
}

std::vector<std::size_t> ends(const Workload& step, std::int64_t first, std::int64_t cap) {
  return piece_ends(step, step, {.first = Bytes(first), .cap = Bytes(cap)});
}

using PieceEnds = std::vector<std::size_t>;

SimulationOptions compiled(Compiled scheme, double cap_mb = 8) {
  SimulationOptions all = options(scheme);
  all.torch = {2, 8};
  all.ddp_to_set().bucket_cap_mb = cap_mb;
  return all;
}

/// Each all-reduce takes 50 us.
StepResult step_of(const SimulationOptions& options, const Workload& step = layered()) {
  const RecordedModel model{.durations = std::vector<Duration>(8, 50_us)};
  return simulate(Job(step, small::node(2), options, model)).step;
}

std::string buckets_of(const StepResult& step) {
  std::string text;
  for (const BucketResult& bucket : step.buckets)
    text += fmt::format("\n{}: ready {}, {} to {}", bucket.bucket.parameters.size(),
                        bucket.ready.since_start().microseconds(),
                        bucket.start.since_start().microseconds(),
                        bucket.end.since_start().microseconds());
  return text;
}

std::string compiled_problem(const SimulationOptions& options, const Workload& step = layered()) {
  return cannot_simulate(Job(step, small::node(2), options, FreeModel{})).value_or("");
}

}  // namespace

TEST_CASE("compiled: a piece closes before the operation that finds it full") {
  const Workload step =
      written({{"a.bias", 4}, {"a.weight", 16}, {"b.bias", 8}, {"b.weight", 24}, {"c.weight", 12}});
  CHECK(ends(step, 16, 40) == PieceEnds{2, 5});  // the example of compiled.hpp
  CHECK(ends(step, 20, 32) == PieceEnds{2, 4, 5});
  CHECK(ends(step, 21, 32) == PieceEnds{4, 5});
  CHECK(ends(step, 4, 4) == PieceEnds{2, 4, 5});  // an operation is never cut
  CHECK(ends(step, 64, 64) == PieceEnds{5});
  CHECK(ends(step, 0, 0) == PieceEnds{2, 4, 5});
}

TEST_CASE(
    "compiled: parameters of the root are operations of their own, those outside DDP do not "
    "count") {
  Workload step = written({{"scale", 8}, {"shift", 8}, {"a.weight", 8}, {"a.norm.weight", 8}});
  CHECK(ends(step, 8, 8) == PieceEnds{1, 2, 3, 4});
  step.parameters[1].ignored = true;
  CHECK(ends(step, 8, 8) == PieceEnds{1, 3, 4});
  // The rest at the start of the model belongs to the piece before it.
  step.parameters[3].ignored = true;
  CHECK(ends(step, 8, 8) == PieceEnds{1, 4});
}

TEST_CASE("compiled: without cuts all-reduces begin after backward") {
  // Two gradients of 4 MB reach a cap of 4 MiB but not of 8, so there are 3 + 2 gradients.
  const StepResult step = step_of(compiled(kWhole));
  CHECK(buckets_of(step) ==
        "\n3: ready 300, 300 to 350"
        "\n2: ready 300, 350 to 400");
  CHECK(step.times.exposed_communication == 100_us);
  CHECK(step.times.iteration == 420_us);
  CHECK(step.times.backward == 200_us);
  CHECK(step.times.overlap == 0);
}

TEST_CASE("compiled: DDPOptimizer's pieces deliver their gradients at their ends") {
  // The pieces are the head, which reaches 1 MiB; layers 2, 1 and 0, which reach 8 MiB together;
  // and embed. They end at 120, 290 and 300. The first bucket of 8 MiB holds the head and layers 2
  // and 1, the last of which exists at 290. The second holds layer 0 and embed.
  const StepResult step = step_of(compiled(kCut));
  CHECK(buckets_of(step) ==
        "\n3: ready 290, 290 to 340"
        "\n2: ready 300, 340 to 390");
  CHECK(step.times.exposed_communication == 90_us);
  // If written eagerly, the first one is complete at 240.
  CHECK(buckets_of(step_of(compiled(kCut, 4))) ==
        "\n2: ready 240, 240 to 290"
        "\n2: ready 300, 300 to 350"
        "\n1: ready 300, 350 to 400");
  SimulationOptions eager = compiled(kCut);
  eager.scheme = Ddp{.ddp = eager.ddp()};
  CHECK(buckets_of(step_of(eager)) ==
        "\n3: ready 240, 240 to 290"
        "\n2: ready 300, 300 to 350");
}

TEST_CASE("compiled: compute stays as recorded, whatever is compiled, copied or accumulated") {
  for (const int accumulate : {1, 3})
    for (const Compiled& scheme : {kCut, kWhole, kPython}) {
      SimulationOptions all = paper::all_costs();
      all.torch = {2, 8};
      all.ddp_to_set().bucket_cap_mb = 2;
      all.accumulate = accumulate;
      const StepTimes eager = paper::step_with(all).times;
      all.scheme = Compiled{.optimize_ddp = scheme.optimize_ddp, .ddp = all.ddp()};
      const StepTimes times = paper::step_with(all).times;
      CHECK(times.backward_compute == eager.backward_compute);
      CHECK(times.forward == eager.forward);
      CHECK(times.optimizer == eager.optimizer);
      if (uses_reducer(scheme)) CHECK(times.copies_in == eager.copies_in);
    }
}

TEST_CASE("compiled: if every operation is a piece, the step is DDP's own") {
  for (const double cap : {0.0, 4.0, 8.0, 1000.0}) {
    SimulationOptions all = compiled(kCut, cap);
    all.torch = {2, 4};
    all.ddp_to_set().first_bucket_mb = 0;
    const StepResult cut = step_of(all);
    all.scheme = Ddp{.ddp = all.ddp()};
    const StepResult eager = step_of(all);
    if (cap == 0) CHECK(buckets_of(cut) == buckets_of(eager));
    CHECK(cut.times.iteration >= eager.times.iteration);
  }
}

TEST_CASE(
    "compiled: the Python reducer all-reduces within the graph, as soon as a bucket is full") {
  // The limits are 1 MiB, then 8: head; layers 2, 1 and 0; embed.
  const auto time = [](CollectiveKind, const std::string&, StepPhase) { return Duration(50_us); };
  const Step step =
      schemes::run(Job(layered(), small::node(2), compiled(kPython), FreeModel{}), time);
  CHECK(on_the_wire(step) ==
        "\nall-reduce bucket 0: 120 to 170"
        "\nall-reduce bucket 1: 290 to 340"
        "\nall-reduce bucket 2: 340 to 390");
  CHECK(step.collectives[1].bytes == 12'000'000_B);
  CHECK(differences(
            step,
            {.exposed_forward = 0, .exposed_backward = 90, .optimizer = 20, .iteration = 410}) ==
        "");
}

TEST_CASE("compiled: caps of the Python reducer are whole MiB") {
  DdpOptions ddp;
  ddp.bucket_cap_mb = 8.9;
  CHECK(fusion_limits(ddp) == CutLimits{.first = 1_MiB, .cap = 8_MiB});
  ddp.bucket_cap_mb.reset();
  CHECK(fusion_limits(ddp) == CutLimits{.first = 1_MiB, .cap = 25_MiB});
  CHECK(piece_limits(ddp) == CutLimits{.first = 1_MiB, .cap = 25_MiB});
  ddp.bucket_cap_mb_list = {3, 7, 5};
  CHECK(piece_limits(ddp).cap == 7_MiB);
  // This applies to pieces of a graph; the Python reducer has its own limit.
  ddp.first_bucket_mb = 2.5;
  CHECK(piece_limits(ddp) == CutLimits{.first = 2'621'440_B, .cap = 7_MiB});
  CHECK(fusion_limits(ddp) == CutLimits{.first = 1_MiB, .cap = 7_MiB});
}

TEST_CASE("compiled: tune evaluates each cap with the cuts it makes") {
  for (const Compiled& scheme : {kCut, kWhole}) {
    SimulationOptions all = compiled(scheme);
    all.ddp_to_set().bucket_cap_mb.reset();
    const Job job(layered(), small::node(2, 20), all, AnalyticModel{});
    const TuneResult result = tune(job, {});
    CHECK(result.left_out.empty() == (scheme == kWhole));
    CHECK(result.default_setting.iteration == simulate_times(job).iteration);
    std::set<Duration> steps;
    for (const CurvePoint& point : result.curve) {
      if (!point.bucket_cap_mb) continue;
      all.ddp_to_set().bucket_cap_mb = point.bucket_cap_mb;
      const Duration step = simulate_times(job.with(all)).iteration;
      CAPTURE(*point.bucket_cap_mb);
      CHECK(point.iteration == step);
      steps.insert(step);
    }
    CHECK(steps.size() > 1);
  }
  SimulationOptions all = compiled(kCut);
  const Job job(layered(), small::node(2, 20), all, AnalyticModel{});
  TuneOptions tuning;
  tuning.caps = {0.5, 0.9};
  CHECK(mentions(tune(job, tuning).recommended.reason, "none of the caps asked for can be set"));
  tuning.caps = {0.5, 4};
  CHECK(tune(job, tuning).best.bucket_cap_mb == 4);
}

TEST_CASE("compiled: jobs that torch.compile refuses, or whose cuts are unknown, are refused") {
  CHECK(compiled_problem(compiled(kCut)) == "");
  CHECK(compiled_problem(compiled(kWhole)) == "");
  CHECK(compiled_problem(compiled(kPython)) == "");
  SimulationOptions old = compiled(kCut);
  old.torch = {1, 13};
  CHECK(mentions(compiled_problem(old), "PyTorch 1.13 has no torch.compile (it came with 2.0)"));
  old = compiled(kPython);
  old.torch = {2, 2};
  CHECK(mentions(compiled_problem(old), "PyTorch 2.2 has no python_reducer (it came with 2.3)"));
  CHECK(mentions(compiled_problem(compiled(kCut, 0.5)),
                 "the first bucket's limit, 1 MiB, is above the cap"));
  CHECK(compiled_problem(compiled(kWhole, 0.5)) == "");
  SimulationOptions synced = compiled(kCut);
  synced.ddp_to_set().sync_batchnorm = true;
  CHECK(mentions(compiled_problem(synced), "SyncBatchNorm"));
  Workload step = layered();
  step.recorded_with.compiled_gradients = 1;
  CHECK(mentions(compiled_problem(compiled(kWhole), step), "recorded under torch.compile"));
  step = layered();
  step.parameters[2].dtype = Dtype::bfloat16;
  CHECK(compiled_problem(compiled(kCut), step) == "");
  CHECK(mentions(compiled_problem(compiled(kPython), step), "only fuses all-reduces of one type"));
}
