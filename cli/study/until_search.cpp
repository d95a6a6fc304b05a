#include "until_search.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/usage_error.hpp"
#include "ddpsim/sim/engine/parallel.hpp"

namespace ddpsim {
namespace {

/// A condition on one or two candidates, for one workload or for the mix.
struct Question {
  const Condition* condition;
  Asked asked;
  std::size_t workload = 0;
};

class UntilSearch {
 public:
  UntilSearch(const SearchedRange& range, const CompareArguments& arguments,
              const JobRequest& request, const std::vector<ReadWorkload>& workloads,
              const std::vector<CandidateRequest>& clusters)
      : range_(range),
        arguments_(arguments),
        request_(request),
        workloads_(workloads),
        clusters_(clusters),
        named_(candidates(clusters, arguments.schemes)) {}

  std::vector<Question> questions(const std::vector<Condition>& conditions) const {
    std::vector<Question> all;
    for (const Condition& condition : conditions) {
      const std::size_t of_each = condition.asks_mix() ? 1 : workloads_.size();
      for (const Asked& asked : asked_by(condition))
        for (std::size_t k = 0; k < of_each; ++k) all.push_back({&condition, asked, k});
    }
    return all;
  }

  Until answer(const Question& question) const {
    const std::vector<std::size_t> needed = needed_by(question);
    std::string problem;
    const auto ask = [&](std::span<const std::size_t> places) {
      std::vector<std::optional<Holds>> answers(places.size());
      std::vector<std::string> problems(places.size());
      for_each_index(places.size(), threads_for(arguments_.threads), 1, [&](std::size_t k) {
        answers[k] = at(places[k], question, needed, problems[k]);
      });
      for (const std::string& one : problems)
        if (problem.empty()) problem = one;
      return answers;
    };
    const std::vector<std::size_t> first = range_.first_places();
    const auto found = search_tipping_point(first, ask);
    const Condition& condition = *question.condition;
    if (!found)
      throw UsageError(fmt::format("--until {}", condition.text),
                       fmt::format("no value of {} has an answer{}", range_.text,
                                   problem.empty() ? "" : ": " + problem));
    const std::string word = word_of(question);
    const bool names_candidate = !condition.order && candidates_asked(condition) > 1;
    const bool names_workload = workloads_.size() > 1 && !condition.asks_mix();
    return {.condition = condition.text,
            .range = range_.text,
            .candidate = names_candidate ? named_[question.asked.candidate].label : "",
            .workload = names_workload ? workloads_[question.workload].weighed.text : "",
            .last = name_of(range_.places() - 1, word),
            .predicted = named(found->point.predicted, word),
            .possible = named(found->point.possible, word),
            .certain = named(found->point.certain, word),
            .asked = found->asked,
            .without_answer = found->without_answer};
  }

 private:
  /// Returns the candidates of a condition. A figure is asked of every candidate with the range, or of all if the range is in an option.
  std::vector<Asked> asked_by(const Condition& condition) const {
    if (condition.order) {
      const auto ahead = called(condition.order->ahead, named_, condition.text);
      const auto behind = called(condition.order->behind, named_, condition.text);
      if (ahead.size() != 1 || behind.size() != 1)
        throw UsageError(
            fmt::format("--until {}", condition.text),
            fmt::format("{} is searched, so each name must mean one candidate", range_.text));
      return {{ahead.front(), behind.front()}};
    }
    const bool of_candidates = std::ranges::any_of(
        named_, [&](const Candidate& one) { return range_.stands_in(one.cluster); });
    std::vector<Asked> all;
    for (std::size_t i = 0; i < named_.size(); ++i)
      if (!of_candidates || range_.stands_in(named_[i].cluster)) all.push_back({i, std::nullopt});
    return all;
  }
  std::size_t candidates_asked(const Condition& condition) const {
    return asked_by(condition).size();
  }

  /// Returns the candidates that an answer needs. A mix needs the first one, whose time defines the shares. Candidates with a measured
  /// step may correct others.
  std::vector<std::size_t> needed_by(const Question& question) const {
    std::set<std::size_t> needed = {question.asked.candidate};
    if (question.asked.other) needed.insert(*question.asked.other);
    if (workloads_.size() > 1) needed.insert(0);
    for (std::size_t i = 0; i < named_.size(); ++i) {
      if (named_[i].measured_step) needed.insert(i);
      for (const std::string& text : arguments_.measured_steps)
        for (const ReadWorkload& workload : workloads_) {
          const std::string of = workloads_.size() > 1 ? workload.weighed.text : "";
          if (MeasuredTexts::step_of(text, of, named_[i])) needed.insert(i);
        }
    }
    return {needed.begin(), needed.end()};
  }

  std::optional<Holds> at(std::size_t place, const Question& question,
                          const std::vector<std::size_t>& needed, std::string& problem) const {
    const std::string value = range_.value(place);
    CompareArguments own = arguments_;
    own.threads = 1;
    if (question.condition->order) {  // how much is trained moves no order
      own.samples = {};
      own.steps = {};
    }
    own.compute_scales = range_.put_into(own.compute_scales, value);
    own.money.prices = range_.put_into(own.money.prices, value);
    try {
      const std::vector<Candidate> there =
          candidates(range_.put_into(clusters_, value, value), arguments_.schemes);
      std::vector<Candidate> some;
      Asked asked = question.asked;
      for (const std::size_t i : needed) {
        if (i == question.asked.candidate) asked.candidate = some.size();
        if (i == question.asked.other) asked.other = some.size();
        some.push_back(there[i]);
        some.back().label = named_[i].label;
      }
      // Prices of other candidates are left out. They would name no candidate of this comparison.
      std::erase_if(own.money.prices, [&](const std::string& text) {
        const std::string name = text.substr(0, text.rfind('='));
        return text != "list" && std::ranges::none_of(some, [&](const Candidate& one) {
                 return one.is_called(name);
               });
      });
      if (own.money.prices.empty() && !arguments_.money.prices.empty()) own.money.prices = {"list"};
      GpuSettings gpus(own.compute_scales, own.gpus, workloads_.size() > 1);
      MeasuredTexts measured{own.measured_steps, std::vector<bool>(own.measured_steps.size())};
      const CompareOutcome outcome(own, request_, workloads_, some, gpus, measured, {});
      const auto found = holds(*question.condition, outcome, question.workload, asked);
      if (!found) problem = "not known";
      return found;
    } catch (const InputError& error) {
      problem = error.diagnostic().message;
    } catch (const UsageError& error) {
      problem = error.what();
    }
    return std::nullopt;
  }

  /// Returns the word with the range: a cluster of the question, or else the value of an option.
  std::string word_of(const Question& question) const {
    std::vector<std::string> texts = {named_[question.asked.candidate].cluster};
    if (question.asked.other) texts.push_back(named_[*question.asked.other].cluster);
    for (const auto* more : {&arguments_.compute_scales, &arguments_.money.prices})
      texts.insert(texts.end(), more->begin(), more->end());
    for (const CandidateRequest& request : clusters_) {
      if (request.price) texts.push_back(*request.price);
      texts.push_back(request.cluster);
    }
    for (const std::string& text : texts) {
      const std::size_t at = text.find(range_.text);
      if (at == text.npos) continue;
      const std::size_t blank = text.rfind(' ', at);
      const std::size_t from = blank == text.npos ? 0 : blank + 1;
      return text.substr(from, text.find(' ', at) - from);
    }
    return range_.text;
  }
  std::string name_of(std::size_t place, const std::string& word) const {
    return range_.put_into(word, range_.value(place));
  }
  std::vector<NamedInterval> named(const std::vector<PlaceInterval>& intervals,
                                   const std::string& word) const {
    std::vector<NamedInterval> all;
    for (const PlaceInterval& interval : intervals)
      all.push_back({.from = name_of(interval.from, word),
                     .to = name_of(interval.to, word),
                     .from_value = range_.number(interval.from),
                     .to_value = range_.number(interval.to),
                     .from_first = interval.from == 0,
                     .to_last = interval.to + 1 == range_.places()});
    return all;
  }

  const SearchedRange& range_;
  const CompareArguments& arguments_;
  const JobRequest& request_;
  const std::vector<ReadWorkload>& workloads_;
  const std::vector<CandidateRequest>& clusters_;
  std::vector<Candidate> named_;
};

}  // namespace

std::vector<Until> until_searched(const std::vector<Condition>& conditions,
                                  const SearchedRange& range, const CompareArguments& arguments,
                                  const JobRequest& request,
                                  const std::vector<ReadWorkload>& workloads,
                                  const std::vector<CandidateRequest>& clusters) {
  const UntilSearch search(range, arguments, request, workloads, clusters);
  std::vector<Until> all;
  for (const Question& question : search.questions(conditions))
    all.push_back(search.answer(question));
  return all;
}

}  // namespace ddpsim
