// What DistributedDataParallel says of itself: its logging data (`ddp._get_ddp_logging_data()`, as JSON or as Python prints
// it), what TORCH_DISTRIBUTED_DEBUG=INFO or DETAIL prints of it, and its reducer's warnings.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ddpsim/diagnose/evidence/finding.hpp"

namespace ddpsim {

/// Keys are PyTorch's own (torch/csrc/distributed/c10d/logger.cpp). Of several ranks, rank 0's or the first read; what is
/// read later of the same rank (more iterations) replaces it.
struct DdpFacts {
  struct Value {
    std::string text;
    std::string place;
  };
  std::map<std::string, Value, std::less<>> values;
  std::optional<std::string>
      no_unused_parameters;  ///< place of the reducer's warning that it found none unused
  std::optional<std::string>
      strides_differ;  ///< place of "Grad strides do not match bucket view strides"
  bool empty() const { return values.empty() && !no_unused_parameters && !strides_differ; }

  std::optional<std::int64_t> integer(std::string_view key) const;
  const Value* find(std::string_view key) const;
  /// Of the buckets in force, bytes; those rebuilt where they were.
  std::vector<std::int64_t> bucket_sizes() const;
};

/// False: the line says nothing of DDP.
bool take_ddp_line(std::string_view line, const std::string& place, DdpFacts& facts);

std::vector<Finding> ddp_problems(const DdpFacts& facts);
std::vector<Finding> ddp_changes(const DdpFacts& before, const DdpFacts& after);

}  // namespace ddpsim
