// Sums, broadcasts and all-gathers between ranks: a rank gives what it has when its operation begins; whoever completes the last arrival
// works out the result; all have it when the collective ends.
#pragma once

#include "machine.hpp"

namespace simulated_gpu {

Collective& collective_of(const Operation& operation);
/// Before it is enqueued: the next of this rank. False: another rank asked for another collective in its place.
struct Asked {
  CollectiveKind kind;
  int root;
  int dtype;
  bool averages;
  std::int64_t bytes;  ///< as Collective::bytes
};
bool describe(Operation& operation, const Asked& asked);
void arrive(Operation& operation);
void finish(Operation& operation);

}  // namespace simulated_gpu
