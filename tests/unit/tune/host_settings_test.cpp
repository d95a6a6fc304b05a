// What is recommended if the GPU waits for launches. The step has 1 ms of forward, 4 of backward
// and 1 of the optimizer; half of each is such a wait.
#include "host_settings.hpp"

#include <algorithm>

#include "alpha_beta.hpp"
#include "ddpsim/sim/simulate/simulate.hpp"
#include "ddpsim/sim/tune/advise.hpp"
#include "setting.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

small::OpenJob launched_late(TorchVersion torch) {
  small::OpenJob job{.workload = small::mib_layers({1000, 2000, 3000, 4000}, 1000),
                     .model = FreeModel{}};
  job.workload.optimizer = 1_ms;
  job.workload.iteration = 6_ms;
  job.workload.launch_waits = {.forward = 500_us, .backward = 2_ms, .optimizer = 500_us};
  job.options.torch = torch;
  return job;
}

std::vector<std::string> names_of(const std::vector<Setting>& settings) {
  std::vector<std::string> names;
  for (const Setting& setting : settings) names.push_back(setting.name);
  return names;
}

Duration saved(const Job& job, const Setting& setting) {
  return simulate_times(job).iteration - simulate_times(setting.change(job)).iteration;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("host settings: what this PyTorch offers against the waits of each part") {
  const Job job = launched_late({2, 8});
  const std::vector<Setting> settings = host_settings(job);
  CHECK(names_of(settings) == Names{"torch.compile(mode=\"reduce-overhead\")", "fused optimizer"});
  CHECK(saved(job, settings[0]) == 2500_us);
  CHECK(saved(job, settings[1]) == 500_us);
  const Job old = launched_late({1, 12});
  REQUIRE(names_of(host_settings(old)) == Names{"CUDA graph of the step"});
  CHECK(saved(old, host_settings(old).front()) == 3_ms);
  CHECK(host_settings(launched_late({1, 10})).empty());
}

TEST_CASE("host settings: none if nothing waits or nothing is left to launch") {
  small::OpenJob job = launched_late({2, 8});
  job.options.ddp_to_set().optimizer_in_backward = true;
  CHECK(host_settings(job).size() == 1);
  job.workload.launch_waits = {};
  CHECK(host_settings(job).empty());
}

TEST_CASE("host settings: each recorded rank launches at once") {
  small::OpenJob job = launched_late({2, 8});
  job.workload.ranks.resize(1);
  static_cast<Recorded&>(job.workload.ranks.front()) = job.workload;
  const Workload after = host_settings(job).front().change(job).workload();
  CHECK(after.ranks.front().backward->duration == 2_ms);
  CHECK(after.ranks.front().iteration == 3500_us);
  CHECK(after.ranks.front().launch_waits ==
        PartTimes{.forward = {}, .backward = {}, .optimizer = 500_us});
}

TEST_CASE("host settings: recorded all-reduces move with their backward") {
  small::OpenJob job = launched_late({2, 8});
  job.workload.recorded_with.collectives = {
      {.bytes = 1_MiB, .launch = 1_ms, .start = 2_ms, .duration = 300_us}};
  const Workload after = host_settings(job).front().change(job).workload();
  const RecordedCollective& moved = after.recorded_with.collectives.front();
  CHECK(moved.launch == 500_us);
  CHECK(moved.start == 1_ms);
  CHECK(moved.duration == 300_us);
}

TEST_CASE("host settings: recommended for measuring, never for setting") {
  const Advice advice = advise(launched_late({2, 8}), {});
  const AdviceRow* row = advice.find("torch.compile(mode=\"reduce-overhead\")");
  REQUIRE(row);
  CHECK_FALSE(row->worth);
  CHECK(row->doubt == "only a run tells how much of the step its CUDA graphs cover");
  CHECK(row->gain.value == 2500_us);
  CHECK(row->gain.low <= Duration());
  CHECK(row->gain.high <= 3_ms);
  CHECK(row->expected == 1250_us);
  CHECK(row->line == "model = torch.compile(model, mode=\"reduce-overhead\")");
  CHECK(advice.best() == nullptr);
}

TEST_CASE("host settings: waits that may be the profiler's are no gain until a step is measured") {
  small::OpenJob job = launched_late({2, 8});
  job.workload.busy = {.forward = 500_us, .backward = 2_ms, .optimizer = 500_us};
  const Advice advice = advise(job, {});
  const AdviceRow* row = advice.find("torch.compile(mode=\"reduce-overhead\")");
  REQUIRE(row);
  CHECK(row->gain.value == Duration());
  CHECK(row->gain.high == 2500_us);
  CHECK(row->expected == Duration());
  CHECK(row->doubt == "the profiler may have caused these waits; pass --measured-step to tell");
}

TEST_CASE("host settings: under fp16 autocast no parameter steps before a GradScaler has checked") {
  small::OpenJob job = launched_late({2, 8});
  const auto offered = [&] {
    const Names names = names_of(settings_of(job));
    return std::ranges::find(names, "_apply_optimizer_in_backward") != names.end();
  };
  CHECK(offered());
  job.workload.precision = "amp";
  CHECK_FALSE(offered());
  job.workload.precision = "bf16";
  CHECK(offered());
}
