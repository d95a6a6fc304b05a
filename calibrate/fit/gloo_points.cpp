#include "gloo_points.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/sim/engine/schedule.hpp"
#include "ddpsim/sim/values/quantile.hpp"
#include "ddpsim/sim/values/size_text.hpp"
#include "ddpsim/topologies/cluster_source.hpp"

namespace ddpsim {
namespace {

/// Most steps taken from one log. They vary more than a fit can use, and each takes a simulation.
constexpr std::size_t kMostOfSteps = 120;
constexpr std::size_t kMostTimes = 2'000;

bool on_cpu(const MeasuredLog& log) {
  return log.gpu.empty() || log.gpu.starts_with("CPU");
}

/// Longest plausible time in microseconds for an all-reduce or a step.
constexpr double kLongestUs = 1e9;

/// Whether instants and times are usable in a fit.
bool is_sound(const NotedTransfer& one) {
  return one.size > Bytes() && one.time_us > 0 && one.time_us <= kLongestUs &&
         std::abs(one.arrival_us) <= kLongestUs;
}

/// Refuses an all-reduce that would take days on the slowest host that a fit may assume.
void require_soon(const GlooPoint& point, const Cluster& cluster, const std::string& source) {
  double rate = GlooLinks{}.process.bytes_per_second();
  if (cluster.nodes > 1)
    rate =
        std::min(rate, std::min(cluster.network.per_nic, trunk_rate(cluster)).bytes_per_second());
  constexpr double kSlowestHost = 1000;
  if (static_cast<double>(point.size.count()) * kSlowestHost / rate * 1e6 <= 1e6 * kLongestUs)
    return;
  throw InputError({source, "",
                    fmt::format("an all-reduce of {} on {} would take days", size_text(point.size),
                                cluster.name),
                    "Check units of sizes and of the cluster's NIC"});
}

/// All-reduces with overlapping times become one point.
void add_step(std::vector<NotedTransfer> step, const GlooPoint& like, std::vector<GlooPoint>& out) {
  std::erase_if(step, [](const NotedTransfer& one) { return !is_sound(one); });
  std::ranges::stable_sort(step, {}, &NotedTransfer::arrival_us);
  double end = 0;
  std::vector<GlooPoint> found;
  for (const NotedTransfer& one : step) {
    if (found.empty() || one.arrival_us >= end) {
      found.push_back(like);
      end = 0;
    }
    GlooPoint& point = found.back();
    point.together.push_back(one);
    point.size += one.size;
    end = std::max(end, one.arrival_us + one.time_us);
    point.time_us = end - point.together.front().arrival_us;
  }
  out.insert(out.end(), found.begin(), found.end());
}

/// The median of each size. From a training's steps, at most kMostOfSteps, evenly chosen.
std::vector<GlooPoint> points_of(const MeasuredLog& log, const GlooPoint& like) {
  std::vector<GlooPoint> out;
  if (log.timed_by == TimedBy::all_reduce_perf) {
    std::map<Bytes, std::vector<double>> times;
    for (const MeasuredPoint& point : log.points)
      if (point.size > Bytes() && point.time_us > 0) times[point.size].push_back(point.time_us);
    for (auto& [size, all] : times) {
      const double us = median(std::move(all));
      add_step({{size, 0, us}}, like, out);
    }
  }
  std::vector<GlooPoint> in_steps;
  for (const std::vector<NotedTransfer>& step : log.steps) add_step(step, like, in_steps);
  const std::size_t every = (in_steps.size() + kMostOfSteps - 1) / kMostOfSteps;
  for (std::size_t i = 0; i < in_steps.size(); i += every) out.push_back(in_steps[i]);
  return out;
}

void require_cluster(const MeasuredLog& log, const Cluster& cluster) {
  if (on_cpu(log)) return;
  const std::string model = gpu_model_name(log.gpu);
  if (model == cluster.gpu.name || !find_gpu(model)) return;
  throw InputError({log.source, "",
                    fmt::format("was taken on {}, but the cluster has {}", model, cluster.gpu.name),
                    "Name the cluster on which the log was taken (--cluster)"});
}

}  // namespace

bool is_of_gloo(const MeasuredLog& log) {
  return log.backend.find("gloo") != std::string::npos ||
         log.backend.find("Gloo") != std::string::npos;
}

std::vector<GlooPoint> gloo_points(const std::vector<MeasuredLog>& logs,
                                   const ClusterAt& cluster_at, GlooFit& fit) {
  std::vector<GlooPoint> points;
  for (const MeasuredLog& log : logs) {
    if (!log.shape())
      throw InputError(
          {log.source, "", "does not state its numbers of nodes and processes per node",
           "Add them to the file's name as FILE@NODESxPROCESSES: FILE@2x8 is two nodes of eight"});
    const JobShape shape = *log.shape();
    if (shape.ranks() <= 1) {
      fit.left_out.push_back({log.source, "a single rank sends nothing"});
      continue;
    }
    if (log.timed_by == TimedBy::one_rank) {
      fit.left_out.push_back(
          {log.source,
           "its times include the wait for other ranks; only the joined recordings of all ranks "
           "show the transfers"});
      continue;
    }
    require_cluster(log, cluster_at(shape));
    const std::vector<GlooPoint> own = points_of(
        log, {.log = fit.used.size(), .shape = shape, .together = {}, .of_gpu = !on_cpu(log)});
    if (own.empty()) {
      fit.left_out.push_back({log.source, "it has no times of all-reduces"});
      continue;
    }
    for (const GlooPoint& point : own) require_soon(point, cluster_at(shape), log.source);
    points.insert(points.end(), own.begin(), own.end());
    fit.used.push_back(log.source);
    const auto [least, most] = std::ranges::minmax(own, {}, &GlooPoint::size);
    fit.calibration.logs.push_back({shape.nodes, shape.gpus_per_node, least.size, most.size,
                                    log.source, "", std::nullopt, log.timed_by, std::nullopt, false,
                                    digest_of(log.points)});
  }
  std::set<std::int64_t> sizes;
  for (const GlooPoint& point : points) sizes.insert(point.size.count());
  const std::string file = logs.empty() ? "command line" : logs.front().source;
  if (points.empty())
    throw InputError(
        {file, "",
         "no log is left to fit" + (fit.left_out.empty() ? "" : ": " + fit.left_out.front().reason),
         "Give ddpsim-real's measurement (--all-reduce), or the joined ranks of a job"});
  if (sizes.size() < 2)
    throw InputError({file, "", "has only one size: latency and bandwidth cannot be told apart",
                      "Time a range: ddpsim-real WORKLOAD --all-reduce 1KiB,64KiB,1MiB,16MiB"});
  if (points.size() > kMostTimes)
    throw InputError({file, "", fmt::format("all logs together have {} times", points.size()),
                      fmt::format("At most {} are possible", kMostTimes)});
  return points;
}

double predicted_us(const Job& job, const GlooLinks& links, const GlooPoint& point) {
  GlooLinks own = links;
  own.host_tensors = !point.of_gpu;
  const Job with = job.with(CollectiveModel(GlooModel{.links = own}));
  Schedule schedule;
  schedule.in_flight = {.threads = collectives_at_a_time(with),
                        .to_fill = collectives_to_fill(with)};
  RankPrograms programs;
  for (const NotedTransfer& one : point.together) {
    const CollectivePlan planned = plan(with, CollectiveKind::all_reduce, one.size);
    const auto index = static_cast<std::uint32_t>(schedule.collectives.size());
    schedule.collectives.push_back(
        {.transfer = planned.to_host + planned.transfer + planned.to_device,
         .size = one.size,
         .volume = planned.volume});
    const double after = one.arrival_us - point.together.front().arrival_us;
    programs.host.push_back(
        {.action = Action::wait_until, .duration = Duration::microseconds(after)});
    programs.host.push_back({.action = Action::record, .event = programs.events});
    programs.communication.push_back({.action = Action::wait, .event = programs.events++});
    programs.communication.push_back(
        {.action = Action::collective, .purpose = OperationKind::all_reduce, .collective = index});
  }
  if (schedule.collectives.size() == 1) return schedule.collectives.front().transfer.microseconds();
  schedule.ranks.push_back(std::move(programs));
  TimePoint end;
  for (const CollectiveTime& one : execute(schedule, Rates{}).collectives)
    end = std::max(end, one.end);
  return end.since_start().microseconds();
}

}  // namespace ddpsim
