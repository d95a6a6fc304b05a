// Points of a sweep on their way: handed out in order to whoever asks, threads of this process and other ranks, and put
// where they go as they come back.
#pragma once

#include <cstddef>
#include <exception>
#include <mutex>
#include <string>

#include "sweep_output.hpp"
#include "terminal_progress.hpp"

namespace ddpsim {

/// Points from `first` on, counted as lines of the output.
struct PointRange {
  std::size_t first = 0;
  std::size_t count = 0;
};

/// From any thread.
class SweepDispatch {
 public:
  /// All that `output` misses of `count` lines.
  SweepDispatch(SweepOutput& output, std::size_t count);

  /// The next ones, at most so many; none where nothing is left, or it has ended.
  PointRange take(std::size_t most);
  /// A line that was asked for. Where it cannot be written, or the user does not want to wait, this ends.
  void put(std::size_t k, std::string line);
  /// Nothing is handed out any more.
  void end(std::exception_ptr reason);

  std::size_t left() const;  ///< to be handed out
  bool over() const;         ///< all are there, or it has ended
  /// Whether all lines are there. Throws what it ended with.
  bool all_there() const;

 private:
  void end_with(std::exception_ptr reason);

  mutable std::mutex mutex_;
  SweepOutput& output_;
  TerminalProgress progress_{"points"};
  const std::size_t kept_;
  const std::size_t count_;
  std::size_t next_;
  std::size_t done_ = 0;
  bool ended_ = false;
  std::exception_ptr thrown_;
};

}  // namespace ddpsim
