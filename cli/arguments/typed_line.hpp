// What was typed for one command, offered again for the next.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace ddpsim {

/// One word for a shell: in quotes where it needs them.
std::string shell_word(const std::string& word);

/// The arguments and options a command was parsed with, values spelled as typed; none of those that
/// only concern output (kOutputGroup).
class TypedLine {
 public:
  explicit TypedLine(const CLI::App& command);

  /// Whatever was typed, the next command has this value of `name`, absent: none. "WORKLOAD" for an
  /// argument, "--torch" for an option.
  void set(const std::string& name, const std::optional<std::string>& value);
  void drop(const std::string& name) { set(name, std::nullopt); }

  /// Of those under a heading of `--help`, the first that was typed.
  std::optional<std::string> first_of(const std::string& heading) const;

  /// Name and values, as typed, of what each of `commands` offers; a flag has no value.
  struct Given {
    std::string name;
    std::vector<std::string> values;
  };
  std::vector<Given> given(const std::vector<std::string>& commands) const;

  /// "ddpsim NEXT …", in the order of its `--help`; what it does not offer is left out. Flags stand
  /// once, however often they were typed, every other option as often as it was. Arguments that begin with a dash stand behind
  /// "--", so that a shell gives the command the same words again.
  std::string for_command(const std::string& next) const;

 private:
  struct Part {
    std::string name;
    std::string heading;  ///< empty: it was set, not typed
    std::string text;     ///< name and values, for a shell
    std::vector<std::string> values = {};
  };
  const CLI::App* program_;
  std::vector<Part> parts_;
};

}  // namespace ddpsim
