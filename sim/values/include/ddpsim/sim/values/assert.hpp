// Assertions against errors in the code, not in the input. They are checked in release builds too,
// and end the program.
#pragma once

#include <string>
#include <type_traits>

#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim::assertion {

template <typename Value>
std::string text_of(const Value& value) {
  if constexpr (std::is_same_v<Value, Duration>)
    return std::to_string(value.picoseconds()) + " ps";
  else if constexpr (std::is_same_v<Value, TimePoint>)
    return text_of(value.since_start());
  else if constexpr (std::is_same_v<Value, Bytes>)
    return std::to_string(value.count()) + " B";
  else
    return std::to_string(value);
}

template <typename... Values>
std::string texts_of(const Values&... values) {
  std::string all;
  ((all += (all.empty() ? "" : ", ") + text_of(values)), ...);
  return all;
}

/// Prints "ddpsim: internal error at FILE:LINE: WHAT (CONDITION; NAMES = VALUES)" and ends the
/// program.
[[noreturn]] void failed(const char* file, int line, const char* what, const char* condition,
                         const char* names, const std::string& values);

}  // namespace ddpsim::assertion

/// Ends the program unless `condition` holds. `what` names the fault; further arguments are values
/// that the message prints.
#define DDPSIM_ASSERT(condition, what, ...)                                           \
  do {                                                                                \
    if (!(condition))                                                                 \
      ::ddpsim::assertion::failed(__FILE__, __LINE__, what, #condition, #__VA_ARGS__, \
                                  ::ddpsim::assertion::texts_of(__VA_ARGS__));        \
  } while (false)
