#include "cost_parameters.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace ddpsim {
namespace {

// Doubts chosen by what scales left out showed, over all families of open logs together.
constexpr double kLatency = 0.22;
constexpr double kStart = 0.7;  // launchers differ: threads, processes, graphs
constexpr double kShake = 0.6;  // the cost model's holds what per_channel_start_us says apart
constexpr double kLinks = 0.15;
constexpr double kNics = 0.5;  // placement, drivers, settings, and whether GPUDirect works: a third
constexpr double kBlocks = 0.7;
constexpr double kOverlap = 0.1;
// What the uncalibrated cost model leaves out: the middle and the spread of the families fitted.
constexpr double kBlockUs = 0.45;  // 0.08 (GH200), 0.7 (V100), 0.9 and 1.2 (A100)
constexpr double kBlock = 1.2;
constexpr double kRingEnds = 0.5;  // between links that hide it wholly and not at all
constexpr double kEnds = 0.5;
constexpr double kGrowth = 0.4;
constexpr double kTrees = 0.2;      // NCCL's own caps of trees: 0.75 to 0.92 of what rings get
constexpr double kSentShare = 0.4;  // 0.07 (Slingshot, GH200), 0.8 and 1 (InfiniBand)
constexpr double kSent = 1.5;
constexpr double kAny = std::numeric_limits<double>::infinity();
/// Headers and credits take something of every link.
constexpr double kMostShare = 0.97;

#define DDPSIM_MEMBER(expression) \
  [](PathConstants& constants) -> double& { return constants.expression; }

constexpr std::array kParameters{
    CostParameter{"launch_us", "", DDPSIM_MEMBER(launch_us), kStart, 0, kAny},
    CostParameter{"start_us", "LL128", DDPSIM_MEMBER(start_us[1]), kShake, 0, kAny},
    CostParameter{"start_us", "Simple", DDPSIM_MEMBER(start_us[2]), kShake, 0, kAny},
    CostParameter{"local_us", "LL", DDPSIM_MEMBER(local_us[0]), kLatency, 0, kAny},
    CostParameter{"local_us", "LL128", DDPSIM_MEMBER(local_us[1]), kLatency, 0, kAny},
    CostParameter{"local_us", "Simple", DDPSIM_MEMBER(local_us[2]), kLatency, 0, kAny},
    CostParameter{"hop_us", "LL", DDPSIM_MEMBER(hop_us[0]), kLatency, 0, kAny},
    CostParameter{"hop_us", "LL128", DDPSIM_MEMBER(hop_us[1]), kLatency, 0, kAny},
    CostParameter{"hop_us", "Simple", DDPSIM_MEMBER(hop_us[2]), kLatency, 0, kAny},
    CostParameter{"rendezvous_us", "", DDPSIM_MEMBER(rendezvous_us), kLatency, 0, kAny},
    CostParameter{"local_share", "", DDPSIM_MEMBER(local_share), kLinks, 0, kMostShare},
    CostParameter{"nic_share", "", DDPSIM_MEMBER(nic_share), kNics, 0, kMostShare},
    CostParameter{"single_gpu_per_node", "", DDPSIM_MEMBER(single_gpu_per_node), kNics, 0, 1},
    CostParameter{"ll_gbps", "", DDPSIM_MEMBER(ll_gbps), kBlocks, 0, kAny},
    CostParameter{"ll128_gbps", "", DDPSIM_MEMBER(ll128_gbps), kBlocks, 0, kAny},
    CostParameter{"nvls_start_us", "", DDPSIM_MEMBER(nvls_start_us), kLatency, 0, kAny},
    CostParameter{"nvls_wave_us", "", DDPSIM_MEMBER(nvls_wave_us), kLatency, 0, kAny},
    CostParameter{"nvls_share", "", DDPSIM_MEMBER(nvls_share), kLinks, 0, kMostShare},
    CostParameter{"overlap", "", DDPSIM_MEMBER(overlap), kOverlap, 1, kAny},
    CostParameter{"per_channel_start_us", "", DDPSIM_MEMBER(per_channel_start_us), kBlock, 0, kAny,
                  kBlockUs},
    CostParameter{"ring_ends", "", DDPSIM_MEMBER(ring_ends), kEnds, 0, 1, kRingEnds},
    CostParameter{"tree_share", "", DDPSIM_MEMBER(tree_share), kTrees, 0, 1},
    CostParameter{"ll_share", "", DDPSIM_MEMBER(ll_share), kSent, 0, 1, kSentShare},
    CostParameter{"hop_growth[0]", "", DDPSIM_MEMBER(hop_growth[0]), kGrowth, 0, kAny, 0, true},
    CostParameter{"hop_growth[1]", "", DDPSIM_MEMBER(hop_growth[1]), kGrowth, 0, kAny, 0, true},
    CostParameter{"hop_growth[2]", "", DDPSIM_MEMBER(hop_growth[2]), kGrowth, 0, kAny, 0, true},
};

#undef DDPSIM_MEMBER

}  // namespace

std::span<const CostParameter> cost_parameters() {
  return kParameters;
}

PathConstants moved(const PathConstants& prior, std::span<const double> steps) {
  PathConstants constants = prior;
  for (std::size_t i = 0; i < kParameters.size(); ++i) {
    const CostParameter& parameter = kParameters[i];
    double& value = parameter.of(constants);
    if (parameter.logarithm) {
      value += steps[i];
      continue;
    }
    const double from = parameter.expected > 0 ? parameter.expected : value;
    value = std::clamp(from * std::exp(steps[i]), parameter.least, std::max(parameter.most, from));
  }
  return constants;
}

}  // namespace ddpsim
