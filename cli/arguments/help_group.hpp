// The headings of `--help`, the same in every command, and the options that most people need. Options under no heading are specific to
// one command.
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
/// Options that decide what is printed and written, and by how many threads. No answer depends on them.
inline constexpr const char* kOutputGroup = "Output";

/// Marks an option that most people need: `--help` shows it even if not all options fit. The mark is CLI11's `configurable`, which
/// is about configuration files. ddpsim has none, and CLI11 sets the same value for `--help`.
inline CLI::Option* common(CLI::Option* option) {
  return option->configurable(false);
}
/// Takes the mark away, in a command that has more important options.
inline void uncommon(CLI::Option* option) {
  option->configurable(true);
}
inline bool is_common(const CLI::Option& option) {
  return !option.get_configurable();
}

/// Returns the heading of an option. CLI11's versions spell the heading of options without one differently.
inline std::string heading_of(const CLI::Option& option) {
  return option.get_group() == "OPTIONS" ? "Options" : option.get_group();
}

/// Returns the options that `--help-all` shows, in its order: heading by heading, without hidden options and arguments.
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

/// Puts every option under `heading` that is added to `command` while this object lives.
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
