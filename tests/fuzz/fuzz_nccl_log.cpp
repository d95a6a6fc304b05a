// Any text becomes logs whose figures can be calculated with, or an InputError.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "ddpsim/calibrate/measured_log.hpp"
#include "ddpsim/formats/input_error.hpp"

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
    } catch (const ddpsim::InputError&) {
    }
  }
  return 0;
}
