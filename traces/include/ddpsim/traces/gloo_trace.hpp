// The all-reduces of a job over gloo, as PyTorch's profiler recorded them on one rank.
//
//   {"ph": "X", "cat": "user_annotation", "name": "gloo:all_reduce", "tid": 5476,
//    "ts": 4544647289831.826, "dur": 3872.441,
//    "args": {"Input type": ["float"], "Input Dims": [[525312]]}}
//
// Each event is on a worker thread of the process group and covers an all-reduce from its first to
// its last algorithm step. It includes the wait for other ranks, but not the wait for a free
// worker. Dims are recorded with record_shapes=True. PyTorch 2.13 writes these events, also without
// a GPU.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim {

struct GlooTrace {
  struct AllReduce {
    Bytes size;
    double start_us = 0;  ///< from the first all-reduce
    double time_us = 0;
  };
  std::int64_t rank = 0;
  int world_size = 0;
  std::string gpu;                     ///< "CPU" if none was used
  std::vector<AllReduce> all_reduces;  ///< by start
};

/// Absent if the file is not a trace of a job over gloo. Throws InputError if the trace lacks
/// all-reduces or their sizes.
std::optional<GlooTrace> read_gloo_trace(const std::filesystem::path& path);

}  // namespace ddpsim
