// Tells a person at a terminal how long an answer will still take, and lets an interrupt end it early with what is done.
//
// Nothing is printed in the first seconds, nor where standard error is no terminal. The line is taken away in the end.
#pragma once

#include <chrono>
#include <csignal>
#include <string>

#include "ddpsim/sim/progress.hpp"

namespace ddpsim {

class TerminalProgress : public Progress {
 public:
  /// `parts` names them: "iterations". While it lives an interrupt is noted, not obeyed; the second one is.
  explicit TerminalProgress(std::string parts);
  ~TerminalProgress() override;
  TerminalProgress(const TerminalProgress&) = delete;
  TerminalProgress& operator=(const TerminalProgress&) = delete;

  bool go_on(std::size_t done, std::size_t total) override;

 private:
  using Clock = std::chrono::steady_clock;
  const std::string parts_;
  const bool on_terminal_;
  const Clock::time_point begin_ = Clock::now();
  Clock::time_point shown_ = begin_;
  bool line_ = false;  ///< there is one to take away
  struct sigaction before_ {};
};

}  // namespace ddpsim
