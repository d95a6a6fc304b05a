#include "point_settings.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
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

}  // namespace

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

void PointParser::require_sensible(const SweepStudy& study) {
  const auto require = [&](const std::vector<std::string>& words, std::string where) {
    if (std::string problem = parse(words, study.candidates).problem; !problem.empty())
      throw InputError({.file = study.file,
                        .where = std::move(where),
                        .message = std::move(problem),
                        .hint = ""});
  };
  require(study.options, "/options");
  for (const SweepAxis& axis : study.axes)
    for (std::size_t k = 0; k < axis.values.size(); ++k) {
      std::vector<std::string> words = study.options;
      const std::vector<std::string>& own = axis.values[k].words;
      words.insert(words.end(), own.begin(), own.end());
      require(words, fmt::format("/grid/{}/{}", axis.option, k));
    }
}

std::string reason_of(const InputError& error) {
  const Diagnostic& diagnostic = error.diagnostic();
  return diagnostic.where.empty() ? diagnostic.message
                                  : fmt::format("{}: {}", diagnostic.where, diagnostic.message);
}

}  // namespace ddpsim
