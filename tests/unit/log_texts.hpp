// Texts of all_reduce_perf, read or refused.
#pragma once

#include <optional>
#include <string>

#include "complaint.hpp"
#include "ddpsim/calibrate/logs/measured_log.hpp"
#include "ddpsim/formats/input_error.hpp"

namespace ddpsim {

inline MeasuredLog parse_log(const std::string& text,
                             std::optional<JobShape> stated = std::nullopt) {
  return parse_nccl_tests_log(text, "log", stated);
}

/// The message; empty where the log is read.
inline std::string refusal_of_log(const std::string& text,
                                  std::optional<JobShape> stated = std::nullopt) {
  return complaint_of([&] { parse_log(text, stated); });
}

}  // namespace ddpsim
