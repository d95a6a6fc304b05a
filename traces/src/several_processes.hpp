// Whether a trace holds several processes, as merged traces do: a workload is made of one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "recorded_collective.hpp"
#include "trace_event.hpp"

namespace ddpsim {

class SeveralProcesses {
 public:
  /// Rows of GPUs, streams and spans have process numbers of their own; one process is labelled "CPU".
  void note_label(const TraceEvent& event);
  /// A profiler records the operators of its own process.
  void note_operator(const TraceEvent& event);
  /// A step is marked once.
  void note_repeated_step(const TraceEvent& event);
  /// A rank of DDP all-reduces on one GPU.
  void note_reduction(const Collective& kernel, const TraceEvent& event);

  /// What shows it first, in words; empty where nothing does.
  const std::string& found() const { return found_; }

 private:
  std::string found_;
  std::string host_process_;  ///< "pid" of the first operator
  std::string cpu_process_;   ///< … and of the first process labelled "CPU"
  std::optional<std::int64_t> reducing_device_;
};

}  // namespace ddpsim
