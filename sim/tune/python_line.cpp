// Settings as a line of Python or shell, to paste.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "setting.hpp"

namespace ddpsim {
namespace {

/// `text` with every `what` replaced by `by`.
std::string replaced(std::string text, std::string_view what, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
  return text;
}

/// Sets an NCCL variable in a shell line, or in Python if the line has other Python code. A
/// variable without a value is unset.
std::string variable_of(const Setting& setting, bool in_python) {
  const std::size_t equals = setting.before.find('=');
  if (equals == std::string::npos)
    return in_python ? fmt::format("os.environ.pop(\"{}\", None)", setting.before)
                     : "unset " + setting.before;
  if (!in_python) return "export " + setting.before;
  return fmt::format("os.environ[\"{}\"] = \"{}\"", setting.before.substr(0, equals),
                     setting.before.substr(equals + 1));
}

/// DeepSpeed's configuration and Megatron-LM's options are not Python.
bool is_python(const Setting& setting) {
  return !setting.nccl_variable && !setting.call.starts_with('{') &&
         !setting.argument.starts_with("--");
}

class PythonLine {
 public:
  explicit PythonLine(const std::vector<Setting>& settings)
      : settings_(settings), in_python_(std::ranges::any_of(settings, is_python)) {}

  std::string text() {
    imports();
    for (const Setting& setting : settings_)
      if (setting.nccl_variable)
        add(variable_of(setting, in_python_));
      else
        add(setting.before);
    call();
    // Anything after a comment would belong to it, so comments come last.
    for (const bool comments : {false, true})
      for (const Setting& setting : settings_)
        if (setting.after.starts_with('#') == comments) add(setting.after);
    return fmt::format("{}", fmt::join(statements_, "; "));
  }

 private:
  void add(const std::string& statement) {
    if (!statement.empty()) statements_.push_back(statement);
  }
  void imports() {
    std::vector<std::string> needed;
    if (in_python_ && std::ranges::any_of(settings_, &Setting::nccl_variable))
      needed.emplace_back("import os");
    for (const Setting& setting : settings_)
      needed.insert(needed.end(), setting.imports.begin(), setting.imports.end());
    for (const std::string& import : needed)
      if (std::ranges::find(statements_, import) == statements_.end()) add(import);
  }
  void call() {
    std::vector<std::string> arguments;
    std::string call;
    std::string mesh;
    for (const Setting& setting : settings_) {
      if (!setting.call.empty() && (call.empty() || setting.argument.empty())) call = setting.call;
      if (!setting.argument.empty()) arguments.push_back(setting.argument);
      if (setting.argument.starts_with("mesh=")) mesh = ", " + setting.argument;
    }
    if (!call.empty()) {
      if (arguments.empty()) call = replaced(call, ", {}", "");
      if (!mesh.empty()) call = replaced(call, kOwnMesh, "");
      call = replaced(call, "{mesh}", mesh);
      add(replaced(call, "{}", fmt::format("{}", fmt::join(arguments, ", "))));
    } else if (!arguments.empty()) {
      const bool goes_on = std::ranges::any_of(settings_, [](const Setting& setting) {
        return setting.after.find("model") != std::string::npos;
      });
      add(fmt::format("{}DistributedDataParallel(model, {})", goes_on ? "model = " : "",
                      fmt::join(arguments, ", ")));
    }
  }

  const std::vector<Setting>& settings_;
  bool in_python_;
  std::vector<std::string> statements_;
};

}  // namespace

std::string python_of(const std::vector<Setting>& settings) {
  return PythonLine(settings).text();
}

}  // namespace ddpsim
