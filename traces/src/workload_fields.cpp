#include "workload_fields.hpp"

#include "described_recording.hpp"

namespace ddpsim {

std::optional<Cursor> WorkloadFields::need(const Object& object, std::string_view key) {
  try {
    return object.required(key);
  } catch (const InputError& error) {
    if (!missing_) missing_ = error;
    return std::nullopt;
  }
}

Duration WorkloadFields::time(const Cursor& cursor, bool may_be_negative) const {
  const Duration value = cursor.microseconds(may_be_negative);
  if (value > kLongestTime || value < -kLongestTime) {
    cursor.fail("this time is out of range", "Expected at most 1e12 microseconds (11 days)");
  }
  return value;
}

std::optional<Duration> WorkloadFields::optional_time(const Object& object,
                                                      std::string_view key) const {
  const auto cursor = object.optional(key);
  if (!cursor) return std::nullopt;
  return time(*cursor);
}

std::optional<Duration> WorkloadFields::phase(const Object& root, std::string_view key) {
  const auto cursor = root.optional(key);
  if (!cursor) return std::nullopt;
  const auto duration = need(cursor->object(described_work().type()), "duration_us");
  if (!duration) return std::nullopt;
  return time(*duration);
}

}  // namespace ddpsim
