#include "elastic_arguments.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <tuple>
#include <utility>

#include "ddpsim/formats/number.hpp"
#include "ddpsim/formats/quote.hpp"
#include "ddpsim/formats/usage_error.hpp"
#include "ddpsim/jobs/build_job.hpp"
#include "ddpsim/sim/simulate/simulate.hpp"
#include "help_group.hpp"
#include "long_time.hpp"
#include "money_arguments.hpp"
#include "option_keys.hpp"
#include "terminal_progress.hpp"

namespace ddpsim {
namespace {

constexpr int kMostSizes = 64;
/// Longest wait, since waits are added to the length of a run.
constexpr double kMostSeconds = 10 * kSecondsOfYear;
constexpr double kMostRunSeconds = 100 * kSecondsOfYear;
/// Shortest value of a time that must not be zero.
constexpr double kLeastSeconds = 1e-3;

[[noreturn]] void refuse(std::string_view message) {
  throw UsageError("--elastic", std::string(message));
}

OptionKey time_key(const std::string& name, std::function<void(RunTime)> into, bool positive,
                   double most) {
  return {
      name, [into = std::move(into), positive, most](const std::string& value) {
        const double seconds = parse_long_time(value).value_or(-1);
        if (!(seconds >= (positive ? kLeastSeconds : 0) && seconds <= most))
          throw WrongValue(fmt::format(
              "expected a time from {} to {:.0f} years and its unit ({}), such as 30s, not {}",
              positive ? "1ms" : "0s", most / kSecondsOfYear, kLongTimeUnits, in_quotes(value)));
        into(RunTime(std::llround(seconds * 1e9)));
      }};
}
OptionKey time_key(const std::string& name, RunTime& into, bool positive = false) {
  return time_key(
      name, [&into](RunTime time) { into = time; }, positive, kMostSeconds);
}
OptionKey time_key(const std::string& name, std::optional<RunTime>& into) {
  return time_key(
      name, [&into](RunTime time) { into = time; }, true, kMostRunSeconds);
}

OptionKey int_key(const std::string& name, int& into, int least, int most) {
  return count_key(
      name, [&into](std::int64_t count) { into = static_cast<int>(count); }, least, most);
}

OptionKey seed_key(std::uint64_t& into) {
  return {"seed", [&into](const std::string& value) {
            const auto seed = parse_number<std::uint64_t>(value);
            if (!seed)
              throw WrongValue(fmt::format("expected a whole number from 0 to {}, not {}",
                                           std::numeric_limits<std::uint64_t>::max(),
                                           in_quotes(value)));
            into = *seed;
          }};
}

OptionKey share_key(const std::string& name, double& into) {
  return {name, [&into](const std::string& value) {
            const bool percent = value.ends_with('%');
            const auto number = parse_number<double>(
                std::string_view(value).substr(0, value.size() - (percent ? 1 : 0)));
            const double share = number.value_or(-1) / (percent ? 100 : 1);
            if (!(share >= 0 && share <= 1))
              throw WrongValue(fmt::format(
                  "expected a share from 0 to 1, such as 0.2 or 20%, not {}", in_quotes(value)));
            into = share;
          }};
}

OptionKey store_key(bool& on_node) {
  return {"store", [&on_node](const std::string& value) {
            on_node = one_of<bool>(value, {{"node", true}, {"external", false}});
          }};
}

std::vector<OptionKey> keys_of(ElasticQuestion& question) {
  ElasticOptions& options = question.options;
  constexpr int kMostRestarts = 1'000'000'000;
  constexpr int kMostAttempts = 1'000'000;
  constexpr int kMostSeeds = 10'000;
  return {int_key("max_restarts", options.max_restarts, 0, kMostRestarts),
          time_key("monitor_interval", options.monitor_interval),
          time_key("last_call_timeout", options.last_call_timeout, true),
          time_key("join_timeout", options.join_timeout, true),
          time_key("keep_alive_interval", options.keep_alive_interval, true),
          int_key("keep_alive_max_attempt", options.keep_alive_max_attempt, 1, kMostAttempts),
          time_key("read_timeout", options.read_timeout, true),
          time_key("timeout", options.timeout),
          store_key(options.store_on_node),
          time_key("stop", options.stop),
          time_key("start", options.start),
          time_key("load", options.load),
          time_key("repair", options.repair),
          time_key("resubmit", options.resubmit),
          share_key("process_share", options.process_share),
          time_key("checkpoint_interval", question.checkpoint_interval),
          time_key("length", question.length),
          int_key("seeds", question.seeds, 2, kMostSeeds),
          seed_key(question.seed)};
}

/// Parses "2:4" or "4".
std::pair<int, int> nodes_of(const std::string& text) {
  const std::size_t colon = text.find(':');
  const auto min = parse_number<int>(std::string_view(text).substr(0, colon));
  const auto max =
      colon == text.npos ? min : parse_number<int>(std::string_view(text).substr(colon + 1));
  if (!min || !max || *min < 1 || *max < *min)
    throw UsageError(fmt::format("--nnodes {}", text),
                     "expected MIN:MAX, whole numbers of nodes with 1 <= MIN <= MAX, such as 2:4");
  if (*max - *min >= kMostSizes)
    throw UsageError(fmt::format("--nnodes {}", text),
                     fmt::format("this range has {} numbers of nodes; at most {} can be simulated",
                                 *max - *min + 1, kMostSizes),
                     "Raise MIN");
  return {*min, *max};
}

bool holds(const std::vector<std::string>& words, const char* word) {
  return std::ranges::find(words, word) != words.end();
}

/// Returns the steady step.
Duration steady_step(const Job& job) {
  SimulationOptions options = job.options();
  options.iterations = 0;
  options.variation.jitter = 0;
  options.variation.stagger = Duration();
  return simulate_times(job.with(std::move(options))).iteration;
}

/// Returns "dgxa100" for "dgxa100@4", since the request then sets the number of nodes.
std::string without_nodes(const std::string& text) {
  const std::size_t at = text.rfind('@');
  if (at == text.npos || text.find(' ') != text.npos) return text;
  return parse_number<int>(std::string_view(text).substr(at + 1)) ? text.substr(0, at) : text;
}

}  // namespace

void add_elastic_options(CLI::App& command, ElasticArguments& arguments) {
  const HelpGroup group(command, kFailuresGroup);
  command
      .add_option("--nnodes", arguments.nnodes,
                  "With --mtbf, simulate a long torchrun job on this many nodes: goodput, and the "
                  "best checkpoint interval")
      ->type_name("MIN:MAX");
  command
      .add_option("--elastic", arguments.elastic,
                  "With --nnodes, set torchrun and the nodes, such as max_restarts=3,repair=2h "
                  "(docs/reference/elastic.md has all keys)")
      ->type_name("KEY=VALUE,…");
}

std::optional<ElasticQuestion> elastic_question(const ElasticArguments& arguments,
                                                const MoneyArguments& money,
                                                const Candidate* candidate) {
  if (!arguments.nnodes) {
    if (arguments.elastic)
      throw UsageError("--elastic", "the number of nodes is missing; add --nnodes MIN:MAX");
    return std::nullopt;
  }
  ElasticQuestion question;
  std::tie(question.options.min_nodes, question.options.max_nodes) = nodes_of(*arguments.nnodes);
  const std::optional<Failures> failing = failures(money, candidate);
  if (!failing)
    throw UsageError(
        "--nnodes",
        fmt::format("the failure rate of a node{} is missing; add --mtbf, such as --mtbf 5000h",
                    candidate != nullptr ? " of " + candidate->label : ""));
  question.node_mtbf_seconds = failing->node_mtbf_hours * kSecondsOfHour;
  for (const double seconds : {failing->checkpoint_seconds, failing->restart_seconds})
    if (seconds > kMostSeconds)
      throw UsageError("--checkpoint, --restart",
                       fmt::format("with --nnodes, at most {:.0f} years are possible",
                                   kMostSeconds / kSecondsOfYear));
  question.options.checkpoint = RunTime(std::llround(failing->checkpoint_seconds * 1e9));
  std::vector<std::string> given;
  if (arguments.elastic) given = take_keys("--elastic", *arguments.elastic, keys_of(question));
  const bool restart = failing->restart_seconds > 0;
  if (restart) {
    for (const char* key : {"start", "load"})
      if (holds(given, key))
        throw UsageError(
            "--restart",
            fmt::format("--restart is start and load together, but --elastic also has {}=", key),
            "Leave one of them out");
    question.options.start = RunTime(std::llround(failing->restart_seconds * 1e9));
    question.options.load = RunTime();
  }
  for (const char* key : {"stop", "start", "load", "repair", "resubmit", "process_share"}) {
    const bool stated =
        restart && (key == std::string_view("start") || key == std::string_view("load"));
    if (!stated && !holds(given, key)) question.assumed.emplace_back(key);
  }
  question.stated_timeout = holds(given, "timeout");
  if (const std::string why = why_not_elastic(question.options); !why.empty()) refuse(why);
  return question;
}

ElasticAnswer elastic_answer(ElasticQuestion question, const BuiltJob& loaded, Duration predicted,
                             const JobRequest& request, const LoadedWorkload& workload) {
  const int own_nodes = loaded.job.cluster().hosts();
  ElasticOptions& options = question.options;
  if (options.max_nodes > own_nodes)
    throw UsageError(fmt::format("--nnodes {}:{}", options.min_nodes, options.max_nodes),
                     fmt::format("{} has {}", loaded.job.cluster().name,
                                 own_nodes == 1 ? "one node" : fmt::format("{} nodes", own_nodes)),
                     "Set at least MAX nodes with NAME@NODES or --nodes");
  // A connection of gloo breaks as soon as the process at its other end ends, without a timeout.
  if (!question.stated_timeout && request.collectives.backend == Backend::gloo)
    options.timeout = RunTime();
  JobRequest resized = request;
  resized.measured_step.reset();
  resized.cluster.text = without_nodes(request.cluster.text);
  // A measured step scales the steps of all sizes equally.
  const double scale =
      request.measured_step || loaded.measured_step ? predicted / steady_step(loaded.job) : 1;
  for (int nodes = options.min_nodes; nodes <= options.max_nodes; ++nodes) {
    if (nodes == own_nodes) {
      question.steps.push_back(predicted);
      continue;
    }
    resized.cluster.nodes = nodes;
    const BuiltJob job = build_job(resized, workload);
    require_simulatable(job);
    question.steps.push_back(steady_step(job.job).scaled(scale));
  }
  for (const Duration step : question.steps)
    if (step <= Duration())
      throw UsageError("--nnodes",
                       "a step of this workload takes no time, so no run can be simulated");
  if (const std::string why = why_not_elastic(question); !why.empty())
    throw UsageError("--nnodes", why);
  TerminalProgress progress("checkpoint intervals", TerminalProgress::Interrupt::ends);
  return simulate_elastic(question, &progress);
}

}  // namespace ddpsim
