#include "ddpsim/reports/sweep_report.hpp"
#include "ddpsim/topologies/kind_words.hpp"
#include "described_documents.hpp"
#include "described_step.hpp"

namespace ddpsim {
namespace {

using Layout = JsonWriter::Layout;

/// Makes a function that reads a value from the cluster of a point of the sweep. The value is absent
/// if that cluster is invalid.
template <typename Read>
auto of_cluster(Read read) {
  return [read](const SweepRow& of) {
    using Value = std::remove_cvref_t<std::invoke_result_t<Read, const Cluster&>>;
    return of.cluster ? std::optional<Value>(std::invoke(read, *of.cluster)) : std::nullopt;
  };
}

/// Makes a function that reads a value from the cluster of a point of the sweep. The value is absent
/// if that cluster is invalid or has no network.
template <typename Read>
auto of_network(Read read) {
  return [read](const SweepRow& of) {
    using Value = std::remove_cvref_t<std::invoke_result_t<Read, const Cluster&>>;
    return of.cluster && of.cluster->network.kind != NetworkKind::none
               ? std::optional<Value>(std::invoke(read, *of.cluster))
               : std::nullopt;
  };
}

/// Makes a function that reads a time from the step of a point of the sweep. The time is absent if
/// the point could not be simulated.
template <typename Read>
auto of_times(Read read) {
  return [read](const SweepRow& of) {
    return of.times ? std::optional<Duration>(std::invoke(read, *of.times)) : std::nullopt;
  };
}

std::optional<Duration> step_of(const SweepRow& row) {
  return row.times ? std::optional(row.times->iteration) : std::nullopt;
}

/// The step changed by a percentage of the confidence; absent without intervals.
std::optional<Duration> moved_step(const SweepRow& row, double Confidence::*percent) {
  constexpr double kPercent = 100;
  if (!row.times || !row.confidence) return std::nullopt;
  return row.times->iteration.scaled(1 + (*row.confidence).*percent / kPercent);
}

std::optional<Duration> low_step(const SweepRow& row) {
  return moved_step(row, &Confidence::low_percent);
}

std::optional<Duration> high_step(const SweepRow& row) {
  return moved_step(row, &Confidence::high_percent);
}

/// Reads the cost of 1000 steps in US dollars. `step` gives the time of one step.
auto usd_of(std::optional<Duration> (*step)(const SweepRow& row)) {
  return [step](const SweepRow& of) -> std::optional<double> {
    const std::optional<Duration> one = step(of);
    if (!one || !of.cost) return std::nullopt;
    constexpr double kSteps = 1000;
    constexpr double kSecondsPerHour = 3600;
    return of.cost->usd_per_hour / kSecondsPerHour * one->seconds() * kSteps / of.cost->goodput;
  };
}

const Described<SweepRow>& described_sweep_cluster() {
  static const auto described =
      Described<SweepRow>("SweptCluster", "the cluster of a point")
          .integer("nodes", of_cluster(&Cluster::hosts),
                   "nodes of the cluster; null if it cannot be read")
          .integer("gpus_per_node", of_cluster(&Cluster::gpus_per_host),
                   "GPUs of a node; null if the cluster cannot be read")
          .integer("ranks", of_cluster(&Cluster::ranks),
                   "GPUs of the cluster; null if it cannot be read")
          .text(
              "gpu",
              [](const SweepRow& of) {
                return of.cluster && !of.cluster->gpu.name.empty() ? &of.cluster->gpu.name
                                                                   : nullptr;
              },
              "the model of the cluster's GPUs; null if the cluster cannot be read")
          .integer("nics_per_node", of_network([](const Cluster& of) {
                     return of.network.nics_per_node / of.hosts_per_node;
                   }),
                   "NICs of a node; null without a network")
          .ratio("per_nic_gbps", of_network([](const Cluster& of) {
                   constexpr double kBitsInAGbit = 1e9 / 8;
                   return of.network.per_nic.bytes_per_second() / kBitsInAGbit;
                 }),
                 "the rate of a NIC in one direction, in Gbit/s; null without a network")
          .one_of("network", of_network([](const Cluster& of) { return kind_word(of.network); }),
                  network_kind_words(), "the kind of network between nodes; null without one")
          .number("oversubscription",
                  of_network([](const Cluster& of) { return of.network.oversubscription; }),
                  "the network's oversubscription, as in a cluster's line; null without a network");
  return described;
}

/// The keys of the answer; all of them are null without one.
const Described<SweepRow>& described_answer() {
  static const auto described =
      Described<SweepRow>("SweptStep", "the step of a point")
          .time("iteration_us", &step_of, "time of the step; null without an answer")
          .time(
              "iteration_low_us", &low_step,
              "low end of the step's 80 % interval; null without an answer or with --no-intervals")
          .time(
              "iteration_high_us", &high_step,
              "high end of the step's 80 % interval; null without an answer or with --no-intervals")
          .word(
              "grade",
              [](const SweepRow& of) {
                return of.confidence ? std::optional(of.confidence->grade) : std::nullopt;
              },
              all_up_to(Grade::c),
              "how certain the step is, from A (most certain) to C; null without an answer or with "
              "--no-intervals")
          .text(
              "provenance",
              [](const SweepRow& of) {
                return of.confidence && !of.confidence->provenance.empty()
                           ? &of.confidence->provenance
                           : nullptr;
              },
              "the grade in words, as text prints it; null without an answer or with "
              "--no-intervals")
          .text("corrected_by", unless_empty(&SweepRow::corrected_by),
                "the candidate whose measured step corrects the point, possibly its own; null if "
                "none does")
          .members_of(
              [](const SweepRow& of) {
                return of.times ? training_speed(of.work, *of.times) : TrainingSpeed();
              },
              described_speed())
          .time("exposed_communication_us", of_times(&StepTimes::exposed_communication),
                "exposed communication: time in which compute waits for it; null without an answer")
          .time("blocking_communication_us", of_times(&StepTimes::blocking_communication),
                "time of exposed communication, buffer broadcast, SyncBatchNorm and model "
                "averaging together; null without an answer")
          .integer(
              "memory_bytes",
              [](const SweepRow& of) {
                return of.memory && of.memory->activations ? std::optional(of.memory->total())
                                                           : std::nullopt;
              },
              "peak memory of a rank, in bytes; null if activations are not known")
          .number(
              "usd_per_hour",
              [](const SweepRow& of) {
                return of.cost ? std::optional(of.cost->usd_per_hour) : std::nullopt;
              },
              "cost of the whole cluster per hour, in US dollars; null without a price")
          .ratio("usd_per_1000_steps", usd_of(&step_of),
                 "cost of 1000 steps in US dollars, goodput included; null without a price. With "
                 "grade C use only the interval")
          .ratio("usd_per_1000_steps_low", usd_of(&low_step),
                 "low end of the 80 % interval of usd_per_1000_steps; null without a price or with "
                 "--no-intervals")
          .ratio("usd_per_1000_steps_high", usd_of(&high_step),
                 "high end of the 80 % interval of usd_per_1000_steps; null without a price or "
                 "with --no-intervals");
  return described;
}

const Described<SweepRow>& described_sweep_point() {
  static const auto whole = [](const SweepRow& of) -> const SweepRow& { return of; };
  static const auto described =
      Described<SweepRow>("SweepPoint", "a line of a sweep, that is, a point of the study's grid",
                          Layout::line)
          .integer("point", &SweepRow::point, "the number of the point, from 0")
          .text("workload", &SweepRow::workload, "the workload as the study names it")
          .text("label", &SweepRow::label, "what the candidate is called")
          .text("cluster", &SweepRow::cluster_text,
                "the cluster as in the study, ranges written out")
          .members_of(whole, described_sweep_cluster())
          .values_by_key("grid", &SweepRow::grid,
                         "the point's values of the options in the study's grid")
          .members_of(whole, described_answer())
          .texts("warnings", &SweepRow::warnings, "warnings, one sentence each")
          .text("error", unless_empty(&SweepRow::error),
                "why the point has no answer; null if it has one");
  return described;
}

}  // namespace

const ObjectType& sweep_point_document() {
  return described_sweep_point().type();
}

std::string sweep_line(const SweepRow& row) {
  return described_sweep_point().text_of(row);
}

}  // namespace ddpsim
