#include "point_settings.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <set>
#include <utility>

#include "ddpsim/formats/usage_error.hpp"
#include "parse_problem.hpp"
#include "scheme_arguments.hpp"

namespace ddpsim {
namespace {

/// Returns the price that --price states for each candidate. Listed prices are known only after a cluster was read.
std::vector<std::optional<Price>> stated_prices(const MoneyArguments& money,
                                                const std::vector<Candidate>& candidates) {
  const Cluster without_list;
  return prices(money, candidates, std::vector<const Cluster*>(candidates.size(), &without_list));
}

[[noreturn]] void fail(const SweepStudy& study, std::string where, const std::string& problem) {
  throw InputError({.file = study.file, .where = std::move(where), .message = problem, .hint = ""});
}

/// The problem of each axis and value.
using Problems = std::vector<std::vector<const std::string*>>;

void mark(Problems& problems, const SweepStudy& study, std::size_t combination,
          const std::string* problem) {
  for (std::size_t axis = study.axes.size(); axis-- > 0;) {
    const std::size_t values = study.axes[axis].values.size();
    problems[axis][combination % values] = problem;
    combination /= values;
  }
}

/// Returns, for each value, the problem of the first combination with it; null if some combination with it has no problem.
Problems problems_of_values(const SweepStudy& study, const std::vector<std::string>& combinations) {
  Problems problems;
  for (const SweepAxis& axis : study.axes) problems.emplace_back(axis.values.size());
  for (std::size_t k = combinations.size(); k-- > 0;)
    if (!combinations[k].empty()) mark(problems, study, k, &combinations[k]);
  for (std::size_t k = 0; k < combinations.size(); ++k)
    if (combinations[k].empty()) mark(problems, study, k, nullptr);
  return problems;
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
  return names.contains("--" + option);
}

/// Returns the first value of an axis with which jobs take the same step as with `values`, if any. Jobs also differ if one of them
/// states bucket limits and the other does not, because the meaning of a recording depends on that.
std::optional<std::size_t> first_alike(const SweepAxis& axis,
                                       const std::vector<std::string>& values) {
  const bool any_value = decides_buckets_or_money(axis.option);
  const auto found = std::ranges::find_if(axis.values, [&](const SweepAxis::Value& value) {
    return any_value ? value.values.empty() == values.empty() : value.values == values;
  });
  if (found == axis.values.end()) return std::nullopt;
  return static_cast<std::size_t>(found - axis.values.begin());
}

/// Returns the combination of the first such value of each axis.
std::optional<std::size_t> first_alike(const SweepStudy& study,
                                       const std::vector<std::vector<std::string>>& values) {
  std::size_t combination = 0;
  for (std::size_t k = 0; k < study.axes.size(); ++k) {
    const std::optional<std::size_t> value = first_alike(study.axes[k], values[k]);
    if (!value) return std::nullopt;
    combination = combination * study.axes[k].values.size() + *value;
  }
  return combination;
}

}  // namespace

StudySettings::StudySettings(const SweepStudy& study) : study_(study) {
  std::vector<std::string> problems;
  problems.reserve(study.combinations());
  for (std::size_t k = 0; k < study.combinations(); ++k)
    problems.push_back(parse(study.options_of(k)).problem);
  const PointSettings alone = parse(study.options);
  if (std::ranges::none_of(problems, &std::string::empty) && !alone.problem.empty())
    fail(study, "/options", alone.problem);
  const Problems of_values = problems_of_values(study, problems);
  for (std::size_t axis = 0; axis < of_values.size(); ++axis)
    for (std::size_t value = 0; value < of_values[axis].size(); ++value)
      if (const std::string* problem = of_values[axis][value])
        fail(study, fmt::format("/grid/{}/{}", study.axes[axis].option, value), *problem);
  if (!study.measured_with) return;
  std::vector<StudyOption> options = study.options;
  for (std::size_t k = 0; k < study.axes.size(); ++k)
    options.push_back(study.axes[k].given((*study.measured_with)[k]));
  measured_ = parse(options);
  measured_->alike = first_alike(study, *study.measured_with);
  if (!measured_->problem.empty()) fail(study, "/measured_with", measured_->problem);
}

PointSettings StudySettings::parse(const std::vector<StudyOption>& options) const {
  const std::lock_guard lock(mutex_);
  return parser_.parse(options, study_.candidates);
}

PointSettings StudySettings::of(std::size_t combination) const {
  PointSettings settings = parse(study_.options_of(combination));
  std::vector<std::vector<std::string>> values;
  for (const SweepAxis::Value* value : study_.values_of(combination))
    values.push_back(value->values);
  settings.alike = first_alike(study_, values);
  return settings;
}

PointParser::PointParser()
    : arguments_(std::make_unique<PointArguments>()),
      program_(std::make_unique<CLI::App>("", "ddpsim")),
      command_(program_->add_subcommand("compare")) {
  add_candidate_options(*command_, *arguments_);
  command_->add_flag("--no-tune", arguments_->no_tune);
  add_money_options(*command_, arguments_->money);
  // Otherwise CLI11 takes a value in brackets for several values.
  for (CLI::Option* option : command_->get_options({})) option->allow_extra_args(false);
}
PointParser::~PointParser() = default;

PointSettings PointParser::parse(const std::vector<StudyOption>& options,
                                 const std::vector<Candidate>& candidates) {
  *arguments_ = {};
  program_->clear();
  PointSettings settings;
  try {
    give_options(*command_, options);
    // CLI11 takes the last word first.
    program_->parse(std::vector<std::string>{"WORKLOAD", command_->get_name()});
    if (std::ranges::any_of(candidates, [](const Candidate& one) { return one.price.has_value(); }))
      list_other_prices(arguments_->money);
    settings.arguments = *arguments_;
    const JobArguments& job = arguments_->job;
    settings.request.workload = {.source = "", .model = job.model, .timing = job.timing};
    settings.request.cluster = cluster_request(job.cluster);
    if (arguments_->schemes.size() > 1)
      throw UsageError("--scheme", "a point of a sweep has one scheme; put several into the grid");
    for (const std::string& scheme : arguments_->schemes) parse_scheme(scheme);
    settings.request = job_request(job, TypedLine(*command_));
    const MoneyArguments& money = arguments_->money;
    require_sound_money(money, candidates);
    for (const Candidate& candidate : candidates) {
      settings.owned.push_back(ownership(money, candidate));
      settings.failing.push_back(failures(money, &candidate));
    }
    settings.stated = stated_prices(money, candidates);
  } catch (const CLI::ParseError& error) {
    settings.problem = to_string(parse_problem(error, *command_, {}, "ddpsim compare"));
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
