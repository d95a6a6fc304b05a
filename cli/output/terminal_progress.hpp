// Shows at a terminal how long an answer still takes, and can end it early on an interrupt and keep the parts that are done.
//
// If the number of finished parts does not grow, a new phase of the work has begun, and the time left is that of the new phase.
// Nothing is printed in the first seconds or if standard error is not a terminal. The line is erased after the last part.
#pragma once

#include <chrono>
#include <csignal>
#include <string>

#include "ddpsim/sim/values/progress.hpp"

namespace ddpsim {

class TerminalProgress : public Progress {
 public:
  enum class Interrupt {
    /// Stops the work and keeps the finished parts. A second interrupt ends the program.
    keeps,
    /// Ends the program, because finished parts alone are no answer.
    ends
  };
  /// `parts` is the name of the parts, such as "iterations".
  explicit TerminalProgress(std::string parts, Interrupt interrupt = Interrupt::keeps);
  ~TerminalProgress() override;
  TerminalProgress(const TerminalProgress&) = delete;
  TerminalProgress& operator=(const TerminalProgress&) = delete;

  bool go_on(std::size_t done, std::size_t total) override;

 private:
  void take_away();

  using Clock = std::chrono::steady_clock;
  const std::string parts_;
  const Interrupt interrupt_;
  const bool on_terminal_;
  const Clock::time_point begin_ = Clock::now();
  Clock::time_point shown_ = begin_;
  Clock::time_point phase_ = begin_;  ///< when it began
  // The last report of progress.
  std::size_t done_ = 0;
  Clock::time_point heard_ = begin_;
  bool line_ = false;  ///< whether a line is shown
  struct sigaction before_ {};
};

}  // namespace ddpsim
