// The part of a trace outside its events: the GPUs and the job.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "json_splitter.hpp"

namespace ddpsim {

struct TraceHeader {
  /// "Tesla V100-SXM2-32GB"; empty if not recorded.
  std::string gpu_full_name;
  std::optional<int> world_size;
  std::optional<std::int64_t> rank;
  std::string nccl_version;
  std::string backend;  ///< "nccl", "gloo"; empty if not recorded
};

/// `device` is the GPU of the events. Without it, the first GPU counts.
TraceHeader read_trace_header(const JsonSplitter& splitter, std::optional<std::int64_t> device);

/// Reads only rank and world size from the first bytes of a trace. The exporter writes them before
/// the events.
TraceHeader job_in_head(std::string_view head);

/// Model within a full name: "V100" in "Tesla V100-SXM2-32GB", "2080Ti" in "NVIDIA GeForce RTX 2080
/// Ti".
std::string gpu_model_token(std::string_view full_name);

}  // namespace ddpsim
