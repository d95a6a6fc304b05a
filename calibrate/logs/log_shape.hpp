// Numbers of ranks, nodes and GPUs of a table: as stated, as the log says, or as its list of
// devices and its busbw tell.
#pragma once

#include <optional>
#include <vector>

#include "raw_log.hpp"

namespace ddpsim {

/// Whether the run does not contradict a stated shape.
bool is_of_shape(const RawRun& run, JobShape stated);

/// Number of ranks in a list of devices without gaps from rank 0 on. 0 if there is no such list.
int listed_ranks(const RawRun& run);

/// Fills in ranks, nodes and gpus_per_node of `log` as far as they are known. `rows` are the valid
/// rows of the run. Throws InputError if two statements contradict each other.
void find_shape(MeasuredLog& log, const RawLog& raw, const RawRun& run,
                const std::vector<RawRow>& rows, std::optional<JobShape> stated);

}  // namespace ddpsim
