#include "sweep_points.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "ddpsim/formats/usage_error.hpp"
#include "ddpsim/jobs/measured_step.hpp"
#include "ddpsim/models/model_flops.hpp"
#include "ddpsim/reports/sweep_report.hpp"
#include "ddpsim/sim/simulate/simulate.hpp"
#include "known_steps.hpp"
#include "point_settings.hpp"
#include "read_once.hpp"
#include "sweep_anchors.hpp"

namespace ddpsim {
namespace {

/// Equal for two requests that read the same cluster.
using RequestKey =
    std::tuple<std::string, std::optional<int>, std::optional<int>, std::vector<GroupSize>>;

RequestKey key_of(const ClusterRequest& request) {
  return {request.text, request.nodes, request.gpus_per_node, request.groups};
}

/// Reads items until one can be read. Throws the reason of the first if none can.
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

/// Returns what an hour costs, if known.
std::optional<RowCost> cost_of(const PointSettings& settings, std::size_t candidate,
                               const Candidate& called, const Cluster& cluster) {
  std::optional<Price> price = settings.stated[candidate];
  if (!price && !settings.arguments->money.prices.empty()) {
    MoneyArguments listed = settings.arguments->money;
    listed.prices = {"list"};
    price = prices(listed, {called}, {&cluster}).front();
  }
  if (!price) return std::nullopt;
  RowCost cost{.usd_per_hour = usd_per_hour(*price, cluster, settings.owned[candidate])};
  if (const auto& failing = settings.failing[candidate])
    cost.goodput = goodput(*failing, cluster.hosts()).share;
  return cost;
}

}  // namespace

class SweepPoints::Shared {
 public:
  Shared(const SweepStudy& study, bool with_intervals)
      : intervals(with_intervals), settings_(study) {
    readers.cluster = [this](const ClusterRequest& request) {
      return clusters_.get(key_of(request), [&] { return load_calibrated_cluster(request); });
    };
    readers.fabric = [this](const ClusterRequest& request) {
      return fabrics_.get(key_of(request), [&] { return build_fabric(request); });
    };
  }

  /// Returns the workload `name`, read as `request` says.
  const LoadedWorkload& workload(const std::string& name, WorkloadRequest request) {
    request.source = name;
    const std::tuple key(name, request.model, request.timing);
    return workloads_.get(key, [&] { return load_workload(request); });
  }

  const Cluster& cluster(const Candidate& candidate, const PointSettings& settings) {
    ClusterRequest request = settings.request.cluster;
    request.text = candidate.cluster;
    return clusters_.get(key_of(request), [&] { return load_calibrated_cluster(request); });
  }

  PointSettings settings(const SweepPoint& point) const { return settings_.of(point.combination); }

  /// Adds the warnings from reading the step measured on a candidate.
  void add_warnings_of_steps(std::size_t candidate, std::vector<std::string>& warnings) const {
    for (const Anchor& anchor : anchors_)
      if (anchor.candidate == candidate)
        warnings.insert(warnings.end(), anchor.warnings.begin(), anchor.warnings.end());
  }

  KnownStep step(const SweepPoint& point, std::size_t alike, const Job& job) {
    return known_.get({point.workload, point.candidate}, alike, job, [&] {
      if (!anchors_.empty()) {
        KnownStep step =
            anchored_step(job, point.candidate, settings_.measured()->alike == alike, anchors_);
        if (!intervals) step.confidence.reset();
        return step;
      }
      KnownStep step{.times = simulate_times(job), .confidence = {}};
      if (intervals) step.confidence = assess(job, step.times, std::nullopt);
      return step;
    });
  }

  /// Returns the GPU settings after all earlier candidates. A --compute-scale without a GPU belongs to the first GPU that differs.
  GpuSettings gpus_before(const SweepStudy& study, const SweepPoint& point,
                          const PointSettings& settings, const Workload& workload) {
    const CandidateArguments& arguments = *settings.arguments;
    GpuSettings gpus(arguments.compute_scales, arguments.gpus);
    if (arguments.compute_scales.empty()) return gpus;
    for (std::size_t k = 0; k < point.candidate; ++k) {
      ComputeRequest compute;
      try {
        gpus.apply(workload, cluster(study.candidates[k], settings), compute);
      } catch (const InputError&) {  // that candidate's points say so
      } catch (const UsageError&) {
      }
    }
    return gpus;
  }

  /// Throws InputError if an option names a GPU that no cluster has, as `compare` does.
  void require_gpus_used(const SweepStudy& study) {
    std::set<std::pair<std::vector<std::string>, std::vector<std::string>>> checked;
    const bool vary = std::ranges::any_of(study.axes, [](const SweepAxis& axis) {
      return axis.option == "gpu" || axis.option == "compute-scale";
    });
    for (std::size_t k = 0; k < (vary ? study.combinations() : 1); ++k) {
      const PointSettings own = settings_.of(k);
      if (!own.arguments) continue;
      const CandidateArguments& arguments = *own.arguments;
      if (!checked.emplace(arguments.compute_scales, arguments.gpus).second) continue;
      if (arguments.compute_scales.empty() && arguments.gpus.empty()) continue;
      const std::optional<GpuSettings> gpus = gpus_of_all(study, own);
      if (!gpus) continue;
      try {
        gpus->require_all_used();
      } catch (const UsageError& error) {
        throw InputError({.file = study.file, .where = "", .message = error.what(), .hint = ""});
      }
    }
  }

  /// Reads --measured-step. Throws InputError if a step belongs to no candidate or cannot be used.
  void read_anchors(const SweepStudy& study) {
    if (!settings_.measured()) return;
    try {
      for (const std::string& text : settings_.measured()->arguments->measured_steps) {
        const std::size_t before = anchors_.size();
        for (std::size_t k = 0; k < study.candidates.size(); ++k)
          if (const auto step = own_step(text, study.candidates[k]))
            anchors_.push_back(anchor(study, k, *step));
        if (anchors_.size() == before)
          throw UsageError(fmt::format("--measured-step {}", text), "no candidate has this name");
      }
      for (std::size_t k = 0; k < study.candidates.size(); ++k)
        if (const auto& step = study.candidates[k].measured_step)
          anchors_.push_back(anchor(study, k, *step));
    } catch (const UsageError& error) {
      throw InputError({.file = study.file, .where = "", .message = error.what(), .hint = ""});
    }
  }

  /// Throws the first reason if no workload or no cluster can be read.
  void require_any(const SweepStudy& study) {
    const PointSettings first = settings_.of(0);
    if (!first.arguments) return;
    require_any_of(study.workloads,
                   [&](const std::string& name) { workload(name, first.request.workload); });
    require_any_of(study.candidates,
                   [&](const Candidate& candidate) { cluster(candidate, first); });
  }

 private:
  /// Returns the GPU settings after all candidates. Returns nothing if some cannot be read or contradict each other, which their points
  /// report.
  std::optional<GpuSettings> gpus_of_all(const SweepStudy& study, const PointSettings& settings) {
    try {
      GpuSettings gpus(settings.arguments->compute_scales, settings.arguments->gpus);
      for (const std::string& name : study.workloads)
        for (const Candidate& candidate : study.candidates) {
          ComputeRequest compute;
          const Workload& read = workload(name, settings.request.workload).workload;
          gpus.apply(read, cluster(candidate, settings), compute);
        }
      return gpus;
    } catch (const InputError&) {
    } catch (const UsageError&) {
    }
    return std::nullopt;
  }

  Anchor anchor(const SweepStudy& study, std::size_t k, const std::string& step) {
    const Candidate& candidate = study.candidates[k];
    for (const Anchor& other : anchors_)
      if (other.candidate == k)
        throw UsageError("--measured-step", fmt::format("{} is given twice", candidate.label));
    const PointSettings& settings = *settings_.measured();
    JobRequest request = settings.request;
    request.workload.source = study.workloads.front();
    const LoadedWorkload& read = workload(request.workload.source, request.workload);
    GpuSettings gpus = gpus_before(study, {.candidate = k}, settings, read.workload);
    NotCompared known{};
    const LoadedCandidate loaded =
        load_candidate(candidate, *settings.arguments, request, read, gpus, known, readers);
    Warnings warnings;
    const MeasuredStep measured =
        read_measured_step(parse_measured_step(step), samples_of_step(loaded.loaded.job), warnings);
    require_possible(measured, loaded.loaded.job, loaded.loaded.provenance.workload_source);
    return {.candidate = k,
            .label = candidate.label,
            .job = loaded.loaded.job,
            .measured = measured,
            .warnings = warnings.texts()};
  }

 public:
  const bool intervals;
  ClusterReaders readers;

 private:
  const StudySettings settings_;
  std::vector<Anchor> anchors_;
  ReadOnce<std::tuple<std::string, std::optional<std::string>, Timing>, LoadedWorkload> workloads_;
  ReadOnce<RequestKey, Cluster> clusters_;
  ReadOnce<RequestKey, Fabric> fabrics_;
  KnownSteps known_;
};

SweepPoints::SweepPoints(const SweepStudy& study, bool intervals)
    : study_(study), shared_(std::make_unique<Shared>(study, intervals)) {
  shared_->require_any(study);
  shared_->require_gpus_used(study);
  shared_->read_anchors(study);
}
SweepPoints::~SweepPoints() = default;

std::string SweepPoints::line(std::size_t index) const {
  const SweepPoint point = study_.point(index);
  const Candidate& candidate = study_.candidates[point.candidate];
  const PointSettings settings = shared_->settings(point);
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
    row.cluster = shared_->cluster(candidate, settings);
    JobRequest request = settings.request;
    request.workload.source = row.workload;
    const LoadedWorkload& workload = shared_->workload(row.workload, request.workload);
    GpuSettings gpus = shared_->gpus_before(study_, point, settings, workload.workload);
    LoadedCandidate loaded = load_candidate(candidate, *settings.arguments, request, workload, gpus,
                                            known, shared_->readers);
    const Job& job = loaded.loaded.job;
    const KnownStep step = shared_->step(point, *settings.alike, job);
    row.work = step_work(job);
    row.cost = cost_of(settings, point.candidate, candidate, job.cluster());
    row.warnings = loaded.loaded.trust.warnings.texts();
    shared_->add_warnings_of_steps(point.candidate, row.warnings);
    row.corrected_by = step.corrected_by;
    if (!step.contradiction.empty()) row.warnings.insert(row.warnings.begin(), step.contradiction);
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
