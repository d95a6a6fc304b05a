#include "sweep_points.hpp"

#include <exception>
#include <tuple>
#include <utility>
#include <vector>

#include "ddpsim/reports/sweep_report.hpp"
#include "known_steps.hpp"
#include "point_settings.hpp"
#include "read_once.hpp"
#include "usage_error.hpp"

namespace ddpsim {
namespace {

// Equal where two clusters are read alike.
using RequestKey =
    std::tuple<std::string, std::optional<int>, std::optional<int>, std::vector<int>>;

RequestKey key_of(const ClusterRequest& request) {
  return {request.text, request.nodes, request.gpus_per_node, request.groups};
}

/// Up to the first that can be read; throws the first reason where none can.
template <typename Item, typename Read>
void require_any_of(const std::vector<Item>& items, Read read) {
  std::exception_ptr first;
  for (const Item& item : items) {
    try {
      read(item);
      return;
    } catch (const InputError&) {
      if (!first) first = std::current_exception();
    }
  }
  std::rethrow_exception(first);
}

/// What an hour costs, where that is known.
std::optional<RowCost> cost_of(const PointSettings& settings, std::size_t candidate,
                               const Candidate& called, const Cluster& cluster) {
  std::optional<Price> price = settings.stated[candidate];
  if (!price && !settings.arguments->money.prices.empty()) {
    MoneyArguments listed = settings.arguments->money;
    listed.prices = {"list"};
    price = prices(listed, {called}, {&cluster}).front();
  }
  if (!price) return std::nullopt;
  RowCost cost{.usd_per_hour = usd_per_hour(*price, cluster, settings.owned)};
  if (settings.failing) cost.goodput = goodput(*settings.failing, cluster.nodes).share;
  return cost;
}

}  // namespace

class SweepPoints::Shared {
 public:
  Shared(const SweepStudy& study, bool with_intervals)
      : intervals(with_intervals), settings(settings_of(study, parser_)) {
    readers.cluster = [this](const ClusterRequest& request) {
      return clusters_.get(key_of(request), [&] { return load_cluster(request); });
    };
    readers.fabric = [this](const ClusterRequest& request) {
      return fabrics_.get(key_of(request), [&] { return build_fabric(request); });
    };
  }

  const LoadedWorkload& workload(const std::string& text, const JobArguments& job) {
    const std::tuple key(text, job.model, job.timing);
    return workloads_.get(key, [&] { return load_workload(text, job.model, job.timing); });
  }

  KnownStep step(const SweepPoint& point, std::size_t alike, const Job& job) {
    return known_.get({point.workload, point.candidate}, alike, job, [&] {
      KnownStep step{.times = simulate_times(job), .confidence = {}};
      if (intervals) step.confidence = assess(job, step.times, std::nullopt);
      return step;
    });
  }

  /// As every candidate before this one left them: a speed of whichever GPU differs is of one GPU.
  GpuSettings gpus_before(const SweepStudy& study, const SweepPoint& point,
                          const CandidateArguments& arguments, const Workload& workload) {
    GpuSettings gpus(arguments.compute_scales, arguments.gpus);
    if (arguments.compute_scales.empty()) return gpus;
    for (std::size_t k = 0; k < point.candidate; ++k) {
      JobArguments own = arguments.job;
      own.cluster.text = study.candidates[k].cluster;
      try {
        gpus.apply(workload, readers.cluster(cluster_request(own.cluster)), own);
      } catch (const InputError&) {  // that candidate's points say so
      } catch (const UsageError&) {
      }
    }
    return gpus;
  }

  /// Throws the first reason where not one workload, or not one cluster, can be read.
  void require_any(const SweepStudy& study) {
    if (!settings.front().arguments) return;
    JobArguments job = settings.front().arguments->job;
    require_any_of(study.workloads, [&](const std::string& text) { workload(text, job); });
    require_any_of(study.candidates, [&](const Candidate& candidate) {
      job.cluster.text = candidate.cluster;
      readers.cluster(cluster_request(job.cluster));
    });
  }

 private:
  PointParser parser_;

 public:
  const bool intervals;
  const std::vector<PointSettings> settings;  ///< by combination
  ClusterReaders readers;

 private:
  ReadOnce<std::tuple<std::string, std::optional<std::string>, Timing>, LoadedWorkload> workloads_;
  ReadOnce<RequestKey, Cluster> clusters_;
  ReadOnce<RequestKey, Fabric> fabrics_;
  KnownSteps known_;
};

SweepPoints::SweepPoints(const SweepStudy& study, bool intervals)
    : study_(study), shared_(std::make_unique<Shared>(study, intervals)) {
  shared_->require_any(study);
}
SweepPoints::~SweepPoints() = default;

std::string SweepPoints::line(std::size_t index) const {
  const SweepPoint point = study_.point(index);
  const Candidate& candidate = study_.candidates[point.candidate];
  const PointSettings& settings = shared_->settings[point.combination];
  SweepRow row{.point = index,
               .workload = study_.workloads[point.workload],
               .label = candidate.label,
               .cluster_text = candidate.cluster};
  const std::vector<const SweepAxis::Value*> values = study_.values_of(point.combination);
  for (std::size_t k = 0; k < values.size(); ++k)
    row.grid.emplace_back(study_.axes[k].option, values[k]->json);
  NotCompared known{};
  try {
    if (!settings.problem.empty()) throw UsageError(settings.problem);
    CandidateArguments arguments = *settings.arguments;
    arguments.job.workload = row.workload;
    arguments.job.cluster.text = candidate.cluster;
    row.cluster = shared_->readers.cluster(cluster_request(arguments.job.cluster));
    const LoadedWorkload& workload = shared_->workload(row.workload, arguments.job);
    GpuSettings gpus = shared_->gpus_before(study_, point, arguments, workload.workload);
    LoadedCandidate loaded = load_candidate(candidate, arguments, *settings.typed, workload, gpus,
                                            known, shared_->readers);
    const Job& job = loaded.loaded.job;
    const ReportContext& context = loaded.loaded.context;
    const KnownStep step = shared_->step(point, settings.alike, job);
    row.samples_per_second = context.samples_per_second(step.times.iteration);
    row.cost = cost_of(settings, point.candidate, candidate, job.cluster());
    row.warnings = context.warnings;
    row.times = step.times;
    row.confidence = step.confidence;
  } catch (const UsageError& error) {
    row.error = error.what();
  } catch (const InputError& error) {
    row.error = reason_of(error);
  }
  row.memory = known.memory;
  return sweep_line(row);
}

}  // namespace ddpsim
