// DDP around a model that torch.compile compiled (torch/_dynamo/backends/distributed.py,
// torch/_dynamo/config.py). DDPOptimizer exists since 2.0, the names of modes and the Python
// reducer since 2.3. A compiled backward returns all its gradients together when it ends, and DDP's
// reducer sees them then.
//
// Modes:
//
// - no_optimization: one piece. Every all-reduce begins when backward is over.
// - ddp_optimizer: the forward graph is walked from its end. Before each operation, a piece closes
//   if its parameters have reached the limit. The first piece closes at
//   _DEFAULT_FIRST_BUCKET_BYTES, the others at bucket_bytes_cap, so these are minimum sizes here.
//   Each piece is compiled by itself, and they are called in turn.
// - python_reducer: see python_reducer.cpp.
//
// Operations are derived from the order in which gradients were written: consecutive gradients of one
// module belong to one operation. A workload does not show three further rules:
//
// - A parameter that is used twice counts in both pieces.
// - A cut moves on if it would leave a piece without an output.
// - The graph may break.
//
// Example: limits 4 and 10 bytes, gradients from the end a.bias 1, a.weight 4 | b.bias 2, b.weight
// 6 | c.weight 3. The pieces are {a} and {b, c}: a has reached 4 when b comes, but b's 8 have not
// reached 10 when c does.
//
// Within a piece, PyTorch runs hooks in an unpredictable order, which depends on autograd's heap.
// ddpsim uses the recorded order. How compiling changes compute itself is not predicted: compute
// stays as recorded.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "ddpsim/sim/collectives/job.hpp"

namespace ddpsim {

/// For each piece, the position after its last gradient, in the order in which gradients are
/// written. The last one is the number of gradients.
std::vector<std::size_t> piece_ends(const Workload& workload, const Recorded& recorded,
                                    const CutLimits& limits);
/// The pieces of the job's scheme: one for all of backward if nothing cuts it. Precondition:
/// compiled_pieces().
std::vector<std::size_t> piece_ends(const Job& job, const Recorded& recorded);

/// Why torch.compile would not do this, or why ddpsim does not simulate it. Precondition: the
/// scheme is Compiled.
std::optional<std::string> cannot_compile(const Job& job);

}  // namespace ddpsim
