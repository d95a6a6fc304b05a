// Joins traces of several ranks of one job into one workload, with information that no single rank
// holds.
//
// On one rank, a collective's duration holds both the wait for the last rank and the transfer.
// Several ranks separate the two. The transfer begins when the last rank arrives, so it is the
// shortest duration among the ranks. The rest of each rank's duration is its wait.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "ddpsim/traces/import.hpp"

namespace ddpsim {

/// One of the inputs, imported by itself.
struct RankImport {
  std::string file;  ///< for messages
  Imported imported;
};

/// Joins recordings of the same step of one job. The lowest rank represents the job: its recording
/// becomes the top level of the workload. Throws InputError if the recordings cannot be from one
/// step of one job.
Imported join_ranks(std::vector<RankImport> ranks);

/// Options that import further ranks at the same step as `first`.
ImportOptions at_step_of(const Imported& first, ImportOptions options);

/// Imports each file, all at the step that `options` choose in the first.
std::vector<RankImport> import_each(std::span<const std::filesystem::path> paths,
                                    const ImportOptions& options);

/// Imports each file and joins them.
Imported import_ranks(std::span<const std::filesystem::path> paths, const ImportOptions& options);

}  // namespace ddpsim
