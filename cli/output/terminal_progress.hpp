// Tells a person at a terminal how long an answer will still take, and lets an interrupt end it early with what is done.
// Where what is done does not go on from where it was, another stretch of the work has begun, and the time left is its.
//
// Nothing is printed in the first seconds, nor where standard error is no terminal. The line is taken away behind the last part.
#pragma once

#include <chrono>
#include <csignal>
#include <string>

#include "ddpsim/sim/values/progress.hpp"

namespace ddpsim {

class TerminalProgress : public Progress {
 public:
  enum class Interrupt {
    keeps,  ///< noted, not obeyed, and what is done is kept; the second one ends the program
    ends    ///< the program, as everywhere: what is done is no answer
  };
  /// `parts` names them: "iterations".
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
  Clock::time_point stretch_ = begin_;  ///< when it began
  std::size_t done_ = 0;                ///< of it, when last heard
  Clock::time_point heard_ = begin_;
  bool line_ = false;  ///< there is one to take away
  struct sigaction before_ {};
};

}  // namespace ddpsim
