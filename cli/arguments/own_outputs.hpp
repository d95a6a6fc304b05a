// Nothing of the user's is lost: an output is no file that the program reads, and no other output of the same run.
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

/// Throws UsageError, which names both, where an output is a file read so far, another output, or the file that standard output
/// or standard error goes to. Device and inode decide, so links and other spellings are the same file. Devices and pipes may be
/// shared. To be called before the first output is opened.
void require_own_outputs(const std::vector<NamedOutput>& outputs);

/// The same for a parsed command line, before anything is read: whatever else it names counts as read. Outputs are the options
/// under the heading Output that take a FILE.
void require_own_outputs(const CLI::App& command);

/// Opens /dev/null for each of the descriptors 0 to 2 that is closed: else a file opened later would take its number, and what is
/// printed would go into that file. The first thing a program does.
void fill_standard_descriptors();

}  // namespace ddpsim
