// Any text as a log gives usable figures, or an InputError.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "ddpsim/calibrate/fit/gloo_fit.hpp"
#include "ddpsim/calibrate/logs/measured_log.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/topologies/cluster_source.hpp"

namespace {

/// Logs of gloo can be fitted, or are refused.
void fit_gloo(std::string_view text, std::optional<ddpsim::JobShape> stated) {
  const std::vector<ddpsim::MeasuredLog> logs = ddpsim::parse_measured_logs(text, "fuzz", stated);
  for (const ddpsim::MeasuredLog& log : logs)
    if (!ddpsim::is_of_gloo(log) || log.points.size() > 16 || log.ranks > 64) return;
  const ddpsim::GlooFit fit = ddpsim::fit_gloo(logs, [](ddpsim::JobShape shape) {
    return ddpsim::load_cluster_at("node:1 gpu:8xV100 pcie:12GBps nic:1x10Gbps:tcp", shape.nodes,
                                   shape.gpus_per_node);
  });
  for (const ddpsim::GlooResidual& row : fit.residuals)
    if (!std::isfinite(row.calibrated_us)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const std::optional<ddpsim::JobShape> stated :
       {std::optional<ddpsim::JobShape>(), std::optional(ddpsim::JobShape{2, 2})}) {
    try {
      for (const ddpsim::MeasuredLog& log : ddpsim::parse_measured_logs(text, "fuzz", stated)) {
        if (log.ranks < 0 || log.recognised.empty()) std::abort();
        if (log.shape() && log.shape()->ranks() != log.ranks) std::abort();
        for (const ddpsim::MeasuredPoint& point : log.points) {
          if (!(point.time_us > 0) || !std::isfinite(point.time_us)) std::abort();
          if (point.size <= ddpsim::Bytes(0)) std::abort();
        }
      }
      fit_gloo(text, stated);
    } catch (const ddpsim::InputError&) {
    }
  }
  return 0;
}
