#include "error_source.hpp"

#include <array>

namespace ddpsim {
namespace {

struct Words {
  std::string_view name;
  std::string_view phrase;
};

/// In the order of the enumeration.
constexpr std::array<Words, 17> kWords{{
    {"fixed_cost", "fixed cost of collectives"},
    {"bandwidth", "bandwidth of collectives"},
    {"collective_times", "collective times"},
    {"interference", "interference"},
    {"ddp_costs", "copies and host costs"},
    {"gpu_spread", "the slowest GPU"},
    {"rank_slowdown", "multi-GPU overhead"},
    {"compute_scale", "compute scale"},
    {"replay_residual", "replay error"},
    {"measurement_noise", "measurement noise"},
    {"host_delays", "waits for the host, which the profiler may have caused"},
    {"step_spread", "spread of the recorded steps"},
    {"leaf_placement", "which nodes share a leaf switch"},
    {"launch_cost", "host time of a kernel launch"},
    {"recorded_waits", "recorded all-reduces, longer than predicted"},
    {"host_work", "host time of the optimizer"},
    {"schemes", "scheme effects that are not simulated"},
}};

const Words& of(ErrorSource source) {
  return kWords.at(static_cast<std::size_t>(source));
}

}  // namespace

std::string_view phrase_of(ErrorSource source) {
  return of(source).phrase;
}

std::string_view name_of(ErrorSource source) {
  return of(source).name;
}

std::vector<ErrorSource> all_error_sources() {
  std::vector<ErrorSource> all;
  for (std::size_t i = 0; i < kWords.size(); ++i) all.push_back(static_cast<ErrorSource>(i));
  return all;
}

}  // namespace ddpsim
