// The headings of `--help`, alike in every command. What stands under none is the command's own.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace ddpsim {

inline constexpr const char* kDdpGroup = "DDP";
inline constexpr const char* kNcclGroup = "NCCL";
inline constexpr const char* kClusterGroup = "Cluster";
inline constexpr const char* kRecordingGroup = "Recording";
inline constexpr const char* kMemoryGroup = "Memory";
inline constexpr const char* kMoneyGroup = "Money";
inline constexpr const char* kFailuresGroup = "Failures";
inline constexpr const char* kVariationGroup = "Variation";
/// What is printed and written, and by how many threads: nothing that an answer depends on.
inline constexpr const char* kOutputGroup = "Output";

/// Those that `--help` shows, heading by heading as there; hidden ones and arguments are not among them.
inline std::vector<const CLI::Option*> options_by_heading(const CLI::App& command) {
  std::vector<const CLI::Option*> options;
  for (const std::string& heading : command.get_groups()) {
    if (heading.empty()) continue;
    for (const CLI::Option* option : command.get_options([&](const CLI::Option* one) {
           return !one->get_positional() && one->get_group() == heading;
         }))
      options.push_back(option);
  }
  return options;
}

/// Options added to `command` while this lives stand under `heading`.
class HelpGroup {
 public:
  HelpGroup(CLI::App& command, const char* heading)
      : command_(command), before_(command.option_defaults()->get_group()) {
    command_.option_defaults()->group(heading);
  }
  ~HelpGroup() { command_.option_defaults()->group(before_); }
  HelpGroup(const HelpGroup&) = delete;
  HelpGroup& operator=(const HelpGroup&) = delete;

 private:
  CLI::App& command_;
  std::string before_;
};

}  // namespace ddpsim
