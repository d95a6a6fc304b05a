// What DistributedDataParallel says about itself: its logging data (`ddp._get_ddp_logging_data()`,
// as JSON or as Python prints it), the output of TORCH_DISTRIBUTED_DEBUG=INFO or DETAIL, and its
// reducer's warnings.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ddpsim/diagnose/evidence/finding.hpp"

namespace ddpsim {

/// Keys are PyTorch's own (torch/csrc/distributed/c10d/logger.cpp). With several ranks, the values
/// are rank 0's or the first ones read. Values read later for the same rank (after more iterations)
/// replace them.
struct DdpFacts {
  struct Value {
    std::string text;
    std::string place;
  };
  std::map<std::string, Value, std::less<>> values;
  /// Place of the reducer's warning that it found no unused parameters.
  std::optional<std::string> no_unused_parameters;
  /// Place of the warning "Grad strides do not match bucket view strides".
  std::optional<std::string> strides_differ;
  bool empty() const { return values.empty() && !no_unused_parameters && !strides_differ; }

  std::optional<std::int64_t> integer(std::string_view key) const;
  const Value* find(std::string_view key) const;
  /// Bytes of the current buckets; the rebuilt ones if they were rebuilt.
  std::vector<std::int64_t> bucket_sizes() const;
};

/// Returns false if the line says nothing about DDP.
bool take_ddp_line(std::string_view line, const std::string& place, DdpFacts& facts);

std::vector<Finding> ddp_problems(const DdpFacts& facts);
std::vector<Finding> ddp_changes(const DdpFacts& before, const DdpFacts& after);

}  // namespace ddpsim
