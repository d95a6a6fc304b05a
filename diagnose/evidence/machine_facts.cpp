#include "ddpsim/diagnose/evidence/machine_facts.hpp"

#include <algorithm>

namespace ddpsim {

void merge_readings(MachineFacts& facts) {
  std::vector<GpuState> merged;
  for (GpuState& reading : facts.gpus) {
    const auto at = std::ranges::find(merged, reading.position, &GpuState::position);
    if (at == merged.end()) {
      merged.push_back(std::move(reading));
      continue;
    }
    // Link and clocks of an idle GPU tell nothing if they were also read under load.
    const bool better = reading.idle == false && at->idle != false;
    GpuState& first = better ? reading : *at;
    GpuState& second = better ? *at : reading;
    const auto fill = [](auto& value, const auto& other) {
      if (!value) value = other;
    };
    fill(first.link.rate, second.link.rate);
    fill(first.link.best_rate, second.link.best_rate);
    fill(first.link.width, second.link.width);
    fill(first.link.best_width, second.link.best_width);
    fill(first.idle, second.idle);
    fill(first.power_limit_w, second.power_limit_w);
    fill(first.default_power_limit_w, second.default_power_limit_w);
    fill(first.application_sm_mhz, second.application_sm_mhz);
    fill(first.default_application_sm_mhz, second.default_application_sm_mhz);
    fill(first.most_sm_mhz, second.most_sm_mhz);
    if (first.model.empty()) first.model = second.model;
    if (first.slowed_by.empty()) first.slowed_by = second.slowed_by;
    first.reasons_read = first.reasons_read || second.reasons_read;
    if (better) *at = std::move(reading);
  }
  facts.gpus = std::move(merged);
}

bool MachineLineReader::take(std::string_view line, const std::string& place, MachineFacts& facts) {
  if (line.size() > 20'000) return false;
  const bool taken = take_matrix(line, place, facts) || take_path(line, place, facts) ||
                     take_interface(line, place, facts) || take_verbs(line, place, facts) ||
                     take_lspci(line, place, facts) || take_smi(line, place, facts) ||
                     take_query(line, place, facts);
  if (taken && facts.place.empty()) facts.place = place;
  return taken;
}

}  // namespace ddpsim
