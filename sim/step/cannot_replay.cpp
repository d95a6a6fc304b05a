#include "ddpsim/sim/step/cannot_replay.hpp"

#include <fmt/format.h>

namespace ddpsim {
namespace {

/// `whose` names the rank if there are several.
std::optional<std::string> cannot_replay(const Recorded& recorded, const Workload& workload,
                                         const DdpOptions& ddp, const std::string& whose) {
  if (!recorded.backward || recorded.backward->ready.empty())
    return fmt::format(
        "the workload has no backward timing{} (backward.ready). Record one, or import a profiler "
        "trace: ddpsim import TRACE -o WORKLOAD",
        whose);
  if (!recorded.forward && recorded.backward->duration == Duration())
    return fmt::format(
        "the workload holds the order of gradients{} but no times. Record a step, or import a "
        "profiler trace: ddpsim import TRACE -o WORKLOAD",
        whose);
  if (ddp.find_unused_parameters || ddp.static_graph) return std::nullopt;
  std::vector<bool> used(workload.parameters.size(), false);
  for (const ReadyEvent& event : recorded.backward->ready) used[event.parameter] = true;
  for (std::size_t i = 0; i < used.size(); ++i)
    if (!used[i] && is_reduced(workload.parameters[i]))
      return fmt::format(
          "parameter \"{}\" gets no gradient in this backward{}, so DDP would stop with an error "
          "at "
          "the next forward. If the script sets find_unused_parameters, add "
          "--find-unused-parameters. Otherwise mark the parameter \"ignored\", or \"frozen\" if "
          "its requires_grad is False (frozen= in an estimate)",
          workload.parameters[i].name, whose);
  return std::nullopt;
}

}  // namespace

std::optional<std::string> cannot_replay(const Workload& workload, const DdpOptions& ddp) {
  if (auto problem = cannot_replay(workload, workload, ddp, "")) return problem;
  for (const RankRecording& rank : workload.ranks)
    if (auto problem = cannot_replay(rank, workload, ddp, fmt::format(" on rank {}", rank.rank)))
      return problem;
  return std::nullopt;
}

}  // namespace ddpsim
