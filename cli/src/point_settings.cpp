#include "point_settings.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "parse_problem.hpp"
#include "usage_error.hpp"

namespace ddpsim {
namespace {

/// What --price says of each candidate; what is listed is not known before its cluster is.
std::vector<std::optional<Price>> stated_prices(const MoneyArguments& money,
                                                const std::vector<Candidate>& candidates) {
  const Cluster without_list;
  return prices(money, candidates, std::vector<const Cluster*>(candidates.size(), &without_list));
}

[[noreturn]] void fail(const SweepStudy& study, std::string where, const std::string& problem) {
  throw InputError({.file = study.file, .where = std::move(where), .message = problem, .hint = ""});
}

/// By axis and value.
using Problems = std::vector<std::vector<const std::string*>>;

void mark(Problems& problems, const SweepStudy& study, std::size_t combination,
          const std::string* problem) {
  for (std::size_t axis = study.axes.size(); axis-- > 0;) {
    const std::size_t values = study.axes[axis].values.size();
    problems[axis][combination % values] = problem;
    combination /= values;
  }
}

/// Of each value the problem of the first combination with it; null where some combination has none.
Problems problems_of_values(const SweepStudy& study, const std::vector<PointSettings>& settings) {
  Problems problems;
  for (const SweepAxis& axis : study.axes) problems.emplace_back(axis.values.size());
  for (std::size_t k = settings.size(); k-- > 0;)
    if (!settings[k].problem.empty()) mark(problems, study, k, &settings[k].problem);
  for (std::size_t k = 0; k < settings.size(); ++k)
    if (settings[k].problem.empty()) mark(problems, study, k, nullptr);
  return problems;
}

/// "--price" of "--price=list"
std::string name_of_word(const std::string& word) {
  return word.substr(0, word.find('='));
}

bool decides_buckets_or_money(const std::string& option) {
  static const std::set<std::string> names = [] {
    CLI::App money;
    MoneyArguments unused;
    add_money_options(money, unused);
    std::set<std::string> all = {"--bucket-cap-mb", "--first-bucket-mb", "--bucket-cap-mb-list"};
    for (const CLI::Option* one : money.get_options()) all.insert(one->get_name());
    return all;
  }();
  return names.contains(option);
}

/// Which of the limits of buckets are given is as much a part of a job as the buckets: what a recording says of them
/// depends on it.
std::vector<std::string> words_alike(const std::vector<std::string>& words) {
  std::vector<std::string> alike;
  for (const std::string& word : words) {
    const std::string name = name_of_word(word);
    alike.push_back(decides_buckets_or_money(name) ? name : word);
  }
  return alike;
}

}  // namespace

std::vector<PointSettings> settings_of(const SweepStudy& study, PointParser& parser) {
  std::vector<PointSettings> settings;
  settings.reserve(study.combinations());
  std::map<std::vector<std::string>, std::size_t> alike;
  for (std::size_t k = 0; k < study.combinations(); ++k) {
    const std::vector<std::string> words = study.words_of(k);
    settings.push_back(parser.parse(words, study.candidates));
    settings.back().alike = alike.emplace(words_alike(words), alike.size()).first->second;
  }
  const PointSettings alone = parser.parse(study.options, study.candidates);
  const bool none = std::ranges::none_of(settings, &std::string::empty, &PointSettings::problem);
  if (none && !alone.problem.empty()) fail(study, "/options", alone.problem);
  const Problems problems = problems_of_values(study, settings);
  for (std::size_t axis = 0; axis < problems.size(); ++axis)
    for (std::size_t value = 0; value < problems[axis].size(); ++value)
      if (const std::string* problem = problems[axis][value])
        fail(study, fmt::format("/grid/{}/{}", study.axes[axis].option, value), *problem);
  return settings;
}

PointParser::PointParser()
    : arguments_(std::make_unique<PointArguments>()),
      program_(std::make_unique<CLI::App>("", "ddpsim")),
      command_(program_->add_subcommand("compare")) {
  add_candidate_options(*command_, *arguments_);
  command_->add_flag("--no-tune", arguments_->no_tune);
  add_money_options(*command_, arguments_->money);
}
PointParser::~PointParser() = default;

PointSettings PointParser::parse(const std::vector<std::string>& options,
                                 const std::vector<Candidate>& candidates) {
  *arguments_ = {};
  std::vector<std::string> words = {command_->get_name(), "WORKLOAD"};
  words.insert(words.end(), options.begin(), options.end());
  PointSettings settings;
  try {
    program_->parse(std::vector<std::string>(words.rbegin(), words.rend()));
    settings.arguments = *arguments_;
    settings.typed = TypedLine(*command_);
    require_options(arguments_->job, *settings.typed);
    const MoneyArguments& money = arguments_->money;
    settings.owned = ownership(money);
    settings.failing = failures(money);
    settings.stated = stated_prices(money, candidates);
    if (!arguments_->measured_steps.empty())
      throw UsageError(
          "--measured-step: a sweep takes none; `ddpsim compare` carries one over to others");
  } catch (const CLI::ParseError& error) {
    std::vector<char*> given;
    for (std::size_t k = 2; k < words.size(); ++k) given.push_back(words[k].data());
    settings.problem = parse_problem(error, *command_, given, "ddpsim compare");
  } catch (const UsageError& error) {
    settings.problem = error.what();
  } catch (const InputError& error) {
    settings.problem = reason_of(error);
  }
  return settings;
}

std::string reason_of(const InputError& error) {
  const Diagnostic& diagnostic = error.diagnostic();
  return diagnostic.where.empty() ? diagnostic.message
                                  : fmt::format("{}: {}", diagnostic.where, diagnostic.message);
}

}  // namespace ddpsim
