#include "nccl_settings.hpp"

#include <fmt/format.h>

#include <utility>

namespace ddpsim {
namespace {

template <typename Set>
Change of_nccl(Set set) {
  return [set](const Job& job) {
    CollectiveModel model = job.model();
    if (AnalyticModel* nccl = nccl_of(model)) set(nccl->tuning);
    return job.with(std::move(model));
  };
}

/// Settings that undo a current variable and let NCCL choose again.
void add_unset(const CollectiveTuning& current, std::vector<Setting>& settings) {
  const CollectiveTuning untouched{.nccl = current.nccl, .collnet = current.collnet};
  const auto add = [&](const char* variable, auto CollectiveTuning::*field) {
    if (current.*field == untouched.*field) return;
    settings.push_back({.name = fmt::format("{} unset", variable),
                        .change = of_nccl([field, untouched](CollectiveTuning& tuning) {
                          tuning.*field = untouched.*field;
                        }),
                        .before = variable,
                        .nccl_variable = true});
  };
  add("NCCL_ALGO", &CollectiveTuning::algorithms);
  add("NCCL_PROTO", &CollectiveTuning::protocols);
  add("NCCL_MIN_NCHANNELS", &CollectiveTuning::min_channels);
  add("NCCL_MAX_NCHANNELS", &CollectiveTuning::max_channels);
  add("NCCL_BUFFSIZE", &CollectiveTuning::buffer);
  add("NCCL_NVLS_ENABLE", &CollectiveTuning::nvls);
}

}  // namespace

std::vector<Setting> nccl_settings(const Job& job) {
  std::vector<Setting> settings;
  const AnalyticModel* nccl = nccl_of(job.model());
  if (nccl == nullptr || job.cluster().ranks() == 1) return settings;
  const CollectiveTuning& current = nccl->tuning;
  const auto add = [&](const std::string& text, Change change) {
    settings.push_back({.name = text,
                        .change = std::move(change),
                        .before = text,
                        .nccl_variable = true,
                        .other_collectives = true});
  };
  if (!current.algorithms)
    for (const auto& [algorithm, word] :
         {std::pair(Algorithm::ring, "Ring"), std::pair(Algorithm::tree, "Tree")})
      add(fmt::format("NCCL_ALGO={}", word),
          of_nccl([algorithm = algorithm](CollectiveTuning& tuning) {
            tuning.algorithms = AlgorithmSet{algorithm};
          }));
  if (!current.max_channels)
    for (const int channels : {1, 2, 4, 8})
      add(fmt::format("NCCL_MAX_NCHANNELS={}", channels),
          of_nccl([channels](CollectiveTuning& tuning) { tuning.max_channels = channels; }));
  if (!current.min_channels)
    for (const int channels : {16, 32})
      add(fmt::format("NCCL_MIN_NCHANNELS={}", channels),
          of_nccl([channels](CollectiveTuning& tuning) { tuning.min_channels = channels; }));
  add_unset(current, settings);
  return settings;
}

}  // namespace ddpsim
