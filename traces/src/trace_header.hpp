// What stands beside the events: the GPUs, the job.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "json_splitter.hpp"

namespace ddpsim {

struct TraceHeader {
  std::string gpu_full_name;  ///< "Tesla V100-SXM2-32GB"; empty when not recorded
  std::optional<int> world_size;
  std::optional<std::int64_t> rank;
  std::string nccl_version;
  std::string backend;  ///< "nccl", "gloo"; empty when not recorded
};

/// `device` is the GPU the events ran on; without it the first one counts.
TraceHeader read_trace_header(const JsonSplitter& splitter, std::optional<std::int64_t> device);

/// Rank and world size alone, of the first bytes of a trace: the exporter writes them before the events.
TraceHeader job_in_head(std::string_view head);

/// The model within a full name: "V100" of "Tesla V100-SXM2-32GB", "2080Ti" of "NVIDIA GeForce RTX
/// 2080 Ti".
std::string gpu_model_token(std::string_view full_name);

}  // namespace ddpsim
