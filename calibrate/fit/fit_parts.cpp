#include "fit_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "ddpsim/calibrate/logs/health.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/sim/nccl/correction.hpp"
#include "ddpsim/sim/values/elementary.hpp"
#include "ddpsim/sim/values/quantile.hpp"
#include "ddpsim/sim/values/size_text.hpp"
#include "ddpsim/topologies/cluster_source.hpp"

namespace ddpsim {
namespace {

/// Fewest sizes of one log: enough for a latency, a rate and a check.
constexpr std::size_t kFewestSizes = 4;
constexpr std::size_t kMostPoints = 2'000;  ///< the fit takes their cube
constexpr double kContradiction = 2;        ///< median ratio of two logs of one shape

[[noreturn]] void fail(const std::string& file, std::string message, Hint hint) {
  throw InputError({file, "", std::move(message), std::move(hint)});
}

/// The out-of-place time, or the in-place time if only the out-of-place sums were wrong. 0 if
/// neither is valid.
double sound_us(const MeasuredPoint& point) {
  // Another job or a late rank lengthens a mean of twenty, but nothing shortens it.
  constexpr double kDisturbed = 1.5;
  const bool right_in_place = point.in_place_us && !(point.wrong_in_place.value_or(0) > 0);
  if (!(point.wrong > 0))
    return right_in_place && point.time_us > kDisturbed * *point.in_place_us ? *point.in_place_us
                                                                             : point.time_us;
  return point.in_place_us && point.wrong_in_place == 0.0 ? *point.in_place_us : 0;
}

/// "32 MiB: 3232 wrong results out of place, in-place time taken". Empty if all sums are right.
std::string wrong_note(const MeasuredLog& log) {
  constexpr std::size_t kMostNamed = 8;
  std::string note;
  std::size_t rows = 0;
  for (const MeasuredPoint& point : log.points) {
    const bool out = point.wrong > 0;
    if (!out && !(point.wrong_in_place.value_or(0) > 0)) continue;
    if (++rows > kMostNamed) continue;
    note += fmt::format("{}{}: {} wrong results {} place, {}", rows == 1 ? "" : "; ",
                        size_text(point.size), out ? point.wrong : *point.wrong_in_place,
                        out ? "out of" : "in",
                        !out                  ? "out-of-place time taken"
                        : sound_us(point) > 0 ? "in-place time taken"
                                              : "row left out");
  }
  if (rows > kMostNamed) note += fmt::format("; {} more rows like these", rows - kMostNamed);
  return note;
}

/// Rows of one size become their geometric mean. Rows of size zero and wrong sums are ignored.
std::vector<MeasuredPoint> by_size(const MeasuredLog& log) {
  std::map<Bytes, std::pair<double, int>> sums;
  std::map<Bytes, MeasuredPoint> first;
  for (const MeasuredPoint& point : log.points) {
    const double time_us = sound_us(point);
    if (point.size <= Bytes() || !(time_us > 0)) continue;
    auto& [sum, count] = sums[point.size];
    sum += elementary::log(time_us);
    ++count;
    first.emplace(point.size, point);
  }
  std::vector<MeasuredPoint> points;
  for (auto& [size, point] : first) {
    point.time_us = elementary::exp(sums[size].first / sums[size].second);
    points.push_back(point);
  }
  return points;
}

JobShape shape_of(const MeasuredLog& log) {
  if (const auto shape = log.shape()) return *shape;
  fail(log.source, "does not state its numbers of nodes and GPUs per node",
       "Add them to the file's name as FILE@NODESxGPUS: FILE@2x8 is two nodes of eight");
}

void check_device(const MeasuredLog& log, const Cluster& cluster) {
  const bool cpu = log.gpu.starts_with("CPU");
  if (cpu || !log.backend.empty())
    fail(log.source,
         fmt::format("was taken {}, so it tells nothing about NCCL",
                     cpu ? "on CPUs" : "over " + log.backend),
         "Give logs of all_reduce_perf, or of ddpsim-real over NCCL; logs of gloo calibrate only "
         "gloo");
  if (log.gpu.empty()) return;
  const std::string model = gpu_model_name(log.gpu);
  if (model == cluster.gpu.name || !find_gpu(model)) return;
  fail(log.source, fmt::format("was taken on {}, but the cluster has {}", model, cluster.gpu.name),
       "Name the cluster on which the log was taken (--cluster)");
}

/// Adds what a log that is not fitted still says about the cluster.
void note_words(const MeasuredLog& log, const ClusterAt& cluster_at, const FitOptions& options,
                Fit& fit) {
  if (!log.shape() || log.ranks < 2) return;
  Cluster cluster = cluster_at(*log.shape());
  cluster.calibration.reset();
  const CollectiveTuning tuning = tuning_of(log, options.nccl);
  const LogHealth found = health(log, cluster, tuning);
  for (const auto& sentences : {found.faults, found.notes})
    for (const std::string& one : sentences) fit.notes.push_back(log.source + ": " + one);
}

/// Times of one rank include its waits. If they are shorter than the cost model, it is too slow;
/// otherwise they prove nothing.
bool keep_bounds(Part& part, Fit& fit) {
  std::erase_if(part.points, [&](const MeasuredPoint& point) {
    return modelled_us(point.size, part.cluster, part.tuning) <= point.time_us;
  });
  if (!part.points.empty()) {
    fit.notes.push_back(part.log->source + ": " +
                        slower_than_bounds(*part.log, part.cluster, part.tuning));
    return true;
  }
  fit.left_out.push_back({part.log->source,
                          "its times include the wait for other ranks. Such upper bounds only "
                          "show predictions that are too long, and none is"});
  return false;
}

std::optional<Part> part_of(const MeasuredLog& log, const ClusterAt& cluster_at,
                            const FitOptions& options, Fit& fit) {
  if (log.points.empty()) {
    fit.left_out.push_back({log.source, "it has no table of times"});
    note_words(log, cluster_at, options, fit);
    return std::nullopt;
  }
  const JobShape shape = shape_of(log);
  if (shape.ranks() <= 1) {
    fit.left_out.push_back({log.source, "a single GPU sends nothing"});
    return std::nullopt;
  }
  Part part{&log, shape, cluster_at(shape), tuning_of(log, options.nccl), by_size(log)};
  part.cluster.calibration.reset();
  check_device(log, part.cluster);
  if (log.timed_by == TimedBy::one_rank && !keep_bounds(part, fit)) return std::nullopt;
  const auto wrong = std::count_if(
      log.points.begin(), log.points.end(),
      [](const MeasuredPoint& point) { return point.wrong > 0 && !(sound_us(point) > 0); });
  if (const std::string note = wrong_note(log); !note.empty())
    fit.notes.push_back(log.source + ": " + note);
  const std::string sound = wrong == 0 ? "" : fmt::format(" ({} wrong rows left out)", wrong);
  if (wrong > 0 && part.points.empty())
    fail(log.source, "has wrong results at every size", "Repair the machine, then measure again");
  if (log.timed_by != TimedBy::all_reduce_perf) {
    MeasuredLog kept = log;
    kept.points = part.points;
    const LogHealth found = health(kept, part.cluster, part.tuning);
    // Slow links belong to this very job, and the next step will meet them. Too fast means another
    // machine.
    const bool slow = found.slowdown && *found.slowdown > 1;
    if (!slow) part.faults = found.faults;
    if (slow)
      for (const std::string& fault : found.faults) fit.notes.push_back(log.source + ": " + fault);
    return part;
  }
  if (part.points.size() < 2)
    fail(log.source, "has only one size" + sound + ": latency and bandwidth cannot be told apart",
         "Measure a range of sizes: all_reduce_perf -b 8 -e 1G -f 2");
  if (part.points.size() < kFewestSizes)
    fail(log.source,
         fmt::format("has {} sizes{}; a fit needs at least {}", part.points.size(), sound,
                     kFewestSizes),
         "Measure a range of sizes: all_reduce_perf -b 8 -e 1G -f 2");
  const LogHealth found = health(log, part.cluster, part.tuning);
  for (const std::string& note : found.notes) fit.notes.push_back(log.source + ": " + note);
  if (found.other_unit)
    fail(log.source, found.faults.back(), "Give times in microseconds, as all_reduce_perf does");
  part.faults = found.faults;
  return part;
}

bool same_rows(const std::vector<MeasuredPoint>& a, const std::vector<MeasuredPoint>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const MeasuredPoint& one, const MeasuredPoint& other) {
                      return one.size == other.size && one.time_us == other.time_us;
                    });
}

std::string contradiction_hint(const Part& a, const Part& b) {
  for (const auto& [one, other] : {std::pair(&a, &b), std::pair(&b, &a)})
    if (!one->faults.empty() && other->faults.empty())
      return fmt::format("Leave {} out: {}", one->log->source, one->faults.front());
  return "Two such logs cannot come from one machine in one state. Leave one out";
}

/// Leaves out the logs that `health` distrusts, and says why.
std::vector<Part> trusted(std::vector<Part> parts, const FitOptions& options, Fit& fit) {
  std::vector<Part> out;
  for (Part& part : parts) {
    if (part.faults.empty() || options.keep_unhealthy) {
      for (const std::string& fault : part.faults)
        fit.notes.push_back(part.log->source + ": " + fault);
      out.push_back(std::move(part));
      continue;
    }
    std::string reason;
    for (const std::string& fault : part.faults) reason += (reason.empty() ? "" : "; ") + fault;
    fit.left_out.push_back({part.log->source, reason + "; pass --keep-unhealthy to fit it anyway"});
  }
  return out;
}

/// Two logs of one shape must come from one machine and from two runs.
void check_agreement(const std::vector<Part>& parts, Fit& fit) {
  for (std::size_t a = 0; a < parts.size(); ++a)
    for (std::size_t b = a + 1; b < parts.size(); ++b) {
      if (!(parts[a].shape == parts[b].shape)) continue;
      if (same_rows(parts[a].points, parts[b].points))
        fail(parts[b].log->source,
             fmt::format("has the same times as {} and would count twice", parts[a].log->source),
             "Give each log once");
      std::vector<double> ratios;
      std::vector<double> large;
      for (const MeasuredPoint& one : parts[a].points)
        for (const MeasuredPoint& other : parts[b].points)
          if (one.size == other.size) {
            ratios.push_back(elementary::log(other.time_us / one.time_us));
            if (one.size >= kLargeFrom) large.push_back(ratios.back());
          }
      if (ratios.empty()) continue;
      double ratio = elementary::exp(median(std::move(ratios)));
      const double large_ratio = large.empty() ? ratio : elementary::exp(median(std::move(large)));
      const bool at_large =
          std::abs(elementary::log(large_ratio)) > std::abs(elementary::log(ratio));
      if (at_large) ratio = large_ratio;
      const std::string message = fmt::format(
          "takes {:.2f} times what {} takes on the same {} of {} GPUs (median{})", ratio,
          parts[a].log->source,
          parts[a].shape.nodes == 1 ? "node" : fmt::format("{} nodes", parts[a].shape.nodes),
          parts[a].shape.gpus_per_node, at_large ? " from 1 MiB" : "");
      if (ratio >= kContradiction || ratio <= 1 / kContradiction)
        fail(parts[b].log->source, message, contradiction_hint(parts[a], parts[b]));
      if (std::abs(elementary::log(ratio)) > 0.1)
        fit.notes.push_back(parts[b].log->source + " " + message +
                            ". Intervals span both; measure once more, then leave one out");
    }
}

}  // namespace

std::vector<Part> parts_of(const std::vector<MeasuredLog>& logs, const ClusterAt& cluster_at,
                           const FitOptions& options, Fit& fit) {
  std::vector<Part> parts;
  for (const MeasuredLog& log : logs)
    if (auto part = part_of(log, cluster_at, options, fit)) parts.push_back(std::move(*part));
  check_agreement(parts, fit);
  parts = trusted(std::move(parts), options, fit);
  if (parts.empty()) {
    const std::string file = logs.empty() ? "command line" : logs.front().source;
    const std::string why = fit.left_out.empty() ? "" : fit.left_out.front().reason;
    fail(file, fit.left_out.empty() ? "no log to fit" : "no log is left to fit: " + why,
         logs.empty() || logs.front().timed_by != TimedBy::one_rank
             ? "Give a log of this cluster in a healthy state"
             : "Give the traces of all ranks of the job, which show its transfers, or a log of "
               "all_reduce_perf");
  }

  return parts;
}

void check_size(const std::vector<Part>& parts) {
  std::size_t points = 0;
  for (const Part& part : parts) points += part.points.size();
  if (points > kMostPoints)
    fail(parts.front().log->source, fmt::format("all logs together have {} sizes", points),
         fmt::format("At most {} are possible; a factor of two between sizes (-f 2) is enough",
                     kMostPoints));
}

SizeSpread repeatability_of(const std::vector<Part>& parts) {
  std::vector<std::pair<Bytes, double>> in_place;
  std::vector<std::pair<Bytes, double>> other_log;
  for (std::size_t a = 0; a < parts.size(); ++a)
    for (const MeasuredPoint& point : parts[a].points) {
      if (point.in_place_us && *point.in_place_us > 0)
        in_place.emplace_back(point.size,
                              std::abs(elementary::log(*point.in_place_us / point.time_us)));
      for (std::size_t b = 0; b < a; ++b)
        if (parts[a].shape == parts[b].shape)
          for (const MeasuredPoint& other : parts[b].points)
            if (other.size == point.size)
              other_log.emplace_back(point.size,
                                     std::abs(elementary::log(other.time_us / point.time_us)) / 2);
    }
  const auto one = [](const std::vector<std::pair<Bytes, double>>& all, Bytes from, Bytes to) {
    std::vector<double> within;
    for (const auto& [size, apart] : all)
      if (size >= from && size < to) within.push_back(apart);
    return within.empty() ? 0.0 : quantile(std::move(within), 0.8) / k80PercentSigmas;
  };
  const auto wider = [&](Bytes from, Bytes to) {
    return std::max(one(in_place, from, to), one(other_log, from, to));
  };
  return {wider(Bytes(1), kMiddleFrom), wider(kMiddleFrom, kLargeFrom),
          wider(kLargeFrom, Bytes::max())};
}

}  // namespace ddpsim
