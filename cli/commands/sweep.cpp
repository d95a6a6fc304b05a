#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "commands.hpp"
#include "ddpsim/formats/files.hpp"
#include "ddpsim/formats/number.hpp"
#include "ddpsim/formats/usage_error.hpp"
#include "ddpsim/reports/sweep_report.hpp"
#include "ddpsim/sim/engine/parallel.hpp"
#include "exit_code.hpp"
#include "help_format.hpp"
#include "help_group.hpp"
#include "own_outputs.hpp"
#include "point_settings.hpp"
#include "printing.hpp"
#include "ranks.hpp"
#include "study.hpp"
#include "sweep_dispatch.hpp"
#include "sweep_join.hpp"
#include "sweep_output.hpp"
#include "sweep_points.hpp"
#include "sweep_ranks.hpp"
#include "terminal.hpp"

namespace ddpsim {
namespace {

struct SweepArguments {
  std::string study;
  std::vector<std::string> join;
  std::optional<std::string> output;
  OutputArguments files;  ///< --csv, --plot
  std::optional<std::string> shard;
  bool no_intervals = false;
  bool no_mpi = false;
  int threads = 0;
};

/// Parses "2/8".
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
  throw UsageError(fmt::format("--shard {}", *text),
                   "expected I/N with I from 1 to N, such as 2/8");
}

void say_what_is_there(const SweepArguments& arguments, const SweepOutput& output,
                       std::size_t points) {
  if (output.failed() > 0)
    print_error(fmt::format("ddpsim: {} of {} points could not be answered; \"error\" says why",
                            output.failed(), output.written()));
  // Standard output has only JSON.
  if (!arguments.output || arguments.files.json) return;
  std::string text = fmt::format("{} of {} points", output.written(), points);
  if (output.kept() > 0) text += fmt::format(", {} of them from an earlier run", output.kept());
  text += fmt::format("\nWrote {}\n", *arguments.output);
  for (const auto& file : {arguments.files.csv, arguments.files.plot})
    if (file) text += fmt::format("Wrote {}\n", *file);
  print(text);
}

std::vector<NamedOutput> outputs_of(const SweepArguments& arguments) {
  std::vector<NamedOutput> outputs = named_outputs(arguments.files);
  if (arguments.output) outputs.push_back({"--output", *arguments.output});
  return outputs;
}

/// The sweep of a command line, ready to be answered.
class AskedSweep {
 public:
  explicit AskedSweep(const SweepArguments& arguments)
      : study_(read_sweep_study(read_file(arguments.study, kMostBytesOfAStudy), arguments.study,
                                PointParser().command())),
        points_(study_, !arguments.no_intervals),
        header_{.ddpsim = DDPSIM_VERSION,
                .study = digest_of(study_, DDPSIM_VERSION, !arguments.no_intervals),
                .points = study_.points(),
                .grid = {},
                .intervals = !arguments.no_intervals,
                .shard = parse_shard(arguments.shard)} {
    for (const SweepAxis& axis : study_.axes) header_.grid.push_back(axis.option);
  }

  const SweepHeader& header() const { return header_; }
  Shard shard() const { return header_.shard.value_or(Shard()); }
  std::size_t count() const { return shard().points_of(header_.points); }
  std::string line(std::size_t k) const { return points_.line(shard().point(k)); }

 private:
  const SweepStudy study_;
  const SweepPoints points_;
  SweepHeader header_;
};

void answer(const AskedSweep& asked, SweepDispatch& dispatch) {
  try {
    for (PointRange one = dispatch.take(1); one.count > 0; one = dispatch.take(1))
      dispatch.put(one.first, asked.line(one.first));
  } catch (...) {
    dispatch.end(std::current_exception());
  }
}

/// Answers the points with threads of this process and other ranks, if any. Returns whether all lines were written.
bool write_points(const AskedSweep& asked, SweepOutput& output, int threads, SweepRanks& others) {
  SweepDispatch dispatch(output, asked.count());
  {
    std::vector<std::jthread> workers;
    for (int t = others.any() ? 0 : 1; t < threads; ++t)
      workers.emplace_back([&] { answer(asked, dispatch); });
    if (others.any())
      others.serve(dispatch);
    else
      answer(asked, dispatch);
  }
  return dispatch.all_there();
}

int sweep(const SweepArguments& arguments, int threads, SweepRanks& others) {
  const AskedSweep asked(arguments);
  others.require_same(sweep_header_line(asked.header()));
  require_own_outputs(outputs_of(arguments));
  SweepCurves curves(asked.header());
  const bool drawn = arguments.files.plot.has_value();
  SweepOutput output(asked.header(), arguments.output, arguments.files.csv,
                     drawn ? &curves : nullptr);
  const bool all = write_points(asked, output, threads, others);
  // Points have read more files.
  require_own_outputs(outputs_of(arguments));
  output.finish();
  if (drawn) write_file(*arguments.files.plot, curves.svg());
  say_what_is_there(arguments, output, asked.count());
  if (!all) return kInterrupted;
  return asked.count() > 0 && output.failed() == asked.count() ? kBadInput : kOk;
}

int sweep_over(Ranks& ranks, const SweepArguments& arguments) {
  const int threads = arguments.threads > 0 ? arguments.threads : ranks.cpus();
  if (ranks.rank() == 0) {
    SweepRanks others(&ranks);
    return sweep(arguments, threads, others);
  }
  answer_for_rank_0(ranks, threads, [&arguments] {
    const auto asked = std::make_shared<const AskedSweep>(arguments);
    return SweepAnswers{.header = sweep_header_line(asked->header()),
                        .line = [asked](std::size_t k) { return asked->line(k); }};
  });
  return kOk;  // rank 0 reports the result
}

int sweep(const SweepArguments& arguments) {
  const std::optional<Launch> launch = arguments.no_mpi ? std::nullopt : launched();
  if (!launch || launch->ranks == 1) {
    SweepRanks none(nullptr);
    return sweep(arguments, threads_for(arguments.threads), none);
  }
  std::unique_ptr<Ranks> ranks;
  try {
    ranks = join_ranks(*launch);
  } catch (const UsageError&) {
    if (launch->rank > 0) return kOk;  // rank 0 reports the error
    throw;
  }
  return sweep_over(*ranks, arguments);
}

int join(const SweepArguments& arguments) {
  std::vector<SweepPart> parts;
  for (const std::string& file : arguments.join)
    parts.push_back({.file = file, .text = read_file(file, kMostOfASweep)});
  require_own_outputs(outputs_of(arguments));
  const JoinedSweep joined = join_sweeps(parts);
  if (arguments.files.csv) write_file(*arguments.files.csv, joined.table);
  if (arguments.files.plot) write_file(*arguments.files.plot, joined.figure);
  if (!arguments.output)
    print(joined.lines);
  else
    write_file(*arguments.output, joined.lines);
  return kOk;
}

int run(const SweepArguments& arguments) {
  if (!arguments.join.empty()) return join(arguments);
  if (arguments.study.empty()) throw UsageError("sweep: which STUDY? Or --join FILE …");
  return sweep(arguments);
}

}  // namespace

void add_sweep(CLI::App& app, std::function<int()>& action) {
  CLI::App* command =
      app.add_subcommand("sweep", "Run every point of a study's grid; can be resumed and split");
  const auto arguments = std::make_shared<SweepArguments>();
  CLI::Option* study = command->add_option(
      "STUDY", arguments->study,
      "A ddpsim.study/1 file: workloads, candidates, options, and the grid of options that vary");
  CLI::Option* no_intervals = command->add_flag(
      "--no-intervals", arguments->no_intervals,
      "Leave out intervals and grades, which makes a sweep about four times as fast");
  CLI::Option* shard =
      command->add_option("--shard", arguments->shard,
                          "Run only every N-th point, from the I-th on, as one job of an array");
  shard->type_name("I/N");
  command->add_flag("--no-mpi", arguments->no_mpi,
                    "Sweep the whole grid in each process of mpirun or srun");
  command
      ->add_option("--join", arguments->join,
                   "Join the files that shards wrote into what one run writes")
      ->type_name("FILE")
      ->expected(1, CLI::detail::expected_max_vector_size)
      ->excludes(study)
      ->excludes(shard)
      ->excludes(no_intervals);
  {
    const HelpGroup group(*command, kOutputGroup);
    command
        ->add_option("-o,--output", arguments->output,
                     "Write the points to this file, or go on where it ends (default: stdout)")
        ->type_name("FILE")
        ->check(names_a_file);
    command->add_option("--csv", arguments->files.csv, "Write a table to this file")
        ->type_name("FILE")
        ->check(names_a_file);
    command->add_flag("--json", arguments->files.json,
                      "Print errors as JSON documents on stdout, too; points always are JSON");
  }
  add_plot_option(*command, arguments->files);
  add_threads_option(*command, arguments->threads);
  add_example(*command, "ddpsim sweep study.json -o sweep.jsonl --csv sweep.csv");
  command->callback([&action, arguments] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace ddpsim
