#include "calibration_logs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "ddpsim/calibrate/fit/gloo_fit.hpp"
#include "ddpsim/calibrate/logs/gloo_trace_log.hpp"
#include "ddpsim/calibrate/logs/recorded_log.hpp"
#include "ddpsim/formats/archive.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/jobs/archive_calibration.hpp"
#include "ddpsim/traces/import.hpp"

namespace ddpsim {
namespace {

/// Counts the machines of a log as NCCL counts nodes. If machines share an NVLink domain, the domain is the node.
void count_domains(MeasuredLog& log, const Cluster& cluster) {
  const auto shape = log.shape();
  if (cluster.hosts_per_node == 1 || !shape) return;
  const int domains = (shape->nodes + cluster.hosts_per_node - 1) / cluster.hosts_per_node;
  if (shape->nodes % domains != 0) return;
  log.gpus_per_node = shape->gpus_per_node * shape->nodes / domains;
  log.nodes = domains;
}

/// Throws InputError if a log used more GPUs per node than the cluster has, so that it was taken elsewhere.
void require_nodes_as_large(const MeasuredLog& log, const Cluster& cluster) {
  if (!log.gpus_per_node || *log.gpus_per_node <= cluster.gpus_per_node) return;
  throw InputError({.file = log.source,
                    .where = "",
                    .message = fmt::format("has {} GPUs per node, but {} has {}",
                                           *log.gpus_per_node, cluster.name, cluster.gpus_per_node),
                    .hint = "Pass the cluster that the log was taken on with --cluster"});
}

/// Returns the shape of a job of `ranks` on the cluster: within a node, otherwise on whole nodes.
JobShape shape_on(const Cluster& cluster, int ranks, const LogArgument& argument) {
  if (argument.stated) return *argument.stated;
  if (ranks == 0) {
    const std::string file = argument.path.filename().string();
    throw InputError(
        {.file = file,
         .where = "",
         .message = "does not tell how many ranks were recorded",
         .hint = fmt::format("State the nodes and the GPUs per node: {}@NODESxGPUS", file)});
  }
  if (ranks <= cluster.gpus_per_node) return {1, ranks};
  if (ranks % cluster.gpus_per_node == 0)
    return {ranks / cluster.gpus_per_node, cluster.gpus_per_node};
  const std::string file = argument.path.filename().string();
  throw InputError(
      {.file = file,
       .where = "",
       .message = fmt::format("was recorded on {} ranks, which is no whole number of nodes of {}",
                              ranks, cluster.gpus_per_node),
       .hint = fmt::format("State the nodes and the GPUs per node: {}@NODESxGPUS", file)});
}

/// Says which shape was assumed, because logs of jobs rarely state their number of nodes.
void say_shape(const LogArgument& argument, JobShape shape, MeasuredLog& log) {
  if (argument.stated) return;
  log.recognised.push_back(fmt::format(
      "assumed to have run on {} {} of {} GPUs; correct this with @NODESxGPUS after the name",
      shape.nodes, shape.nodes == 1 ? "node" : "nodes", shape.gpus_per_node));
}

/// Reads logs of nccl-tests and similar programs, or the all-reduces that a job logged.
std::vector<MeasuredLog> noted_logs(const LogArgument& argument, const Cluster& cluster) {
  std::vector<MeasuredLog> logs = read_measured_logs(argument.path, argument.stated);
  const MeasuredLog& first = logs.front();
  if (first.timed_by == TimedBy::all_reduce_perf || first.shape() || first.ranks < 2) return logs;
  const JobShape shape = shape_on(cluster, first.ranks, argument);
  logs = read_measured_logs(argument.path, shape);
  for (MeasuredLog& log : logs) say_shape(argument, shape, log);
  return logs;
}

/// Reads logs as noted_logs does, or the all-reduces of a recorded training.
std::vector<MeasuredLog> logs_of(const LogArgument& argument, const Cluster& cluster) {
  if (is_archive(argument.path)) {
    const Archive archive = read_archive(argument.path);
    if (std::vector<MeasuredLog> logs = logs_in(archive); !logs.empty()) return logs;
  }
  std::error_code none;
  const bool folder = std::filesystem::is_directory(argument.path, none);
  if (folder || is_recording(argument.path))
    if (auto log = gloo_trace_log(argument.path)) {
      const JobShape shape = shape_on(cluster, log->ranks, argument);
      log->nodes = shape.nodes;
      log->gpus_per_node = shape.gpus_per_node;
      say_shape(argument, shape, *log);
      return {std::move(*log)};
    }
  if (!folder && !is_recording(argument.path)) return noted_logs(argument, cluster);
  const Workload workload = import_file(argument.path, {}).workload;
  const int ranks = workload.recorded_with.world_size;
  const JobShape shape = shape_on(cluster, ranks, argument);
  if (auto log = recorded_log(workload, shape)) {
    log->source = argument.path.string();
    say_shape(argument, shape, *log);
    return {std::move(*log)};
  }
  throw InputError(
      {.file = argument.path.filename().string(),
       .where = "",
       .message = ranks != 1 ? "contains no all-reduce with a size"
                             : "was recorded on one GPU, which has nothing to send",
       .hint = "Give logs of all_reduce_perf, or traces of a DDP job, if possible of all ranks"});
}

/// Takes a log that does not name its library as one of gloo, which --backend states. Throws InputError if the log contradicts that.
void take_for_gloo(MeasuredLog& log) {
  if (is_of_gloo(log)) return;
  const bool on_gpus = !log.gpu.empty() && !log.gpu.starts_with("CPU");
  const std::string sign = log.nccl                 ? "prints NCCL " + to_string(*log.nccl)
                           : !log.settings.empty()  ? "prints " + log.settings.front().first
                           : !log.transport.empty() ? "prints NCCL's " + log.transport
                           : on_gpus                ? "was taken on " + log.gpu
                                                    : "";
  if (!log.backend.empty() || !sign.empty())
    throw InputError(
        {.file = log.source,
         .where = "",
         .message = log.backend.empty() ? sign + " and is not a log of gloo"
                                        : "is of " + log.backend + ", not of gloo",
         .hint = "Leave out --backend gloo, which is for logs that do not name their library"});
  log.backend = name_of(Backend::gloo);
  log.recognised.emplace_back(
      "taken as a log of gloo because of --backend; the log itself does not tell");
}

}  // namespace

ReadLogs read_logs(const std::vector<std::string>& texts, const Cluster& cluster,
                   Backend unstated) {
  ReadLogs all;
  for (const std::string& text : texts) {
    const LogArgument argument = parse_log_argument(text);
    for (MeasuredLog& log : logs_of(argument, cluster)) {
      // Only the file's name is kept, since its folder may be private.
      log.source = std::filesystem::path(log.source).filename().string();
      state_settings(argument, log);
      if (unstated == Backend::gloo) take_for_gloo(log);
      for (const std::string& line : log.recognised)
        if (std::string said = log.source + ": " + line;
            std::ranges::find(all.read, said) == all.read.end())
          all.read.push_back(std::move(said));
      for (const std::string& line : log.warnings)
        if (!is_of_gloo(log) || !line.ends_with(kNothingOfNccl))
          all.warnings.push_back(log.source + ": " + line);
      all.logs.push_back(std::move(log));
    }
  }
  for (MeasuredLog& log : all.logs) {
    count_domains(log, cluster);
    require_nodes_as_large(log, cluster);
  }
  return all;
}

bool all_of_gloo(const std::vector<MeasuredLog>& logs) {
  const auto gloo = std::ranges::find_if(logs, is_of_gloo);
  if (gloo == logs.end()) return false;
  const auto other = std::ranges::find_if_not(logs, is_of_gloo);
  if (other == logs.end()) return true;
  throw InputError({.file = other->source,
                    .where = "",
                    .message = fmt::format("is not of gloo, but {} is", gloo->source),
                    .hint = "Calibrate one library first, then the other with the new file as "
                            "--cluster, which keeps both"});
}

}  // namespace ddpsim
