#include "ddpsim/sim/values/cost_constants.hpp"

#include <limits>

namespace ddpsim {
namespace {

// Ranges of values that a cluster file may hold.
// In us. No latency of a network takes a second.
constexpr ConstantRange kTime{0, 1e6};
constexpr ConstantRange kShare{0, 1, true};
constexpr ConstantRange kPart{0, 1};          // a share that may be 0
constexpr ConstantRange kRate{0, 1e4, true};  // GB/s of one thread block
constexpr ConstantRange kExponent{1, 100};
constexpr ConstantRange kLogarithm{-10, 10};

// Spread between clusters of one kind.
constexpr double kLatency = 0.22;
constexpr double kStart = 0.7;  // launchers differ: threads, processes, graphs
// The cost model's value includes what per_channel_start_us lists separately.
constexpr double kHandshake = 0.6;
constexpr double kLinks = 0.15;
// Placement, drivers, settings, and whether GPUDirect works: that alone is a factor of a third.
constexpr double kNics = 0.5;
constexpr double kBlocks = 0.7;
constexpr double kOverlap = 0.1;
// NCCL itself caps trees at 0.75 to 0.92 of what rings get.
constexpr double kTrees = 0.2;
constexpr double kGrowth = 0.4;
// Constants that the uncalibrated cost model leaves out: spread and middle of the fitted families.
constexpr double kPerChannel = 1.2;
constexpr double kPerChannelUs = 0.45;  // 0.08 (GH200), 0.7 (V100), 0.9 and 1.2 (A100)
constexpr double kEnds = 0.5;
// Between links that hide the copy completely and links that do not hide it at all.
constexpr double kRingEnds = 0.5;
constexpr double kFlags = 1.5;
constexpr double kFlagsShare = 0.4;  // 0.07 (Slingshot, GH200), 0.8 and 1 (InfiniBand)
// How far a fit may go.
constexpr double kAny = std::numeric_limits<double>::infinity();
// Headers and credits take something of every link.
constexpr double kMostShare = 0.97;

#define DDPSIM_MEMBER(expression) \
  [](PathConstants& constants) -> double& { return constants.expression; }

// clang-format off
constexpr CostConstant kConstants[] = {
    {"launch_us", "", "us", "kernel launch and rendezvous of all ranks",
     DDPSIM_MEMBER(launch_us), kTime, {kStart, kAny}},
    {"start_us", "LL", "us", "first round of buffer handshakes", DDPSIM_MEMBER(start_us[0]), kTime},
    {"start_us", "LL128", "us", "first round of buffer handshakes",
     DDPSIM_MEMBER(start_us[1]), kTime, {kHandshake, kAny}},
    {"start_us", "Simple", "us", "first round of buffer handshakes",
     DDPSIM_MEMBER(start_us[2]), kTime, {kHandshake, kAny}},
    {"local_us", "LL", "us", "one hop between GPUs of a node",
     DDPSIM_MEMBER(local_us[0]), kTime, {kLatency, kAny}},
    {"local_us", "LL128", "us", "one hop between GPUs of a node",
     DDPSIM_MEMBER(local_us[1]), kTime, {kLatency, kAny}},
    {"local_us", "Simple", "us", "one hop between GPUs of a node",
     DDPSIM_MEMBER(local_us[2]), kTime, {kLatency, kAny}},
    {"hop_us", "LL", "us", "one hop between nodes", DDPSIM_MEMBER(hop_us[0]), kTime, {kLatency, kAny}},
    {"hop_us", "LL128", "us", "one hop between nodes",
     DDPSIM_MEMBER(hop_us[1]), kTime, {kLatency, kAny}},
    {"hop_us", "Simple", "us", "one hop between nodes",
     DDPSIM_MEMBER(hop_us[2]), kTime, {kLatency, kAny}},
    {"rendezvous_us", "", "us", "more per hop between nodes from 64 KiB on",
     DDPSIM_MEMBER(rendezvous_us), kTime, {kLatency, kAny}},
    {"channel_us", "", "us", "more per hop between nodes and further channel",
     DDPSIM_MEMBER(channel_us), kTime},
    {"local_share", "", "share", "of the rate between GPUs that is data",
     DDPSIM_MEMBER(local_share), kShare, {kLinks, kMostShare}},
    {"nic_share", "", "share", "of a NIC's rate that is data",
     DDPSIM_MEMBER(nic_share), kShare, {kNics, kMostShare}},
    {"single_gpu_per_node", "", "factor", "on nic_share where one GPU feeds all NICs",
     DDPSIM_MEMBER(single_gpu_per_node), kShare, {kNics, 1}},
    {"ll_gbps", "", "GB/s", "one thread block moves with LL",
     DDPSIM_MEMBER(ll_gbps), kRate, {kBlocks, kAny}},
    {"ll128_gbps", "", "GB/s", "one thread block moves with LL128",
     DDPSIM_MEMBER(ll128_gbps), kRate, {kBlocks, kAny}},
    {"nvls_start_us", "", "us", "first round of handshakes with NVLS",
     DDPSIM_MEMBER(nvls_start_us), kTime, {kLatency, kAny}},
    {"nvls_wave_us", "", "us", "one wave of chunks through the NVSwitch",
     DDPSIM_MEMBER(nvls_wave_us), kTime, {kLatency, kAny}},
    {"nvls_share", "", "share", "of the NVSwitch's rate that is data",
     DDPSIM_MEMBER(nvls_share), kShare, {kLinks, kMostShare}},
    {"overlap", "", "exponent", "of latency hidden by transfer; 1: none",
     DDPSIM_MEMBER(overlap), kExponent, {kOverlap, kAny}},
    {"per_channel_start_us", "", "us", "more to start per further thread block",
     DDPSIM_MEMBER(per_channel_start_us), kTime, {kPerChannel, kAny, kPerChannelUs}, false},
    {"ring_ends", "", "share", "of a ring's last copy that is seen",
     DDPSIM_MEMBER(ring_ends), kPart, {kEnds, 1, kRingEnds}, false},
    {"tree_share", "", "share", "of a ring's rate that trees over three nodes reach",
     DDPSIM_MEMBER(tree_share), kShare, {kTrees, 1}, false},
    {"ll_share", "", "share", "of ll_gbps that is seen between nodes",
     DDPSIM_MEMBER(ll_share), kShare, {kFlags, 1, kFlagsShare}, false},
    {"hop_growth", "1 KiB", "log", "growth of hop_us up to 4 times that size",
     DDPSIM_MEMBER(hop_growth[0]), kLogarithm, {kGrowth, kAny, 0, true}, false},
    {"hop_growth", "4 KiB", "log", "growth of hop_us up to 4 times that size",
     DDPSIM_MEMBER(hop_growth[1]), kLogarithm, {kGrowth, kAny, 0, true}, false},
    {"hop_growth", "16 KiB", "log", "growth of hop_us up to 4 times that size",
     DDPSIM_MEMBER(hop_growth[2]), kLogarithm, {kGrowth, kAny, 0, true}, false},
};
// clang-format on

#undef DDPSIM_MEMBER

static_assert(sizeof(kConstants) / sizeof(*kConstants) == sizeof(PathConstants) / sizeof(double),
              "every constant stands in the table, once");

}  // namespace

std::span<const CostConstant> cost_constants() {
  return kConstants;
}

}  // namespace ddpsim
