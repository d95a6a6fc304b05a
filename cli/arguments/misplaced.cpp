#include "misplaced.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <string_view>
#include <vector>

#include "ddpsim/calibrate/logs/measured_log.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/quote.hpp"
#include "ddpsim/jobs/workload_source.hpp"
#include "ddpsim/topologies/cluster_source.hpp"
#include "typed_line.hpp"

namespace ddpsim {
namespace {

enum class Kind { workload, cluster, log };
constexpr std::array kKinds{Kind::workload, Kind::cluster, Kind::log};

std::string_view word_for(Kind kind) {
  return kind == Kind::workload ? "a workload" : kind == Kind::cluster ? "a cluster" : "a log";
}

std::optional<Kind> expected_by(const std::string& option) {
  if (option == "WORKLOAD" || option == "INPUT") return Kind::workload;
  if (option == "CLUSTER" || option == "--cluster") return Kind::cluster;
  if (option == "LOG") return Kind::log;
  return std::nullopt;
}

bool is_log(const std::string& text) {
  try {
    const LogArgument argument = parse_log_argument(text);
    return !read_measured_logs(argument.path, argument.stated).empty();
  } catch (const InputError&) {
    return false;
  }
}

bool is_a(Kind kind, const std::string& text) {
  if (kind == Kind::workload) return is_workload(text);
  return kind == Kind::cluster ? is_cluster(text) : is_log(text);
}

struct Misfit {
  std::string text;
  Kind expected;
  Kind is;
};

std::vector<Misfit> misfits_of(const CLI::App& command) {
  std::vector<Misfit> found;
  for (const CLI::Option* option : command.get_options()) {
    const std::optional<Kind> expected = expected_by(option->get_name());
    if (!expected || option->count() == 0) continue;
    for (const std::string& text : option->results()) {
      // All-reduces of a recorded training calibrate, too.
      if (is_a(*expected, text) || (*expected == Kind::log && is_workload(text))) continue;
      for (const Kind kind : kKinds) {
        if (kind == *expected || !is_a(kind, text)) continue;
        found.push_back({text, *expected, kind});
        break;
      }
    }
  }
  return found;
}

/// The line as typed, with these two words in each other's place.
std::string exchanged(std::span<char* const> line, const std::string& a, const std::string& b) {
  std::string text = "ddpsim";
  for (const std::string word : line.subspan(1))
    text += ' ' + shell_word(word == a ? b : word == b ? a : word);
  return text;
}

std::string remedy(const Misfit& misfit) {
  const std::string text = shell_word(misfit.text);
  if (misfit.is == Kind::cluster)
    return misfit.expected == Kind::log ? "Pass it with --cluster, and its logs as LOG"
                                        : fmt::format("ddpsim topo {} shows it", text);
  if (misfit.is == Kind::log)
    return fmt::format("ddpsim calibrate {} --cluster CLUSTER -o FILE reads it", text);
  return fmt::format("ddpsim tune {} CLUSTER takes both", text);
}

}  // namespace

std::optional<Misplaced> find_misplaced(const CLI::App& command, std::span<char* const> line,
                                        std::string_view complaint) {
  const std::vector<Misfit> misfits = misfits_of(command);
  for (const Misfit& a : misfits)
    for (const Misfit& b : misfits)
      if (a.expected == b.is && a.is == b.expected)
        return Misplaced{{fmt::format("{} is {} and {} {}; swap them", in_quotes(a.text),
                                      word_for(a.is), in_quotes(b.text), word_for(b.is)),
                          "Did you mean: " + exchanged(line, a.text, b.text)},
                         true};
  for (const Misfit& misfit : misfits)
    if (complaint.find(misfit.text) != complaint.npos)
      return Misplaced{{fmt::format("{} is {}, where {} is expected", in_quotes(misfit.text),
                                    word_for(misfit.is), word_for(misfit.expected)),
                        remedy(misfit)}};
  return std::nullopt;
}

}  // namespace ddpsim
