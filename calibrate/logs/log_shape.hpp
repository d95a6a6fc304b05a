// How many ranks, nodes and GPUs a table is of: as stated, as the log says, or as its list of devices
// and its busbw tell.
#pragma once

#include <optional>
#include <vector>

#include "raw_log.hpp"

namespace ddpsim {

/// Whether nothing in the run speaks against a shape that was stated.
bool is_of_shape(const RawRun& run, JobShape stated);

/// Ranks of a list of devices without a hole, from rank 0 on; 0 where there is no such list.
int listed_ranks(const RawRun& run);

/// Fills ranks, nodes and gpus_per_node of `log`, as far as they can be known. `rows`: those of the run that count.
/// Throws InputError where two things said of them contradict each other.
void find_shape(MeasuredLog& log, const RawLog& raw, const RawRun& run,
                const std::vector<RawRow>& rows, std::optional<JobShape> stated);

}  // namespace ddpsim
