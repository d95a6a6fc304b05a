#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "calibration_logs.hpp"
#include "cluster_arguments.hpp"
#include "commands.hpp"
#include "ddp_arguments.hpp"
#include "ddpsim/calibrate/fit/fit.hpp"
#include "ddpsim/calibrate/fit/gloo_fit.hpp"
#include "ddpsim/formats/files.hpp"
#include "ddpsim/formats/usage_error.hpp"
#include "ddpsim/reports/calibration_report.hpp"
#include "ddpsim/reports/gloo_calibration_report.hpp"
#include "ddpsim/sim/nccl/correction.hpp"
#include "ddpsim/topologies/cluster_source.hpp"
#include "ddpsim/topologies/kind_words.hpp"
#include "exit_code.hpp"
#include "help_format.hpp"
#include "help_group.hpp"
#include "own_outputs.hpp"
#include "printing.hpp"
#include "terminal.hpp"
#include "terminal_progress.hpp"
#include "typed_line.hpp"
#include "word_option.hpp"

namespace ddpsim {
namespace {

struct CalibrateArguments {
  std::vector<std::string> logs;
  std::string cluster;
  std::string output;
  Backend backend = Backend::nccl;
  std::optional<std::string> nccl;
  bool keep_unhealthy = false;
  bool published = false;
  OutputArguments forms;  ///< of the answer
};

NcclVersion version_of(const CalibrateArguments& arguments) {
  return stated_nccl(arguments.nccl).value_or(bundled_nccl(kAssumedTorch));
}

std::vector<std::string> each_once(const std::vector<std::string>& names) {
  std::vector<std::string> once;
  for (const std::string& name : names)
    if (std::ranges::find(once, name) == once.end()) once.push_back(name);
  return once;
}

/// Notes which published logs are fitted together with the given ones, and which are left out.
void note_published(const std::string& cluster, Fit& fit) {
  std::vector<std::string> sources;
  for (const CalibratedShape& log : fit.calibration.shapes)
    if (log.published) sources.push_back(log.source);
  if (!sources.empty())
    fit.notes.push_back(
        fmt::format("{} comes with published logs ({}) of another machine of its kind, used for "
                    "job shapes you did not measure; --cluster {}:spec leaves them out",
                    cluster, fmt::join(each_once(sources), ", "), cluster));
  if (!fit.repeated.empty())
    fit.notes.push_back(fmt::format(
        "{} comes with published logs of the same measurements as your logs; they are left out: {}",
        cluster, fmt::join(each_once(fit.repeated), ", ")));
  if (!fit.other_release.empty())
    fit.notes.push_back(
        fmt::format("{} comes with published logs of another NCCL release than your logs; they are "
                    "left out: {}",
                    cluster, fmt::join(each_once(fit.other_release), ", ")));
}

/// Warns that the given logs replace earlier ones, because a calibration is always fitted from all its logs.
std::string replaced_logs(const std::vector<CalibratedShape>& before, const std::string& cluster) {
  std::string logs;
  for (const CalibratedShape& log : before)
    if (!log.published) logs += (logs.empty() ? "" : ", ") + log.source;
  return fmt::format(
      "{} is already calibrated; your logs replace the earlier ones ({}), unless you give those "
      "again",
      cluster, logs);
}

/// Warns about fitted logs that do not state their NCCL version.
std::optional<std::string> assumed_nccl(const Fit& fit, const std::vector<MeasuredLog>& logs,
                                        NcclVersion assumed) {
  std::vector<std::string> silent;
  for (const MeasuredLog& log : logs)
    if (!log.nccl && std::find(fit.used.begin(), fit.used.end(), log.source) != fit.used.end())
      silent.push_back(log.source);
  if (silent.empty()) return std::nullopt;
  return fmt::format("{} {} NCCL version: {} is assumed (--nccl)",
                     silent.size() == 1 ? silent.front()
                                        : fmt::format("{} of {} logs", silent.size(), logs.size()),
                     silent.size() == 1 ? "does not print its" : "do not print their",
                     to_string(assumed));
}

/// Returns a function that loads the cluster with a given number of nodes and GPUs per node.
ClusterAt cluster_at(const CalibrateArguments& arguments) {
  return [&arguments](JobShape shape) {
    return load_cluster_at(arguments.cluster, shape.nodes, shape.gpus_per_node);
  };
}

/// Writes the cluster file, after checking that it can be read.
void write_cluster(const std::string& file, const CalibrateArguments& arguments) {
  parse_cluster(file, arguments.output);
  std::vector<NamedOutput> outputs = named_outputs(arguments.forms);
  outputs.push_back({"--output", arguments.output});
  require_own_outputs(outputs);
  write_file(arguments.output, file);
}

void deliver_calibration(const CalibrateArguments& arguments, TypedLine typed, Answer answer) {
  typed.set("--output", arguments.output);
  answer.command = typed.for_command("calibrate");
  deliver(answer, arguments.forms);
}

int run_gloo(const CalibrateArguments& arguments, const Cluster& cluster, ReadLogs logs,
             const TypedLine& typed) {
  if (arguments.nccl || arguments.keep_unhealthy || arguments.published)
    throw UsageError(arguments.nccl             ? "--nccl"
                     : arguments.keep_unhealthy ? "--keep-unhealthy"
                                                : "--published",
                     "this option is for NCCL logs, but these logs are from gloo");
  GlooCalibrationReport report{.cluster = cluster.name,
                               .output = arguments.output,
                               .read = std::move(logs.read),
                               .warnings = std::move(logs.warnings),
                               .fit = {}};
  if (cluster.gloo) report.warnings.push_back(replaced_logs(cluster.gloo->logs, cluster.name));
  report.fit = fit_gloo(logs.logs, cluster_at(arguments));
  write_cluster(gloo_calibrated_cluster_file(arguments.cluster, report.fit.calibration), arguments);
  const auto json = [&] { return gloo_calibration_json(report); };
  deliver_calibration(
      arguments, typed,
      {.json = json,
       .text = [&](const TerminalStyle& style) { return gloo_calibration_text(report, style); },
       .documents =
           [&] {
             return std::vector<ReportDocument>{{"calibration", json()}};
           }});
  return kOk;
}

int run(const CalibrateArguments& arguments, const TypedLine& typed) {
  const Cluster cluster =
      load_cluster({.text = arguments.cluster, .nodes = {}, .gpus_per_node = {}});
  ReadLogs read = read_logs(arguments.logs, cluster, arguments.backend);
  if (all_of_gloo(read.logs)) return run_gloo(arguments, cluster, std::move(read), typed);
  const std::vector<MeasuredLog>& logs = read.logs;
  CalibrationReport report{.cluster = cluster.name,
                           .output = arguments.output,
                           .read = std::move(read.read),
                           .warnings = std::move(read.warnings),
                           .fit = {},
                           .shapes_left_out = {}};
  if (cluster.hosts_per_node > 1) report.gpus_per_host = cluster.gpus_per_host();
  const NcclVersion fallback = version_of(arguments);
  if (cluster.calibration && !is_published(*cluster.calibration))
    report.warnings.push_back(replaced_logs(cluster.calibration->shapes, report.cluster));
  TerminalProgress progress("job shapes left out", TerminalProgress::Interrupt::ends);
  const FitOptions options{
      .nccl = fallback,
      .nccl_stated = arguments.nccl.has_value(),
      .keep_unhealthy = arguments.keep_unhealthy,
      .published = arguments.published ? nullptr : published_calibration(arguments.cluster),
      .progress = &progress};
  if (const std::string assumed = assumed_of_amd(cluster); !assumed.empty())
    report.warnings.push_back(assumed);
  report.fit = fit_calibration(logs, cluster_at(arguments), options);
  report.shapes_left_out = leave_shapes_out(logs, cluster_at(arguments), options, report.fit);
  Calibration& calibration = report.fit.calibration;
  if (options.published) note_published(report.cluster, report.fit);
  state_left_out_errors(report.shapes_left_out, calibration);
  for (CalibratedShape& log : calibration.shapes) log.published |= arguments.published;
  if (!arguments.nccl)
    if (const auto warning = assumed_nccl(report.fit, logs, fallback))
      report.warnings.push_back(*warning);
  if (arguments.published)
    report.fit.notes.push_back(
        fmt::format("{} is marked as calibrated with published logs: its grade is B at best, and "
                    "intervals include differences between machines of one kind",
                    arguments.output));
  write_cluster(calibrated_cluster_file(arguments.cluster, calibration), arguments);
  const auto json = [&] { return calibration_report_json(report); };
  deliver_calibration(
      arguments, typed,
      {.json = json,
       .text = [&](const TerminalStyle& style) { return calibration_report_text(report, style); },
       .documents =
           [&] {
             return std::vector<ReportDocument>{{"calibration", json()}};
           }});
  return kOk;
}

}  // namespace

void add_calibrate(CLI::App& app, std::function<int()>& action) {
  CLI::App* command =
      app.add_subcommand("calibrate", "Fit a cluster to all_reduce_perf logs taken on it");
  const auto arguments = std::make_shared<CalibrateArguments>();
  command
      ->add_option(
          "LOG", arguments->logs,
          "nccl-tests logs and traces of a DDP job, on any number of nodes; add what a log lacks: "
          "LOG@NODESxGPUS,NCCL_ALGO=Ring,NCCL_VERSION=2.21.5")
      ->required();
  command
      ->add_option("--cluster", arguments->cluster,
                   "Name the cluster of the logs: from `ddpsim list`, a file, or one line such as "
                   "\"node:2 gpu:8xV100 …\"")
      ->type_name("CLUSTER")
      ->required()
      ->group(kClusterGroup);
  {
    const HelpGroup group(*command, kClusterGroup);
    add_word_option<Backend>(
        *command, "--backend", arguments->backend,
        {{"nccl", Backend::nccl}, {"gloo", Backend::gloo}},
        "Take logs that do not name their library as this one's (default: nccl)");
  }
  command
      ->add_option("--nccl", arguments->nccl,
                   "State the NCCL version of logs that do not print it (default: the one PyTorch "
                   "ships)")
      ->type_name("VERSION")
      ->group(kNcclGroup);
  command->add_flag("--keep-unhealthy", arguments->keep_unhealthy,
                    "Also fit logs that do not look like this cluster in a healthy state");
  command->add_flag("--published", arguments->published,
                    "Widen intervals, because the logs come from other machines of the same kind");
  add_form_options(*command, arguments->forms);
  add_report_option(*command, arguments->forms);
  const HelpGroup output(*command, kOutputGroup);
  command->add_option("-o,--output", arguments->output, "Write the calibrated cluster to this file")
      ->required()
      ->type_name("FILE")
      ->check(names_a_file);
  add_example(*command, "ddpsim calibrate n1.txt@1x4 n2.txt@2x4 --cluster abci-v100 -o lab.json");
  command->callback([&action, arguments, command] {
    action = [arguments, command] { return run(*arguments, TypedLine(*command)); };
  });
}

}  // namespace ddpsim
