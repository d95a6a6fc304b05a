// DDP around a model that torch.compile compiled (torch/_dynamo/backends/distributed.py, torch/_dynamo/config.py; DDPOptimizer
// since 2.0, names of modes and the Python reducer since 2.3): a compiled backward gives its gradients when it has ended, all of
// them together, and DDP's reducer sees them then.
//
//   no_optimization  one piece: every all-reduce begins when backward is over
//   ddp_optimizer    the forward graph is walked from its end; in front of each operation, a piece whose parameters have reached the
//                    limit closes (the first at _DEFAULT_FIRST_BUCKET_BYTES, others at bucket_bytes_cap, which are
//                    least sizes, then). Each piece is compiled by itself, and called in turn
//   python_reducer   python_reducer.cpp
//
// Operations are told from the order in which gradients were written: gradients of one module that follow each other are of
// one. What a workload does not tell: a parameter used twice counts in both pieces; a cut that would leave a piece without an
// output moves on; graph breaks.
//
//   worked out: limits 4 and 10 bytes, gradients from the end a.bias 1, a.weight 4 | b.bias 2, b.weight 6 | c.weight 3
//   pieces {a}, {b, c}: a has reached 4 when b comes, b's 8 have not reached 10 when c does
//
// Within a piece PyTorch's order of hooks is an accident of autograd's heap; here it is the recorded one. What
// compiling makes of compute itself is not predicted: what was recorded stays.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "ddpsim/sim/collectives/job.hpp"

namespace ddpsim {

/// Behind the last gradient of each piece, as positions in the order written; the last is their number.
std::vector<std::size_t> piece_ends(const Workload& workload, const Recorded& recorded,
                                    const CutLimits& limits);
/// Of the job's scheme: all of backward where nothing cuts it. Precondition: compiled_pieces().
std::vector<std::size_t> piece_ends(const Job& job, const Recorded& recorded);

/// Why torch.compile would not do so, or it is not simulated. Precondition: the scheme is Compiled.
std::optional<std::string> cannot_compile(const Job& job);

}  // namespace ddpsim
