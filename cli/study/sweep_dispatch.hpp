// Distribution of a sweep's points: it hands them out in order, to threads of this process and to other ranks, and writes the lines that
// come back.
#pragma once

#include <cstddef>
#include <exception>
#include <mutex>
#include <string>

#include "sweep_output.hpp"
#include "terminal_progress.hpp"

namespace ddpsim {

/// Points from `first` on, numbered as lines of the output.
struct PointRange {
  std::size_t first = 0;
  std::size_t count = 0;
};

/// Can be used from any thread.
class SweepDispatch {
 public:
  /// Distributes the lines that `output` lacks of `count`.
  SweepDispatch(SweepOutput& output, std::size_t count);

  /// Returns the next points, at most `most`; none if nothing is left or the sweep has ended.
  PointRange take(std::size_t most);
  /// Writes a line. The sweep ends if it cannot be written, or if the user interrupts.
  void put(std::size_t k, std::string line);
  /// Ends the sweep: no more points are handed out.
  void end(std::exception_ptr reason);

  std::size_t left() const;  ///< points not handed out yet
  bool over() const;         ///< whether complete or ended
  /// Returns whether all lines were written. Throws the exception that ended the sweep.
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
