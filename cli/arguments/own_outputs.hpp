// Protects files of the user: an output must be neither an input nor another output of the same run.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace ddpsim {

struct NamedOutput {
  std::string option;  ///< "--csv"
  std::string file;    ///< as typed
};

/// Throws UsageError, which names both files, if an output is a file read so far, another output, or the file that standard output
/// or standard error goes to. Files are compared by device and inode, so links and other spellings count as the same file. Devices
/// and pipes may be shared. Call it before the first output is opened.
void require_own_outputs(const std::vector<NamedOutput>& outputs);

/// Does the same for a parsed command line before anything is read. Options under the heading Output that take a FILE are outputs,
/// and everything else on the line counts as read.
void require_own_outputs(const CLI::App& command);

/// Opens /dev/null for each of the descriptors 0 to 2 that is closed. Otherwise a file opened later would take its number, and
/// printed text would go into that file. Call it first in main().
void fill_standard_descriptors();

}  // namespace ddpsim
