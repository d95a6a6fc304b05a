// A validation, as text and as ddpsim.validation/1.
#pragma once

#include <optional>
#include <string>

#include "ddpsim/calibrate/validate/validation.hpp"
#include "ddpsim/reports/reports.hpp"

namespace ddpsim {

/// The largest error allowed, and which error it limits.
struct ErrorLimit {
  enum class Statistic { worst, p90, median };
  double percent = 0;
  Statistic statistic = Statistic::worst;
};
std::string_view name_of(ErrorLimit::Statistic statistic);  ///< "worst"
double error_percent(const Validation& validation, ErrorLimit::Statistic statistic);
/// Whether the error is above the limit.
bool exceeds(const Validation& validation, const ErrorLimit& limit);

std::string validation_text(const Validation& validation, const Figures& predicted,
                            const Figures& measured, const std::optional<ErrorLimit>& limit,
                            const TerminalStyle& style);
std::string validation_json(const Validation& validation, const Figures& predicted,
                            const Figures& measured, const std::optional<ErrorLimit>& limit);
std::string validation_csv(const Validation& validation);

}  // namespace ddpsim
