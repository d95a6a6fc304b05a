#include "ddpsim/reports/sweep_report.hpp"
#include "ddpsim/topologies/kind_words.hpp"
#include "described_documents.hpp"
#include "described_step.hpp"

namespace ddpsim {
namespace {

using Layout = JsonWriter::Layout;

/// Reads a value of the point's cluster, which is absent where the cluster cannot be read.
template <typename Read>
auto of_cluster(Read read) {
  return [read](const SweepRow& of) {
    using Value = std::remove_cvref_t<std::invoke_result_t<Read, const Cluster&>>;
    return of.cluster ? std::optional<Value>(std::invoke(read, *of.cluster)) : std::nullopt;
  };
}

/// Reads a value of the point's cluster, where that has a network.
template <typename Read>
auto of_network(Read read) {
  return [read](const SweepRow& of) {
    using Value = std::remove_cvref_t<std::invoke_result_t<Read, const Cluster&>>;
    return of.cluster && of.cluster->network.kind != NetworkKind::none
               ? std::optional<Value>(std::invoke(read, *of.cluster))
               : std::nullopt;
  };
}

/// Reads a time of the point's step, which is absent where there is no answer.
template <typename Read>
auto of_times(Read read) {
  return [read](const SweepRow& of) {
    return of.times ? std::optional<Duration>(std::invoke(read, *of.times)) : std::nullopt;
  };
}

std::optional<Duration> step_of(const SweepRow& row) {
  return row.times ? std::optional(row.times->iteration) : std::nullopt;
}

/// The step moved by so many percent, where intervals are known.
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

/// Reads what 1000 steps cost in US dollars, each as long as `step` says.
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
                   "nodes of the cluster; null where it cannot be read")
          .integer("gpus_per_node", of_cluster(&Cluster::gpus_per_host),
                   "GPUs of a node; null where the cluster cannot be read")
          .integer("ranks", of_cluster(&Cluster::ranks),
                   "GPUs of the cluster; null where it cannot be read")
          .text(
              "gpu",
              [](const SweepRow& of) {
                return of.cluster && !of.cluster->gpu.name.empty() ? &of.cluster->gpu.name
                                                                   : nullptr;
              },
              "the model of the cluster's GPUs; null where the cluster cannot be read")
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

/// Nulls where there is no answer.
const Described<SweepRow>& described_answer() {
  static const auto described =
      Described<SweepRow>("SweptStep", "the step of a point")
          .time("iteration_us", &step_of, "the step; null where there is no answer")
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
              "how sure the step is, A the surest; null without an answer or with --no-intervals")
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
                "the candidate whose measured step corrects the point, the point's own included; "
                "null: none does")
          .members_of(
              [](const SweepRow& of) {
                return of.times ? training_speed(of.work, *of.times) : TrainingSpeed();
              },
              described_speed())
          .time("exposed_communication_us", of_times(&StepTimes::exposed_communication),
                "communication that compute waits for; null where there is no answer")
          .time("blocking_communication_us", of_times(&StepTimes::blocking_communication),
                "exposed communication, buffer broadcast, SyncBatchNorm and model averaging "
                "together; null where there is no answer")
          .integer(
              "memory_bytes",
              [](const SweepRow& of) {
                return of.memory && of.memory->activations ? std::optional(of.memory->total())
                                                           : std::nullopt;
              },
              "what a rank's memory holds at most; null where activations are not known")
          .number(
              "usd_per_hour",
              [](const SweepRow& of) {
                return of.cost ? std::optional(of.cost->usd_per_hour) : std::nullopt;
              },
              "an hour of the whole cluster, in US dollars; null without a price")
          .ratio("usd_per_1000_steps", usd_of(&step_of),
                 "1000 steps in US dollars, goodput included; null without a price. With grade C "
                 "believe only the interval")
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
      Described<SweepRow>("SweepPoint", "a line of a sweep: a point of the study's grid",
                          Layout::line)
          .integer("point", &SweepRow::point, "the number of the point, from 0")
          .text("workload", &SweepRow::workload, "the workload as the study names it")
          .text("label", &SweepRow::label, "what the candidate is called")
          .text("cluster", &SweepRow::cluster_text,
                "the cluster as the study has it, ranges written out")
          .members_of(whole, described_sweep_cluster())
          .values_by_key("grid", &SweepRow::grid, "what the options of the study's grid are here")
          .members_of(whole, described_answer())
          .texts("warnings", &SweepRow::warnings, "what a reader should know, a sentence each")
          .text("error", unless_empty(&SweepRow::error),
                "why the point has no figures; null: it has");
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
