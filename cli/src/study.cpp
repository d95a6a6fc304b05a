#include "study.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>

#include "ddpsim/formats/decoder.hpp"
#include "ddpsim/formats/files.hpp"
#include "ddpsim/formats/suggest.hpp"

namespace ddpsim {
namespace {

constexpr const char* kStudy = "--study";
constexpr std::string_view kDashes = "--";

bool is_repeatable(const CLI::Option& option) {
  return option.get_expected_max() > 1;
}

bool is_typed(const std::string& option, std::span<const std::string> typed) {
  return std::ranges::any_of(typed, [&](const std::string& word) {
    return word == option || word.starts_with(option + '=');
  });
}

/// What `options` holds, but for what was typed.
std::vector<std::string> words_of_options(const CLI::App& command, const Cursor& options,
                                          std::span<const std::string> typed) {
  std::vector<std::string> words;
  for (const auto& [key, value] : options.free_object().items()) {
    std::vector<std::string> own = words_of_known_option(command, key, value);
    const std::string option = "--" + key;
    if (is_typed(option, typed) && !is_repeatable(*command.get_option(option))) continue;
    for (std::string& word : own) words.push_back(std::move(word));
  }
  return words;
}

}  // namespace

std::vector<std::string> words_of_option(const std::string& option, const Cursor& value) {
  if (value.is_array()) {
    std::vector<std::string> words;
    for (const Cursor& item : value.array())
      for (std::string& word : words_of_option(option, item)) words.push_back(std::move(word));
    return words;
  }
  constexpr double kAny = 1e300;
  if (value.is_string()) return {option + '=' + value.string()};
  if (value.is_number()) return {fmt::format("{}={}", option, value.number(-kAny, kAny))};
  return value.boolean() ? std::vector{option} : std::vector<std::string>();
}

void require_known_option(const CLI::App& command, const std::string& key, const Cursor& value) {
  if (key.starts_with(kDashes))
    value.fail("options are keys without dashes here",
               fmt::format("Write \"{}\"", key.substr(kDashes.size())));
  std::vector<std::string> names;
  for (const CLI::Option* one : command.get_options())
    if (const std::string& name = one->get_name(); name.starts_with(kDashes) && name != kStudy)
      names.push_back(name.substr(kDashes.size()));
  if (std::ranges::find(names, key) == names.end())
    value.fail(
        fmt::format("`ddpsim {}` has no option --{}", command.get_name(), key),
        did_you_mean(key, names, fmt::format("`ddpsim {} --help` lists them", command.get_name())));
}

std::vector<std::string> words_of_known_option(const CLI::App& command, const std::string& key,
                                               const Cursor& value) {
  require_known_option(command, key, value);
  const std::string option = "--" + key;
  // A flag takes no value: "true" is said by its name alone.
  const bool flag = command.get_option(option)->get_items_expected_max() == 0;
  if (flag && !value.is_null() && (value.is_string() || value.is_number() || value.is_array()))
    value.fail(fmt::format("{} takes no value", option), "Write true or false");
  return words_of_option(option, value);
}

std::vector<StudyWorkload> study_workloads(const Cursor& several) {
  std::vector<StudyWorkload> workloads;
  for (const Cursor& one : several.array()) {
    if (one.is_string()) {
      workloads.push_back({one.string()});
      continue;
    }
    const Object fields = one.object({"workload", "share"});
    const auto share = fields.optional("share");
    constexpr double kMost = 1e9;
    workloads.push_back({fields.required("workload").string(),
                         !share               ? ""
                         : share->is_number() ? fmt::format("{}", share->number(0, kMost))
                                              : share->string()});
  }
  if (workloads.empty()) several.fail("is empty", "Name at least one workload");
  return workloads;
}

void add_candidate(const Cursor& cursor, std::vector<std::string>& clusters,
                   std::vector<std::string>& options) {
  if (cursor.is_string()) {
    clusters.push_back(cursor.string());
    return;
  }
  const Object fields = cursor.object({"label", "cluster", "price", "measured_step"});
  const auto label = fields.optional("label");
  const auto price = fields.optional("price");
  const auto step = fields.optional("measured_step");
  const std::string cluster = fields.required("cluster").string();
  const std::string name = label ? label->string() : cluster;
  clusters.push_back(label ? fmt::format("{}={}", name, cluster) : cluster);
  if (price) options.push_back(fmt::format("--price={}={}", name, price->string()));
  if (step) options.push_back(fmt::format("--measured-step={}={}", name, step->string()));
}

void add_study_option(CLI::App& command) {
  command
      .add_option(kStudy,
                  "workload, candidates and options of a file (ddpsim.study/1); what is "
                  "typed beside it comes first")
      ->type_name("FILE");
}

std::vector<std::string> words_of_study(const CLI::App& command, std::string_view text,
                                        const std::string& file,
                                        std::span<const std::string> typed) {
  const Document document = Document::parse(text, file);
  const Object root = document.root().object({"schema", "about", "workload", "candidates",
                                              "options", "workloads", "grid", "measured_with"});
  for (const char* key : {"grid", "measured_with"})
    if (const auto several = root.optional(key))
      several->fail(fmt::format("is of a sweep, `ddpsim {}` takes none", command.get_name()),
                    "Run `ddpsim sweep` with this file, or leave it out");
  if (const auto schema = root.optional("schema")) schema->choice({"ddpsim.study/1"});
  if (const auto about = root.optional("about")) about->string();
  std::vector<std::string> options;
  if (const auto given = root.optional("options"))
    options = words_of_options(command, *given, typed);
  std::vector<std::string> clusters;
  if (const auto given = root.optional("candidates"))
    for (const Cursor& candidate : given->array()) add_candidate(candidate, clusters, options);
  root.required("schema");
  std::vector<std::string> words;
  const auto workload = root.optional("workload");
  if (workload) words.push_back(workload->string());
  if (const auto several = root.optional("workloads")) {
    if (workload) several->fail("stands beside /workload", "Give one of the two");
    for (const StudyWorkload& one : study_workloads(*several))
      options.push_back("--workload=" + one.workload + (one.share.empty() ? "" : '=' + one.share));
  }
  words.insert(words.end(), clusters.begin(), clusters.end());
  words.insert(words.end(), options.begin(), options.end());
  return words;
}

std::vector<std::string> with_study(const CLI::App& command, std::span<const std::string> words) {
  std::vector<std::string> typed;
  std::optional<std::string> file;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string equals = std::string(kStudy) + '=';
    if (words[i] == kStudy && i + 1 < words.size())
      file = words[++i];
    else if (words[i].starts_with(equals))
      file = words[i].substr(equals.size());
    else
      typed.push_back(words[i]);
  }
  if (!file) return typed;
  std::vector<std::string> all =
      words_of_study(command, read_file(*file, kMostBytesOfAStudy), *file, typed);
  all.insert(all.end(), typed.begin(), typed.end());
  return all;
}

}  // namespace ddpsim
