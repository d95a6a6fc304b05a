#include "own_outputs.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <optional>

#include "ddpsim/formats/file_identity.hpp"
#include "ddpsim/formats/output_file.hpp"
#include "ddpsim/formats/quote.hpp"
#include "ddpsim/formats/usage_error.hpp"
#include "help_group.hpp"

namespace ddpsim {
namespace {

/// An output file with its device and inode.
struct KnownOutput {
  FileIdentity file;
  std::string words;  ///< "--csv out.csv"
  /// Whether this is standard output or standard error, which may share a file.
  bool standard;
};

/// Returns nothing for a device, a pipe or the name of a descriptor.
std::optional<FileIdentity> identity_of_output(const std::string& file) {
  if (file == "-" || descriptor_named(file) >= 0) return std::nullopt;
  return identity_of(std::filesystem::path(file));
}

std::vector<KnownOutput> known_outputs(const std::vector<NamedOutput>& outputs) {
  std::vector<KnownOutput> known;
  if (const auto file = identity_of(STDOUT_FILENO))
    known.push_back({*file, "standard output", true});
  if (const auto file = identity_of(STDERR_FILENO))
    known.push_back({*file, "standard error", true});
  for (const NamedOutput& output : outputs)
    if (const auto file = identity_of_output(output.file))
      known.push_back({*file, fmt::format("{} {}", output.option, legible(output.file)), false});
  return known;
}

bool is_output_file(const CLI::Option& option) {
  return option.get_group() == kOutputGroup && option.get_type_name() == "FILE";
}

}  // namespace

void require_own_outputs(const std::vector<NamedOutput>& outputs) {
  const std::vector<KnownOutput> known = known_outputs(outputs);
  for (const KnownOutput& output : known)
    if (const auto input = input_named(output.file))
      throw UsageError(output.words,
                       fmt::format("this is the input {}, which would be lost", legible(*input)),
                       "Name another file");
  for (std::size_t later = 0; later < known.size(); ++later)
    for (std::size_t earlier = 0; earlier < later; ++earlier)
      if (known[later].file == known[earlier].file && !known[later].standard)
        throw UsageError(
            "",
            fmt::format("{} and {} are the same file", known[earlier].words, known[later].words),
            "Name a file for each");
}

void require_own_outputs(const CLI::App& command) {
  std::vector<NamedOutput> outputs;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& value : option->results()) {
      if (is_output_file(*option))
        outputs.push_back({option->get_name(), value});
      else
        note_input(value);
    }
  }
  require_own_outputs(outputs);
}

void fill_standard_descriptors() {
  for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; ++descriptor)
    if (::fcntl(descriptor, F_GETFD) == -1 && errno == EBADF)
      // open() takes the lowest free number.
      if (::open("/dev/null", O_RDWR) < 0) return;
}

}  // namespace ddpsim
