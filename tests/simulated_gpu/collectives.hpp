// Sums, broadcasts and all-gathers between ranks. A rank provides its input when its operation
// begins. The last arrival computes the result, and all ranks receive it when the collective ends.
#pragma once

#include "machine.hpp"

namespace simulated_gpu {

Collective& collective_of(const Operation& operation);
/// Registers the next collective of this rank before it is enqueued. False if another rank
/// requested a different collective in its place.
struct Asked {
  CollectiveKind kind;
  int root;
  int dtype;
  bool averages;
  std::int64_t bytes;  ///< like Collective::bytes
};
bool describe(Operation& operation, const Asked& asked);
void arrive(Operation& operation);
void finish(Operation& operation);

}  // namespace simulated_gpu
