#include "real_setup.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ddpsim/formats/words.hpp"

namespace ddpsim {

Said words_in(const std::vector<std::pair<std::string, std::string>>& texts) {
  return [&texts](std::string_view key) -> std::optional<std::string> {
    const auto found = std::ranges::find(texts, key, &std::pair<std::string, std::string>::first);
    if (found == texts.end()) return std::nullopt;
    return found->second;
  };
}

void take_setup(const Said& said, RawRun& run, RawLog& log) {
  if (const auto hosts = said("hosts"))
    for (const std::string_view host : words_of(*hosts))
      run.devices.push_back(
          {.rank = static_cast<int>(run.devices.size()), .host = std::string(host), .gpu = ""});
  // Examples: "NVIDIA A100, sm_80, 108 SMs", "CPU; compute is a timed wait".
  if (const auto gpu = said("device"))
    for (RawDevice& one : run.devices) one.gpu = gpu->substr(0, gpu->find_first_of(",;"));
  // What carried the collectives: "NCCL 2.27.3", "ProcessGroupGloo of PyTorch 2.8". The backend
  // belongs to a program.
  auto carrier = said("communication");
  if (!carrier) carrier = said("backend");
  if (!carrier) return;
  constexpr std::string_view kNccl = "NCCL ";
  if (carrier->starts_with(kNccl)) log.nccl = parse_nccl_version(carrier->substr(kNccl.size()));
  if (carrier->starts_with("NCCL") || carrier->find("nccl") != std::string::npos) return;
  log.backend = *carrier;
  log.warnings.push_back(fmt::format("measured over {}: {}", *carrier, kNothingOfNccl));
}

std::int64_t wire_share(const Said& said) {
  return said("comm_hook") ? 2 : 1;
}

}  // namespace ddpsim
