#pragma once

#include <stdexcept>
#include <string>

#include "ddpsim/formats/quote.hpp"

namespace ddpsim {

/// The command line does not make sense; exit code 2.
class UsageError : public std::runtime_error {
 public:
  /// Whatever cannot be shown (quote.hpp) is replaced: what() ends at a NUL.
  explicit UsageError(const std::string& message) : std::runtime_error(printable(message)) {}
};

}  // namespace ddpsim
