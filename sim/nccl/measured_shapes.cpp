// What was measured near a job shape: the nearest log, and whether the shape is beyond all logs.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "ddpsim/sim/nccl/correction.hpp"
#include "shape_distance.hpp"

namespace ddpsim {
namespace {

/// "2..16 nodes"
std::string range_of(int from, int to, const char* what) {
  if (from == to) return fmt::format("{} {}{}", from, what, from == 1 ? "" : "s");
  return fmt::format("{}..{} {}s", from, to, what);
}

}  // namespace

bool is_far_beyond(const Calibration& calibration, int nodes) {
  constexpr int kFar = 8;
  return std::ranges::all_of(calibration.shapes, [&](const CalibratedShape& shape) {
    return nodes > kFar * std::int64_t{shape.nodes};
  });
}

bool is_calibrated_at(const Calibration& calibration, int nodes, int gpus_per_node) {
  return std::any_of(calibration.shapes.begin(), calibration.shapes.end(),
                     [&](const CalibratedShape& shape) {
                       return shape.nodes == nodes && shape.gpus_per_node == gpus_per_node;
                     });
}

bool is_measured_at(const Calibration& calibration, int nodes, int gpus_per_node, Bytes size) {
  return std::any_of(calibration.shapes.begin(), calibration.shapes.end(),
                     [&](const CalibratedShape& log) {
                       return log.nodes == nodes && log.gpus_per_node == gpus_per_node &&
                              octaves_outside(log, size) <= 0;
                     });
}

const CalibratedShape* nearest_log(const Calibration& calibration, int nodes, int gpus_per_node,
                                   Bytes size) {
  const auto away = [&](const CalibratedShape& log) {
    return std::pair(shape_distance(nodes, gpus_per_node, log.nodes, log.gpus_per_node),
                     octaves_outside(log, size));
  };
  const auto nearest = std::min_element(
      calibration.shapes.begin(), calibration.shapes.end(),
      [&](const CalibratedShape& a, const CalibratedShape& b) { return away(a) < away(b); });
  return nearest == calibration.shapes.end() ? nullptr : &*nearest;
}

std::optional<NcclVersion> nearest_nccl(const Calibration& calibration, int nodes,
                                        int gpus_per_node) {
  const bool own_known = std::ranges::any_of(calibration.shapes, [](const CalibratedShape& shape) {
    return !shape.published && shape.nccl;
  });
  const auto away = [&](const CalibratedShape& shape) {
    return std::pair(own_known && shape.published,
                     shape_distance(nodes, gpus_per_node, shape.nodes, shape.gpus_per_node));
  };
  const auto nearest = std::min_element(
      calibration.shapes.begin(), calibration.shapes.end(),
      [&](const CalibratedShape& a, const CalibratedShape& b) { return away(a) < away(b); });
  if (nearest == calibration.shapes.end()) return std::nullopt;
  return nearest->nccl;
}

std::string beyond_calibration(const Calibration& calibration, int nodes, int gpus_per_node) {
  if (nodes * gpus_per_node <= 1 || calibration.shapes.empty()) return "";
  const auto [fewest, most] = std::minmax_element(
      calibration.shapes.begin(), calibration.shapes.end(),
      [](const CalibratedShape& a, const CalibratedShape& b) { return a.nodes < b.nodes; });
  if (nodes < fewest->nodes || nodes > most->nodes)
    return fmt::format("{} node{} beyond the calibrated range ({})", nodes,
                       nodes == 1 ? " lies" : "s lie",
                       range_of(fewest->nodes, most->nodes, "node"));
  const auto [smallest, largest] =
      std::minmax_element(calibration.shapes.begin(), calibration.shapes.end(),
                          [](const CalibratedShape& a, const CalibratedShape& b) {
                            return a.gpus_per_node < b.gpus_per_node;
                          });
  if (gpus_per_node < smallest->gpus_per_node || gpus_per_node > largest->gpus_per_node)
    return fmt::format("{} GPU{} per node lie{} beyond the calibrated range ({})", gpus_per_node,
                       gpus_per_node == 1 ? "" : "s", gpus_per_node == 1 ? "s" : "",
                       range_of(smallest->gpus_per_node, largest->gpus_per_node, "GPU"));
  const auto several_logs = std::count_if(
      calibration.shapes.begin(), calibration.shapes.end(), [&](const CalibratedShape& shape) {
        return several_nodes(shape.nodes) == several_nodes(nodes);
      });
  if (several_logs == 0)
    return several_nodes(nodes) ? "no log of several nodes was fitted"
                                : "no log of one node was fitted";
  return "";
}

}  // namespace ddpsim
