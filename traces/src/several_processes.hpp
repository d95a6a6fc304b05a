// Detects traces that hold several processes, such as merged ones. A workload comes from one
// process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "recorded_collective.hpp"
#include "trace_event.hpp"

namespace ddpsim {

class SeveralProcesses {
 public:
  /// Rows of GPUs, streams and spans have process numbers of their own. Only one process may be
  /// labelled "CPU".
  void note_label(const TraceEvent& event);
  /// A profiler records only the operators of its own process.
  void note_operator(const TraceEvent& event);
  /// A step may be marked only once.
  void note_repeated_step(const TraceEvent& event);
  /// A rank of DDP all-reduces on only one GPU.
  void note_reduction(const Collective& kernel, const TraceEvent& event);

  /// The first sign of several processes, in words; empty if there is none.
  const std::string& found() const { return found_; }

 private:
  std::string found_;
  std::string host_process_;  ///< "pid" of the first operator
  std::string cpu_process_;   ///< "pid" of the first process labelled "CPU"
  std::optional<std::int64_t> reducing_device_;
};

}  // namespace ddpsim
