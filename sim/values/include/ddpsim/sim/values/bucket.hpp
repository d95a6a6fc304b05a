// Gradients that DDP reduces together.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "ddpsim/sim/values/quantities.hpp"
#include "ddpsim/sim/values/workload.hpp"

namespace ddpsim {

enum class ClosedBy { limit, end, sparse };
std::string_view name_of(ClosedBy closed_by);

struct Bucket {
  std::vector<std::size_t> parameters;  ///< indices into Workload::parameters
  Bytes bytes;
  /// The limit that the bucket was built under. 0 for sparse.
  Bytes limit;
  std::size_t limit_index = 0;  ///< its position in the limits
  ClosedBy closed_by = ClosedBy::end;
  Dtype dtype = Dtype::float32;
};

}  // namespace ddpsim
