#include "measured_all_reduces.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ddpsim/calibrate/logs/measured_log.hpp"
#include "ddpsim/formats/input_error.hpp"

namespace ddpsim {
namespace {

/// Returns whether a log has the shape of the table. A log without a shape is compared by its number of ranks.
bool is_of(const MeasuredLog& log, const AllReduceTable& table) {
  if (const auto shape = log.shape()) return *shape == JobShape{table.nodes, table.gpus_per_node};
  return log.ranks == table.ranks;
}

std::string shape_text(const MeasuredLog& log) {
  if (const auto shape = log.shape())
    return fmt::format("{}x{}", shape->nodes, shape->gpus_per_node);
  return log.ranks > 0 ? fmt::format("{} ranks", log.ranks) : "an unknown shape";
}

}  // namespace

MeasuredAllReduces read_measured_all_reduces(const std::string& argument,
                                             const AllReduceTable& table) {
  const LogArgument log_argument = parse_log_argument(argument);
  const std::vector<MeasuredLog> logs = read_measured_logs(log_argument.path, log_argument.stated);
  const auto found =
      std::ranges::find_if(logs, [&](const MeasuredLog& log) { return is_of(log, table); });
  if (found == logs.end()) {
    std::vector<std::string> shapes;
    for (const MeasuredLog& log : logs) shapes.push_back(shape_text(log));
    throw InputError(
        {.file = log_argument.path.string(),
         .where = "",
         .message = fmt::format("has {}, but the table has {}x{} (nodes x GPUs)",
                                fmt::join(shapes, ", "), table.nodes, table.gpus_per_node),
         .hint = fmt::format("State the log's shape, such as LOG@{}x{}, or set the table's with "
                             "--nodes and --gpus-per-node",
                             table.nodes, table.gpus_per_node)});
  }
  MeasuredAllReduces measured{.source = found->source, .time_us = {}};
  for (const MeasuredPoint& point : found->points)
    measured.time_us.emplace_back(point.size, point.time_us);
  return measured;
}

}  // namespace ddpsim
