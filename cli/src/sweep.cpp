#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>

#include "commands.hpp"
#include "ddpsim/formats/files.hpp"
#include "ddpsim/formats/number.hpp"
#include "ddpsim/sim/parallel.hpp"
#include "exit_code.hpp"
#include "help_format.hpp"
#include "help_group.hpp"
#include "point_settings.hpp"
#include "sweep_join.hpp"
#include "sweep_output.hpp"
#include "sweep_points.hpp"
#include "terminal.hpp"
#include "terminal_progress.hpp"
#include "usage_error.hpp"

namespace ddpsim {
namespace {

struct SweepArguments {
  std::string study;
  std::vector<std::string> join;
  std::optional<std::string> output;
  std::optional<std::string> csv;
  std::optional<std::string> shard;
  bool no_intervals = false;
  int threads = 0;
};

/// "2/8"
std::optional<Shard> parse_shard(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  constexpr std::size_t kMostShards = 1'000'000;
  const std::size_t slash = text->find('/');
  if (slash != text->npos) {
    const std::string_view whole = *text;
    const auto index = parse_number<std::size_t>(whole.substr(0, slash));
    const auto of = parse_number<std::size_t>(whole.substr(slash + 1));
    if (index && of && *index >= 1 && *index <= *of && *of <= kMostShards)
      return Shard{.index = *index, .of = *of};
  }
  throw UsageError(fmt::format("--shard {}: expected I/N, I from 1 to N, such as 2/8", *text));
}

void say_what_is_there(const SweepArguments& arguments, const SweepOutput& output,
                       std::size_t points) {
  if (output.failed() > 0)
    print_error(fmt::format("ddpsim: {} of {} points could not be answered; \"error\" says why",
                            output.failed(), output.written()));
  if (!arguments.output) return;  // lines alone stand there
  std::string text = fmt::format("{} of {} points", output.written(), points);
  if (output.kept() > 0) text += fmt::format(", {} of them there before", output.kept());
  text += fmt::format("\nWrote {}\n", *arguments.output);
  if (arguments.csv) text += fmt::format("Wrote {}\n", *arguments.csv);
  print(text);
}

/// Points from several threads; whether all are there.
bool write_points(const SweepPoints& points, SweepOutput& output, const Shard& shard,
                  std::size_t count, int threads) {
  TerminalProgress progress("points");
  std::mutex mutex;
  std::atomic<bool> stop = false;
  std::exception_ptr thrown;
  const std::size_t first = output.kept();
  std::size_t done = 0;
  for_each_index(count - first, threads, 1, [&](std::size_t k) {
    if (stop) return;
    try {
      std::string line = points.line(shard.point(first + k));
      const std::lock_guard lock(mutex);
      if (stop) return;
      output.put(first + k, std::move(line));
      if (!progress.go_on(++done, count - first)) stop = true;
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!thrown) thrown = std::current_exception();
      stop = true;
    }
  });
  if (thrown) std::rethrow_exception(thrown);
  return output.written() == count;
}

int sweep(const SweepArguments& arguments) {
  const std::optional<Shard> shard = parse_shard(arguments.shard);
  const SweepStudy study = read_sweep_study(arguments.study, PointParser().command());
  const SweepPoints points(study, !arguments.no_intervals);
  SweepHeader header{.ddpsim = DDPSIM_VERSION,
                     .study = digest_of(study, DDPSIM_VERSION, !arguments.no_intervals),
                     .points = study.points(),
                     .grid = {},
                     .intervals = !arguments.no_intervals,
                     .shard = shard};
  for (const SweepAxis& axis : study.axes) header.grid.push_back(axis.option);
  SweepOutput output(header, arguments.output, arguments.csv);
  const Shard own = shard.value_or(Shard());
  const std::size_t count = own.points_of(header.points);
  const bool all = write_points(points, output, own, count, arguments.threads);
  say_what_is_there(arguments, output, count);
  if (!all) return kInterrupted;
  return count > 0 && output.failed() == count ? kBadInput : kOk;
}

int join(const SweepArguments& arguments) {
  constexpr std::int64_t kMostOfAPart = std::int64_t{8} << 30;
  std::vector<SweepPart> parts;
  for (const std::string& file : arguments.join)
    parts.push_back({.file = file, .text = read_file(file, kMostOfAPart)});
  const JoinedSweep joined = join_sweeps(parts);
  if (arguments.csv) write_file(*arguments.csv, joined.table);
  if (!arguments.output)
    print(joined.lines);
  else
    write_file(*arguments.output, joined.lines);
  return kOk;
}

int run(const SweepArguments& arguments) {
  if (arguments.csv && arguments.output == arguments.csv)
    throw UsageError("-o, --csv: one file cannot hold both; name two");
  if (!arguments.join.empty()) return join(arguments);
  if (arguments.study.empty()) throw UsageError("sweep: which STUDY? Or --join FILE …");
  return sweep(arguments);
}

}  // namespace

void add_sweep(CLI::App& app, std::function<int()>& action) {
  CLI::App* command =
      app.add_subcommand("sweep", "a study's grid in full: a line a point, resumable, in shards");
  const auto arguments = std::make_shared<SweepArguments>();
  CLI::Option* study = command->add_option(
      "STUDY", arguments->study, "workloads, candidates, options and those that vary: a file");
  CLI::Option* no_intervals = command->add_flag(
      "--no-intervals", arguments->no_intervals,
      "how sure is not asked: about four times as fast, without interval and grade");
  CLI::Option* shard = command->add_option(
      "--shard", arguments->shard, "every N-th point, from the I-th on: I/N; for arrays of jobs");
  command
      ->add_option("--join", arguments->join,
                   "put together what shards wrote, as one run writes it")
      ->type_name("FILE")
      ->expected(1, CLI::detail::expected_max_vector_size)
      ->excludes(study)
      ->excludes(shard)
      ->excludes(no_intervals);
  {
    const HelpGroup group(*command, kOutputGroup);
    command
        ->add_option("-o,--output", arguments->output,
                     "write lines there, or go on where that file ends (default: stdout)")
        ->check(names_a_file);
    command->add_option("--csv", arguments->csv, "write a table to this file")->check(names_a_file);
  }
  add_threads_option(*command, arguments->threads);
  add_example(*command, "ddpsim sweep study.json -o sweep.jsonl --csv sweep.csv");
  command->callback([&action, arguments] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace ddpsim
