// The command line of one command, to build the next command from.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace ddpsim {

/// Quotes a word for a shell if necessary.
std::string shell_word(const std::string& word);

/// The arguments and options of a parsed command, with values spelled as typed. Options that only concern output (kOutputGroup) are
/// left out.
class TypedLine {
 public:
  explicit TypedLine(const CLI::App& command);

  /// Sets the value of an argument ("WORKLOAD") or option ("--torch") in the next command, or removes it if absent.
  void set(const std::string& name, const std::optional<std::string>& value);
  void drop(const std::string& name) { set(name, std::nullopt); }

  /// Returns the first typed option under a heading of `--help`.
  std::optional<std::string> first_of(const std::string& heading) const;

  /// An argument or option with its values as typed. A flag has no value.
  struct Given {
    std::string name;
    std::vector<std::string> values;
  };
  /// Returns what was typed and exists in all of `commands`.
  std::vector<Given> given(const std::vector<std::string>& commands) const;

  /// Returns "ddpsim NEXT …" with its options in the order of `--help`, without those it does not have. A flag appears once,
  /// any other option as often as typed. Arguments that begin with a dash come after "--", so that they are not read as options.
  std::string for_command(const std::string& next) const;

 private:
  struct Part {
    std::string name;
    std::string heading;  ///< empty if set by set()
    std::string text;     ///< name and values, quoted
    std::vector<std::string> values = {};
  };
  const CLI::App* program_;
  std::vector<Part> parts_;
};

}  // namespace ddpsim
