#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "ddpsim/formats/input_error.hpp"

namespace ddpsim {

/// An error in how the command line is used; exit code 2.
class UsageError : public std::runtime_error {
 public:
  explicit UsageError(std::string message) : UsageError("", std::move(message)) {}
  /// `option` is as typed, such as "--nodes"; "" if the error is not about one option.
  UsageError(std::string option, std::string message, Hint hint = {})
      : UsageError(Diagnostic{.file = "",
                              .where = std::move(option),
                              .message = std::move(message),
                              .hint = std::move(hint)}) {}
  UsageError(std::string option, Complaint complaint)
      : UsageError(std::move(option), std::move(complaint.message), std::move(complaint.hint)) {}
  explicit UsageError(Diagnostic diagnostic)
      : std::runtime_error(to_string(diagnostic)), diagnostic_(std::move(diagnostic)) {}
  const Diagnostic& diagnostic() const { return diagnostic_; }

 private:
  Diagnostic diagnostic_;
};

}  // namespace ddpsim
