#include "selection_fit.hpp"
#include "ddpsim/sim/nccl/correction.hpp"
#include "ddpsim/sim/values/elementary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

namespace ddpsim {
namespace {

/// How far NCCL's estimates of trees lie from those of our table for the stated cluster: one
/// standard deviation of the logarithm. The fitted families have 0.95, 1, 1.05 and 1.2.
constexpr double kWeighed = 0.05;
/// Chance that LL128 is not used between nodes although the table would choose it.
constexpr double kWithoutLl128 = 0.5;
/// Chance that a choice printed by NCCL differs from its own table with the right weights.
constexpr double kContradicted = 0.05;

Cluster with(const Cluster& cluster, Calibration calibration) {
  Cluster out = cluster;
  out.calibration = std::make_shared<const Calibration>(std::move(calibration));
  return out;
}

/// What NCCL chose at every point: what it printed, else the choice of its table with these
/// weights. Also counts the printed choices that the table contradicts.
struct Choices {
  std::vector<CollectiveChoice> of;
  int contradicted = 0;
};

Choices choices_of(const std::vector<Part>& parts, const FittedSelection& selection) {
  Choices out;
  for (const Part& part : parts) {
    const Cluster cluster = with(part.cluster, {.selection = selection});
    for (const MeasuredPoint& point : part.points) {
      CollectiveChoice choice =
          select_algorithm(CollectiveKind::all_reduce, point.size, cluster, part.tuning);
      const auto& printed = part.log->decisions;
      const auto decision =
          std::find_if(printed.begin(), printed.end(),
                       [&](const NcclDecision& decided) { return decided.size == point.size; });
      if (decision != printed.end() &&
          (decision->algorithm != choice.algorithm || decision->protocol != choice.protocol)) {
        ++out.contradicted;
        CollectiveTuning forced = part.tuning;
        forced.algorithms = decision->algorithm;
        forced.protocols = decision->protocol;
        if (can_select_algorithm(cluster, forced))
          choice = select_algorithm(CollectiveKind::all_reduce, point.size, cluster, forced);
      }
      out.of.push_back(choice);
    }
  }
  return out;
}

/// Logarithm of the prior probability of a selection.
double expectation(const FittedSelection& selection, int contradicted) {
  const double tree = elementary::log(selection.tree_factor) / kWeighed;
  return -tree * tree / 2 + (selection.ll128_between_nodes ? 0 : elementary::log(kWithoutLl128)) +
         contradicted * elementary::log(kContradicted);
}

bool same_choices(const Choices& a, const Choices& b) {
  return std::equal(a.of.begin(), a.of.end(), b.of.begin(), b.of.end(),
                    [](const CollectiveChoice& one, const CollectiveChoice& other) {
                      return one.algorithm == other.algorithm && one.protocol == other.protocol &&
                             one.channels == other.channels;
                    });
}

class Explanation {
 public:
  Explanation(const std::vector<Part>& parts, std::vector<CalibratedShape> shapes)
      : parts_(parts), shapes_(std::move(shapes)) {
    problem_.prior = constants_of(parts.front().cluster);
    for (const Part& part : parts)
      for (const MeasuredPoint& point : part.points) add(point, part);
    try_out({});
  }

  /// Changes one thing at a time, starting from the best so far, until nothing more helps.
  Explained best() {
    for (double before = most_;; before = most_) {
      const FittedSelection from = best_.selection;
      for (const bool ll128 : {true, false}) {
        FittedSelection other = from;
        other.ll128_between_nodes = ll128;
        try_out(other);
      }
      const FittedSelection middle = best_.selection;
      for (const double factor : {1.0, 1.05, 0.95, 1.1, 0.9, 1.2, 0.8, 1.35, 0.7}) {
        FittedSelection other = middle;
        other.tree_factor = factor;
        try_out(other);
      }
      if (!(most_ > before)) return best_;
    }
  }

 private:
  void add(const MeasuredPoint& point, const Part& part) {
    problem_.log_measured.push_back(elementary::log(point.time_us));
    problem_.noise.push_back(part.log->timed_by == TimedBy::all_reduce_perf ? 1 : kRecordedNoise);
    problem_.published.push_back(part.published);
  }

  void try_out(const FittedSelection& selection) {
    const Choices choices = choices_of(parts_, selection);
    if (std::any_of(seen_.begin(), seen_.end(),
                    [&](const Choices& before) { return same_choices(before, choices); }))
      return;
    seen_.push_back(choices);
    problem_.operating_points.clear();
    for (const Part& part : parts_) {
      const Cluster cluster = with(part.cluster, {.shapes = shapes_});
      for (const MeasuredPoint& point : part.points)
        problem_.operating_points.push_back(
            operating_point_of(choices.of[problem_.operating_points.size()], point.size, cluster));
    }
    problem_.log_modelled = [this, of = choices.of](const PathConstants& constants) {
      std::vector<double> out = times_us(parts_, of, {.constants = constants});
      for (double& value : out) value = elementary::log(value);
      return out;
    };
    KrigingFit solved = solve(problem_);
    const double likely = solved.evidence + expectation(selection, choices.contradicted);
    if (!(likely > most_) && !best_.choices.empty()) return;
    if (std::isfinite(likely)) most_ = likely;
    best_ = {selection, choices.of, problem_.operating_points, std::move(solved)};
  }

  const std::vector<Part>& parts_;
  std::vector<CalibratedShape> shapes_;
  KrigingProblem problem_;
  std::vector<Choices> seen_;
  Explained best_;
  double most_ = -std::numeric_limits<double>::infinity();
};

}  // namespace

Explained explain(const std::vector<Part>& parts, const std::vector<CalibratedShape>& shapes) {
  return Explanation(parts, shapes).best();
}

std::string note_of(const FittedSelection& selection) {
  std::string note;
  if (!selection.ll128_between_nodes) note = "NCCL seems not to use LL128 between nodes";
  if (selection.tree_factor != 1)
    note += fmt::format("{} trees {} than its table says (factor {} on its estimate)",
                        note.empty() ? "NCCL seems to use" : ", and to use",
                        selection.tree_factor < 1 ? "more readily" : "less readily",
                        selection.tree_factor);
  if (note.empty()) return "";
  return note +
         ". This explains the logs best, so predictions use it. A log with NCCL_DEBUG=INFO "
         "NCCL_DEBUG_SUBSYS=TUNING would settle it";
}

std::vector<double> times_us(const std::vector<Part>& parts,
                             const std::vector<CollectiveChoice>& choices,
                             const Calibration& calibration) {
  std::vector<double> out;
  out.reserve(choices.size());
  for (const Part& part : parts) {
    const Cluster cluster = with(part.cluster, calibration);
    for (const MeasuredPoint& point : part.points)
      out.push_back(cost(CollectiveKind::all_reduce, choices[out.size()], point.size, cluster)
                        .microseconds());
  }
  return out;
}

}  // namespace ddpsim
