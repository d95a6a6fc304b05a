#include "host_settings.hpp"

#include "ddpsim/sim/simulate/simulate.hpp"
#include "host_ahead.hpp"

namespace ddpsim {
namespace {

/// From this version on, torch.compile(mode="reduce-overhead") captures CUDA graphs and splits
/// DDP's graph at its buckets.
constexpr TorchVersion kCompile{2, 1};
/// From this version on, CUDA graphs can contain DDP's all-reduces (notes/cuda.html, "Usage with
/// DistributedDataParallel").
constexpr TorchVersion kCaptured{1, 11};
/// From this version on, torch.optim.AdamW and Adam take fused=True.
constexpr TorchVersion kFused{2, 0};

template <typename Of>
Change of_workload(Of of) {
  return [of](const Job& job) { return job.with(of(job.workload())); };
}

Setting compiled() {
  return {.name = "torch.compile(mode=\"reduce-overhead\")",
          .change = of_workload(launched_at_once),
          .after = "model = torch.compile(model, mode=\"reduce-overhead\")",
          .note = "the first steps compile; shapes must not change",
          .spares_host = true,
          .only_a_run_tells = "only a run tells how much of the step its CUDA graphs cover",
          .by_hand = "torch.compile after wrap(model)"};
}

Setting captured() {
  return {.name = "CUDA graph of the step",
          .change = of_workload(
              [](const Workload& step) { return stepped_at_once(launched_at_once(step)); }),
          .after = "# capture forward, backward and optimizer with torch.cuda.graph, then replay",
          .note = "shapes must not change",
          .spares_host = true,
          .only_a_run_tells = "only a run tells how much of the step it covers",
          .by_hand = "the loop of your script"};
}

Setting fused() {
  return {.name = "fused optimizer",
          .change = of_workload(stepped_at_once),
          .after = "# torch.optim.AdamW(..., fused=True)",
          .spares_host = true,
          .only_a_run_tells = "only a run tells how long its own launches take",
          .by_hand = "the optimizer of your script"};
}

/// Share of the step from which a simulated wait for launches matters.
constexpr double kWaits = 0.01;

/// Whether the GPU waits for launches of a step that nobody recorded.
bool waits_as_simulated(const Job& job) {
  const std::optional<Launches>& launches = job.workload().launches;
  if (!launches || launches->cost) return false;
  SimulationOptions steady = job.options();
  steady.iterations = 0;
  const StepTimes times = simulate_times(job.with(std::move(steady)));
  return times.launch_bound > times.iteration.scaled(kWaits);
}

}  // namespace

std::vector<Setting> host_settings(const Job& job) {
  std::vector<Setting> settings;
  if (!uses_reducer(job.options().scheme)) return settings;
  const TorchVersion torch = job.options().torch;
  const PartTimes& waits = job.workload().launch_waits;
  const bool simulated = waits_as_simulated(job);
  const bool passes = simulated || waits.forward + waits.backward > Duration();
  if (passes && compiled_pieces(job.options().scheme) == nullptr) {
    if (torch >= kCompile)
      settings.push_back(compiled());
    else if (torch >= kCaptured)
      settings.push_back(captured());
  }
  if ((simulated || waits.optimizer > Duration()) && torch >= kFused &&
      !job.options().ddp().optimizer_in_backward)
    settings.push_back(fused());
  return settings;
}

}  // namespace ddpsim
