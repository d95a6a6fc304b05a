// What the fields of a workload file have in common. A bad field is reported before a missing one, wherever
// both stand: the first missing field is remembered and thrown only after everything present was found good.
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
/// Eleven days: a step adds up to nine such times, which then stays inside 63 bits of picoseconds.
inline constexpr Duration kLongestTime = Duration::microseconds(1e12);

class WorkloadFields {
 public:
  /// The field, or nothing and a note that it is missing.
  std::optional<Cursor> need(const Object& object, std::string_view key);
  Duration time(const Cursor& cursor, bool may_be_negative = false) const;
  std::optional<Duration> optional_time(const Object& object, std::string_view key) const;
  /// {"duration_us": T}
  std::optional<Duration> phase(const Object& root, std::string_view key);

  /// The first field that was needed and is not there.
  const std::optional<InputError>& missing() const { return missing_; }

 private:
  std::optional<InputError> missing_;
};

}  // namespace ddpsim
