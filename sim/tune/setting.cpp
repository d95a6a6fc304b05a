#include "setting.hpp"

#include <algorithm>
#include <variant>

#include "ddpsim/sim/simulate/cannot_simulate.hpp"
#include "host_settings.hpp"
#include "loader_setting.hpp"
#include "nccl_settings.hpp"
#include "scheme_settings.hpp"

namespace ddpsim {
namespace {

/// gloo reduces bfloat16 in the sources of 2.7 (pytorch/pytorch#113557) and refuses it in 1.13. The
/// first release that does is not known here.
constexpr TorchVersion kGlooBfloat16{2, 7};

/// With a static graph, a first backward under no_sync() fails with "expect_autograd_hooks_
/// INTERNAL ASSERT FAILED" (pytorch/pytorch#143580; tried with 1.13 and 2.13).
bool fails_under_no_sync(const SimulationOptions& options) {
  return options.ddp().static_graph && options.accumulate > 1;
}

void add(std::vector<Setting> more, std::vector<Setting>& settings) {
  for (Setting& setting : more) settings.push_back(std::move(setting));
}

}  // namespace

bool is_possible(const Job& job, const Job& current) {
  const DdpOptions& ddp = job.options().ddp();
  if (unsupported(ddp, job.options().torch) || cannot_simulate(job)) return false;
  if (fails_under_no_sync(job.options()) && !fails_under_no_sync(current.options())) return false;
  if (const GlooModel* gloo = std::get_if<GlooModel>(&job.model()))
    // DDP accepts the 16-bit hook of this name only if PyTorch was built for CUDA.
    return !(gloo->links.host_tensors &&
             (ddp.optimizer_in_backward || ddp.comm_hook == CommHook::bf16_compress)) &&
           !(ddp.comm_hook == CommHook::bf16_compress && job.options().torch < kGlooBfloat16);
  const AnalyticModel* nccl = nccl_of(job.model());
  if (nccl == nullptr) return true;
  constexpr NcclVersion kBfloat16{2, 10, 0};
  if (ddp.comm_hook == CommHook::bf16_compress && nccl->tuning.nccl < kBfloat16) return false;
  const CollectiveTuning& tuning = nccl->tuning;
  if (tuning.min_channels && tuning.max_channels && *tuning.min_channels > *tuning.max_channels)
    return false;
  return can_select_algorithm(job.cluster(), tuning);
}

std::vector<Setting> settings_of(const Job& job) {
  std::vector<Setting> settings;
  if (std::optional<Setting> loader = loader_setting(job)) settings.push_back(*std::move(loader));
  add(host_settings(job), settings);
  add(scheme_settings(job), settings);
  add(nccl_settings(job), settings);
  std::erase_if(settings,
                [&](const Setting& setting) { return !is_possible(setting.change(job), job); });
  return settings;
}

ChangeTraits traits_of(const std::vector<Setting>& settings) {
  return {.sets_buckets = std::ranges::any_of(settings, &Setting::sets_buckets),
          .sets_else = !std::ranges::all_of(settings, &Setting::sets_buckets),
          .loads_data = std::ranges::any_of(settings, &Setting::loads_data),
          .spares_host = std::ranges::any_of(settings, &Setting::spares_host),
          .other_collectives = std::ranges::any_of(settings, &Setting::other_collectives)};
}

Change together(const std::vector<Setting>& settings) {
  return [settings](const Job& job) {
    Job changed = job;
    for (const Setting& setting : settings) changed = setting.change(changed);
    return changed;
  };
}

}  // namespace ddpsim
