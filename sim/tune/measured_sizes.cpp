#include "measured_sizes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "ddpsim/sim/nccl.hpp"
#include "ddpsim/sim/size_text.hpp"
#include "measure_next.hpp"

namespace ddpsim {
namespace {

/// How far beyond its last size a log still speaks: two powers of two. By then the calibration takes
/// three quarters of what the cost model misses by as open again (left_open of correction.cpp).
constexpr double kReach = 4;

/// A log of one node says nothing of the network between nodes, and the
/// reverse, unless no other is there: then how far the nodes are from the logs
/// is said already.
bool is_near(Bytes size, const Cluster& cluster) {
  const std::vector<CalibratedShape>& logs = cluster.calibration->shapes;
  const auto kind = [&](const CalibratedShape& log) {
    return (log.nodes > 1) == (cluster.nodes > 1);
  };
  const bool any = std::none_of(logs.begin(), logs.end(), kind);
  const auto bytes = static_cast<double>(size.count());
  return std::any_of(logs.begin(), logs.end(), [&](const CalibratedShape& log) {
    return (any || kind(log)) && bytes * kReach >= static_cast<double>(log.smallest.count()) &&
           bytes <= kReach * static_cast<double>(log.largest.count());
  });
}

}  // namespace

void grade_by_sizes(Confidence& confidence, const std::vector<Bytes>& sizes, std::string_view what,
                    const Cluster& cluster) {
  if (!cluster.calibration || cluster.ranks() <= 1) return;
  std::vector<Bytes> outside;
  double all = 0;
  double unknown = 0;
  for (const Bytes size : sizes) {
    const auto bytes = static_cast<double>(size.count());
    all += bytes;
    if (size <= Bytes() || is_near(size, cluster)) continue;
    unknown += bytes;
    outside.push_back(size);
  }
  if (outside.empty() || unknown * 2 <= all) return;
  confidence.grade = Grade::c;
  const auto [least, most] = std::minmax_element(outside.begin(), outside.end());
  const std::string range = *least == *most ? rounded_size_text(*least)
                                            : fmt::format("{} to {}", rounded_size_text(*least),
                                                          rounded_size_text(*most));
  std::string reason = fmt::format("no log covers {} of {}", what, range);
  confidence.basis = reason;
  if (auto next = measure_all_reduces(ErrorSource::collective_times, outside, cluster)) {
    reason += "; run " + next->command;
    confidence.measure_next = std::move(next);
  }
  const auto second = confidence.because.empty() ? 0 : 1;
  confidence.because.insert(confidence.because.begin() + second, std::move(reason));
}

}  // namespace ddpsim
