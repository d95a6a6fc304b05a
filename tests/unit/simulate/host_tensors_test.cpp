// Gradients on the host, reduced by gloo. The thread that computes also calls DDP's hooks, launches
// and casts.
#include <doctest/doctest.h>

#include "ddpsim/sim/simulate/cannot_simulate.hpp"
#include "ddpsim/sim/simulate/simulate.hpp"
#include "ddpsim/sim/tune/advise.hpp"
#include "setting.hpp"
#include "small_jobs.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

/// Copies and links take no time unless a test sets one.
GlooLinks host_links() {
  return {.process = 1'000'000'000_GBps,
          .host = 1'000'000'000_GBps,
          .step = {},
          .start = {},
          .copy = 1'000'000'000_GBps,
          .fresh = 1'000'000'000_GBps,
          .host_tensors = true};
}

Job job_of(const Workload& workload, const SimulationOptions& options, const GlooLinks& links) {
  return Job(workload, small::node(2), options, GlooModel{.links = links});
}

Duration step_of(const Workload& workload, const SimulationOptions& options,
                 const GlooLinks& links) {
  return simulate_times(job_of(workload, options, links)).iteration;
}

bool offers(const Job& job, const std::string& name) {
  for (const Setting& setting : settings_of(job))
    if (setting.name == name) return true;
  return false;
}

const Workload kThree =
    small::chain({{8'000'000, 100}, {8'000'000, 200}, {8'000'000, 300}}, 50, 300);

}  // namespace

TEST_CASE("host tensors: hooks and launches delay the backward of the thread that calls them") {
  SimulationOptions options = small::bare();
  options.ddp_to_set().bucket_cap_mb = 1;
  options.costs.host_hook = 10_us;
  options.costs.host_launch = 20_us;
  GlooLinks links = host_links();
  const Duration plain = step_of(kThree, small::bare(), links);
  CHECK((step_of(kThree, options, links) - plain).microseconds() ==
        doctest::Approx(3 * 10 + 3 * 20));
  // One hook for each gradient, and one launch.
  options.ddp_to_set().bucket_cap_mb = 100;
  CHECK((step_of(kThree, options, links) - plain).microseconds() == doctest::Approx(3 * 10 + 20));
  // A GPU's host runs ahead of it, so only the last launch is visible.
  links.host_tensors = false;
  CHECK(step_of(kThree, options, links) - step_of(kThree, small::bare(), links) <
        3 * 10_us + 20_us);
}

TEST_CASE("host tensors: a backward recorded under DDP contains its hooks and launches") {
  Workload recorded = kThree;
  recorded.recorded_with.ddp_hooks = true;
  SimulationOptions options = small::bare();
  options.ddp_to_set().bucket_cap_mb = 1;
  options.costs.host_hook = 10_us;
  CHECK(step_of(recorded, options, host_links()) - step_of(recorded, small::bare(), host_links()) <
        3 * 10_us);
}

TEST_CASE("host tensors: a compression hook casts into memory that was never touched before") {
  SimulationOptions options = small::bare();
  options.torch = {2, 13};
  options.ddp_to_set().bucket_cap_mb = 100;
  options.ddp_to_set().comm_hook = CommHook::fp16_compress;
  GlooLinks links = host_links();
  const Duration before = step_of(kThree, options, links);
  links.fresh = 2_GBps;
  // 24 MB of float32 become 12 MB.
  CHECK((step_of(kThree, options, links) - before).microseconds() == doctest::Approx(6000));
  // The memory of a GPU tensor is already allocated.
  links.host_tensors = false;
  const Duration gpu = step_of(kThree, options, links);
  links.fresh = 1_GBps;
  CHECK(step_of(kThree, options, links) == gpu);
}

TEST_CASE("host tensors: halves are divided one by one before PyTorch 2.1, bfloat16 is not") {
  const auto step = [](TorchVersion torch, CommHook hook) {
    SimulationOptions options = small::bare();
    options.torch = torch;
    options.ddp_to_set().bucket_cap_mb = 100;
    options.ddp_to_set().comm_hook = hook;
    return step_of(kThree, options, host_links());
  };
  CHECK(step({2, 0}, CommHook::fp16_compress) - step({2, 1}, CommHook::fp16_compress) == 12000_us);
  CHECK(step({2, 0}, CommHook::bf16_compress) == step({2, 1}, CommHook::bf16_compress));
}

TEST_CASE("gloo: PowerSGD is simulated only with one bucket and no other collective") {
  Workload workload = kThree;
  for (Parameter& parameter : workload.parameters) parameter.shape = {{1000, 2000}};
  SimulationOptions options = small::bare();
  options.torch = {2, 13};
  options.ddp_to_set().bucket_cap_mb = 100;
  options.ddp_to_set().comm_hook = CommHook::power_sgd;
  const auto problem = [&] { return cannot_simulate(job_of(workload, options, host_links())); };
  CHECK_FALSE(problem());
  options.ddp_to_set().find_unused_parameters = true;
  REQUIRE(problem());
  CHECK(problem()->find("leave that option out") != std::string::npos);
  options.ddp_to_set().static_graph = true;
  CHECK_FALSE(problem());
  options.ddp_to_set().bucket_cap_mb = 1;
  REQUIRE(problem());
  CHECK(problem()->find("With several buckets, here 3") != std::string::npos);
  // Over NCCL, several buckets are allowed.
  CHECK_FALSE(cannot_simulate(Job(workload, small::node(2), options, AnalyticModel{})));
}

TEST_CASE("gloo: hooks are offered only if they run there") {
  Workload workload = kThree;
  for (Parameter& parameter : workload.parameters) parameter.shape = {{1000, 2000}};
  SimulationOptions options = small::bare();
  GlooLinks links = host_links();
  const auto offered = [&](TorchVersion torch, const std::string& name) {
    options.torch = torch;
    return offers(job_of(workload, options, links), name);
  };
  CHECK(offered({2, 13}, "fp16_compress_hook"));
  CHECK(offered({1, 13}, "fp16_compress_hook"));
  CHECK_FALSE(offered({2, 13}, "bf16_compress_hook"));
  CHECK_FALSE(offered({2, 13}, "powerSGD_hook of rank 1"));
  options.ddp_to_set().bucket_cap_mb = 100;
  CHECK(offered({2, 13}, "powerSGD_hook of rank 1"));
  links.host_tensors = false;
  CHECK(offered({2, 13}, "bf16_compress_hook"));
  CHECK(offered({2, 7}, "bf16_compress_hook"));
  CHECK_FALSE(offered({1, 13}, "bf16_compress_hook"));
}

TEST_CASE("gloo: with PowerSGD, no cap is advised that would need a second bucket") {
  Workload workload =
      small::chain({{8'000'000, 1000}, {8'000'000, 20000}, {8'000'000, 40000}}, 50, 40000);
  for (Parameter& parameter : workload.parameters) parameter.shape = {{1000, 2000}};
  SimulationOptions options = small::bare();
  options.torch = {2, 13};
  options.ddp_to_set().bucket_cap_mb = 100;
  GlooLinks links = host_links();
  links.process = 1_GBps;
  for (const AdviceRow& row : advise(job_of(workload, options, links), {}).rows) {
    bool hook = false;
    bool cap = false;
    for (const std::string& setting : row.settings) {
      hook = hook || setting.starts_with("powerSGD_hook");
      cap = cap || setting.starts_with("bucket_cap_mb");
    }
    CHECK_FALSE((hook && cap));
  }
}

TEST_CASE("host tensors: all-reduces of single gradients hide behind backward, later ones do not") {
  // Forward takes 50, and gradients exist at 150, 250 and 350. Each all-reduce takes 100.
  SimulationOptions options = small::bare();
  GlooLinks links = host_links();
  links.start = 100_us;
  options.scheme = NaiveAllReduce{};
  CHECK(step_of(kThree, options, links).microseconds() == doctest::Approx(450));
  options.scheme = NaiveAllReduce{.when = NaiveAllReduce::When::backward};
  CHECK(step_of(kThree, options, links).microseconds() == doctest::Approx(650));
}

TEST_CASE("host tensors: the collectives of FSDP hold up the thread that calls them") {
  SimulationOptions options = small::bare();
  options.scheme = Fsdp2{.wrap = {.by = WrapPolicy::By::leaves, .modules = {}}};
  GlooLinks links = host_links();
  links.start = 100_us;
  Workload layers = kThree;
  for (Parameter& parameter : layers.parameters) parameter.name += ".weight";
  const StepTimes host = simulate_times(job_of(layers, options, links));
  CHECK(host.communication.microseconds() ==
        doctest::Approx(900));  // 3 and 3 gathers, 3 reductions
  CHECK(host.exposed_communication.microseconds() == doctest::Approx(900));
  links.host_tensors = false;
  CHECK(simulate_times(job_of(layers, options, links)).exposed_communication < 700_us);
}

TEST_CASE("host tensors: launching ZeroRedundancyOptimizer's broadcasts is not part of backward") {
  SimulationOptions options = small::bare();
  options.ddp_to_set().bucket_cap_mb = 100;
  options.scheme = ZeroRedundancy{.ddp = options.ddp()};
  const StepTimes before = simulate_times(job_of(kThree, options, host_links()));
  options.costs.host_launch = 20_us;
  const StepTimes after = simulate_times(job_of(kThree, options, host_links()));
  CHECK(after.backward - before.backward == 20_us);  // one bucket's launch
  // Broadcasts now hide a few picoseconds more.
  CHECK((after.exposed_in_optimizer - before.exposed_in_optimizer).microseconds() ==
        doctest::Approx(3 * 20));
}
