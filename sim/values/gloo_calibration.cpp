#include "ddpsim/sim/values/gloo_calibration.hpp"

#include <algorithm>
#include <array>

namespace ddpsim {
namespace {

constexpr double kSlowestRate = 1e-6;  // GB/s
constexpr double kFastestRate = 1e4;
constexpr double kShortestUs = 1e-3;  // us
constexpr double kLongestUs = 1e6;

constexpr std::array kGlooConstants{
    GlooConstant{"process_gbps", "process", "GB/s", "most that one all-reduce of a process sends",
                 [](const GlooLinks& links) { return links.process.gigabytes_per_second(); },
                 [](GlooLinks& links, double value) {
                   links.process = Bandwidth::gigabytes_per_second(value);
                 },
                 kSlowestRate, kFastestRate},
    GlooConstant{"fill", "fill", "", "factor on process_gbps with two all-reduces in flight",
                 [](const GlooLinks& links) { return links.to_fill; },
                 [](GlooLinks& links, double value) { links.to_fill = value; }, 1, 64},
    GlooConstant{
        "host_gbps", "host", "GB/s", "most that all processes of a host send together",
        [](const GlooLinks& links) { return links.host.gigabytes_per_second(); },
        [](GlooLinks& links, double value) { links.host = Bandwidth::gigabytes_per_second(value); },
        kSlowestRate, kFastestRate},
    GlooConstant{
        "cache_mb", "cache", "MB", "last-level cache of a host",
        [](const GlooLinks& links) { return static_cast<double>(links.cache.count()) / 1e6; },
        [](GlooLinks& links, double value) {
          links.cache = Bytes(static_cast<std::int64_t>(value * 1e6));
        },
        0.001, 1e6},
    GlooConstant{"step_us", "step", "us", "one step of the ring, however few bytes",
                 [](const GlooLinks& links) { return links.step.microseconds(); },
                 [](GlooLinks& links, double value) { links.step = Duration::microseconds(value); },
                 kShortestUs, kLongestUs},
    GlooConstant{
        "start_us", "start", "us", "before the first step",
        [](const GlooLinks& links) { return links.start.microseconds(); },
        [](GlooLinks& links, double value) { links.start = Duration::microseconds(value); },
        kShortestUs, kLongestUs},
    GlooConstant{
        "copy_gbps", "copy", "GB/s", "copies between GPU and host",
        [](const GlooLinks& links) { return links.copy.gigabytes_per_second(); },
        [](GlooLinks& links, double value) { links.copy = Bandwidth::gigabytes_per_second(value); },
        kSlowestRate, kFastestRate},
};

}  // namespace

std::span<const GlooConstant> gloo_constants() {
  return kGlooConstants;
}

bool is_calibrated_at(const GlooCalibration& calibration, int nodes, int gpus_per_node) {
  return std::ranges::any_of(calibration.logs, [&](const CalibratedShape& log) {
    return log.nodes == nodes && log.gpus_per_node == gpus_per_node;
  });
}

}  // namespace ddpsim
