// Shared by all fields of a workload file. An invalid field is reported before a missing one. The
// first missing field is remembered, and thrown only after all present fields were found valid.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "ddpsim/formats/decoder.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim {

inline constexpr std::int64_t kMostCount = std::numeric_limits<std::int64_t>::max();
/// Eleven days. A step adds up to nine such times, and the sum stays within 63 bits of picoseconds.
inline constexpr Duration kLongestTime = Duration::microseconds(1e12);

class WorkloadFields {
 public:
  /// Returns the field. If it is missing, returns absent and remembers that.
  std::optional<Cursor> need(const Object& object, std::string_view key);
  Duration time(const Cursor& cursor, bool may_be_negative = false) const;
  std::optional<Duration> optional_time(const Object& object, std::string_view key) const;
  /// {"duration_us": T}
  std::optional<Duration> phase(const Object& root, std::string_view key);

  /// The first required field that is missing.
  const std::optional<InputError>& missing() const { return missing_; }

 private:
  std::optional<InputError> missing_;
};

}  // namespace ddpsim
