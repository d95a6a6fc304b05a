// What must hold for a key before its numbers count as step times.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ddpsim/formats/hint.hpp"
#include "step_choice.hpp"

namespace ddpsim {

/// Each check throws InputError if it fails.
class KeyChecks {
 public:
  explicit KeyChecks(const StepChoice& choice) : choice_(choice) {}

  /// Checks that the numbers are understood and have a unit. Returns a warning, if any.
  std::optional<std::string> require_understood(const StepKey& key) const;
  void require_unit(const StepKey& key) const;
  void require_no_clock(const StepKey& key) const;
  /// Checks that the numbers belong to steps, not to micro-batches or a clock.
  void require_steps(const StepKey& key) const;
  [[noreturn]] void fail_cut_off() const;

  // Shared by the messages about keys.
  [[noreturn]] void fail(const std::string& place, std::string message, Hint hint) const;
  [[noreturn]] void fail(std::uint32_t line, std::string message, Hint hint) const;
  /// The argument as a user types it: FILE:KEY, quoted if a shell needs it.
  std::string typed(const StepKey& key, std::string_view unit = "") const;
  std::string typed(std::string_view name, std::string_view unit) const;
  const char* noun() const;
  std::string names_of(const std::vector<const StepKey*>& keys) const;

 private:
  const StepChoice& choice_;
};

}  // namespace ddpsim
