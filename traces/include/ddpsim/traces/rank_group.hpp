// Traces of several ranks of one job -> one workload, and what only the ranks together can tell.
//
// On one rank a collective's duration holds the wait for the last rank and the transfer. Seen on all
// ranks it comes apart: the transfer begins when the last of them is there, so it is the shortest
// duration among the ranks, and what a rank has beyond it is its wait.
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

/// Joins recordings of the same step of one job. The lowest rank represents the job: its recording is
/// the top level of the workload. Throws InputError where they cannot be of one step of one job.
Imported join_ranks(std::vector<RankImport> ranks);

/// What imports further ranks of a job at the step that its first was imported at.
ImportOptions at_step_of(const Imported& first, ImportOptions options);

/// Imports each file, all at the step that `options` choose in the first.
std::vector<RankImport> import_each(std::span<const std::filesystem::path> paths,
                                    const ImportOptions& options);

/// The same, and joins them.
Imported import_ranks(std::span<const std::filesystem::path> paths, const ImportOptions& options);

}  // namespace ddpsim
