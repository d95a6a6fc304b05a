#include "law_parameters.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace ddpsim {
namespace {

// Doubts chosen by what scales left out showed, over all families of open logs together.
constexpr double kLatency = 0.22;
constexpr double kStart = 0.7;  // launchers differ: threads, processes, graphs
constexpr double kChannel = 0.3;
constexpr double kLinks = 0.15;
constexpr double kNics = 0.3;  // placement, drivers, settings
constexpr double kBlocks = 0.7;
constexpr double kOverlap = 0.1;
constexpr double kAny = std::numeric_limits<double>::infinity();
/// Headers and credits take something of every link.
constexpr double kMostShare = 0.97;

#define DDPSIM_MEMBER(expression) [](PathConstants& law) -> double& { return law.expression; }

constexpr std::array kParameters{
    LawParameter{"launch_us", "", DDPSIM_MEMBER(launch_us), kStart, 0, kAny},
    LawParameter{"start_us", "LL128", DDPSIM_MEMBER(start_us[1]), kLatency, 0, kAny},
    LawParameter{"start_us", "Simple", DDPSIM_MEMBER(start_us[2]), kLatency, 0, kAny},
    LawParameter{"local_us", "LL", DDPSIM_MEMBER(local_us[0]), kLatency, 0, kAny},
    LawParameter{"local_us", "LL128", DDPSIM_MEMBER(local_us[1]), kLatency, 0, kAny},
    LawParameter{"local_us", "Simple", DDPSIM_MEMBER(local_us[2]), kLatency, 0, kAny},
    LawParameter{"hop_us", "LL", DDPSIM_MEMBER(hop_us[0]), kLatency, 0, kAny},
    LawParameter{"hop_us", "LL128", DDPSIM_MEMBER(hop_us[1]), kLatency, 0, kAny},
    LawParameter{"hop_us", "Simple", DDPSIM_MEMBER(hop_us[2]), kLatency, 0, kAny},
    LawParameter{"rendezvous_us", "", DDPSIM_MEMBER(rendezvous_us), kLatency, 0, kAny},
    LawParameter{"channel_us", "", DDPSIM_MEMBER(channel_us), kChannel, 0, kAny},
    LawParameter{"local_share", "", DDPSIM_MEMBER(local_share), kLinks, 0, kMostShare},
    LawParameter{"nic_share", "", DDPSIM_MEMBER(nic_share), kNics, 0, kMostShare},
    LawParameter{"lone_gpu", "", DDPSIM_MEMBER(lone_gpu), kNics, 0, 1},
    LawParameter{"ll_gbps", "", DDPSIM_MEMBER(ll_gbps), kBlocks, 0, kAny},
    LawParameter{"ll128_gbps", "", DDPSIM_MEMBER(ll128_gbps), kBlocks, 0, kAny},
    LawParameter{"nvls_start_us", "", DDPSIM_MEMBER(nvls_start_us), kLatency, 0, kAny},
    LawParameter{"nvls_wave_us", "", DDPSIM_MEMBER(nvls_wave_us), kLatency, 0, kAny},
    LawParameter{"nvls_share", "", DDPSIM_MEMBER(nvls_share), kLinks, 0, kMostShare},
    LawParameter{"overlap", "", DDPSIM_MEMBER(overlap), kOverlap, 1, kAny},
};

#undef DDPSIM_MEMBER

}  // namespace

std::span<const LawParameter> law_parameters() {
  return kParameters;
}

PathConstants moved(const PathConstants& prior, std::span<const double> steps) {
  PathConstants law = prior;
  for (std::size_t i = 0; i < kParameters.size(); ++i) {
    double& value = kParameters[i].of(law);
    value = std::clamp(value * std::exp(steps[i]), kParameters[i].least,
                       std::max(kParameters[i].most, value));
  }
  return law;
}

}  // namespace ddpsim
