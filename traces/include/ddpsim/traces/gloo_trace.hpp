// The all-reduces of a job over gloo, as PyTorch's profiler saw them on one rank.
//
//   {"ph": "X", "cat": "user_annotation", "name": "gloo:all_reduce", "tid": 5476, "ts": 4544647289831.826, "dur": 3872.441,
//    "args": {"Input type": ["float"], "Input Dims": [[525312]]}}
//
// on a worker thread of the process group, from its first step to its last: what waited for a free
// worker is not in it, the wait for other ranks is. Dims are there with record_shapes=True. Seen in
// PyTorch 2.13, which no GPU needs for it.
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
    double start_us = 0;  ///< from the first
    double time_us = 0;
  };
  std::int64_t rank = 0;
  int world_size = 0;
  std::string gpu;                     ///< "CPU" where none was used
  std::vector<AllReduce> all_reduces;  ///< by start
};

/// Absent where the file is no trace of a job over gloo. Throws InputError for one without all-reduces and their sizes.
std::optional<GlooTrace> read_gloo_trace(const std::filesystem::path& path);

}  // namespace ddpsim
