#include "ddpsim/reports/html_report.hpp"
#include "ddpsim/reports/reports.hpp"
#include "described_allreduce.hpp"
#include "described_documents.hpp"
#include "described_trust.hpp"

namespace ddpsim {
namespace {

using Layout = JsonWriter::Layout;

const Described<OtherWays>& described_other_ways() {
  static const auto described =
      Described<OtherWays>("OtherWays", "other ways to do an all-reduce than NCCL's choice")
          .time("ring_us", &OtherWays::ring,
                "time of an all-reduce of this size by a ring; null if NCCL has none on this "
                "cluster. Only with --side-by-side")
          .time("tree_us", &OtherWays::tree,
                "time of an all-reduce of this size by a tree; null if NCCL has none on this "
                "cluster. Only with --side-by-side")
          .time("reduce_broadcast_us", &OtherWays::reduce_broadcast,
                "time of a reduce of this size to one rank and a broadcast after it. Only with "
                "--side-by-side");
  return described;
}

const Described<AllReduceSize>& described_row() {
  using Shown = AllReduceSize;
  static const auto described =
      Described<Shown>("AllreduceRow", "a size and the time of the collective", Layout::line)
          .integer(
              "size_bytes", [](const Shown& of) { return of.row.size; },
              "size in bytes, as nccl-tests counts it")
          .time(
              "time_us", [](const Shown& of) { return of.row.time; },
              "predicted time, out of place as in nccl-tests")
          .time(
              "low_us", [](const Shown& of) { return of.row.low; },
              "the low end of the 80 % interval of time_us")
          .time(
              "high_us", [](const Shown& of) { return of.row.high; },
              "the high end of the 80 % interval of time_us")
          .ratio(
              "algbw_gbps", [](const Shown& of) { return algbw_gbps(of.row.size, of.row.time); },
              "size divided by time, in GB/s as nccl-tests prints it")
          .ratio(
              "busbw_gbps",
              [](const Shown& of) {
                return busbw_gbps(of.row.size, of.row.time, of.table.ranks, of.table.collective);
              },
              "bus bandwidth of this collective, in GB/s as nccl-tests prints it")
          .word(
              "algorithm", [](const Shown& of) { return of.row.choice.algorithm; },
              all_up_to(Algorithm::nvls_tree), "the algorithm that NCCL chooses")
          .word(
              "protocol", [](const Shown& of) { return of.row.choice.protocol; },
              all_up_to(Protocol::simple), "the protocol that NCCL chooses")
          .integer(
              "channels", [](const Shown& of) { return of.row.choice.channels; },
              "channels that NCCL uses; each is one thread block")
          .time(
              "nccl_estimate_us", [](const Shown& of) { return of.row.choice.nccl_estimate; },
              "the estimate that NCCL bases its choice on; not a prediction")
          .members_of(
              [](const Shown& of) -> const auto& { return of.row.other_ways; },
              described_other_ways());
  return described;
}

/// Collectives that a table names. A table of all-reduces does not name its collective.
std::vector<CollectiveKind> named_collectives() {
  std::vector<CollectiveKind> named = all_up_to(CollectiveKind::send_recv);
  std::erase(named, CollectiveKind::all_reduce);
  return named;
}

const Described<AllReduceTable>& described_other_collective() {
  static const auto described =
      Described<AllReduceTable>("OtherCollective", "a collective other than all-reduce")
          .word(
              "collective",
              [](const AllReduceTable& of) {
                return of.collective != CollectiveKind::all_reduce ? std::optional(of.collective)
                                                                   : std::nullopt;
              },
              named_collectives(),
              "the collective; its *_perf program of nccl-tests defines sizes and busbw_gbps. Only "
              "with --collective other than all-reduce",
              Absent::left_out);
  return described;
}

const Described<AllReduceTable>& described_shape() {
  using Table = AllReduceTable;
  static const auto described =
      Described<Table>("AllreduceShape", "the nodes and GPUs of a table")
          .integer("ranks", &Table::ranks, "ranks that take part, one per GPU")
          .integer("nodes", &Table::nodes, "nodes of the cluster")
          .integer(
              "nodes_per_domain",
              [](const Table& of) {
                return of.nodes_per_domain > 1 ? std::optional(of.nodes_per_domain) : std::nullopt;
              },
              "how many nodes share an NVLink domain. Only if nodes share one", Absent::left_out)
          .integer("gpus_per_node", &Table::gpus_per_node, "GPUs of each node")
          .text("gpu", &Table::gpu, "the model of the GPUs");
  return described;
}

const Described<AllReduceReport>& described_allreduce() {
  using Report = AllReduceReport;
  static const auto table = [](const Report& of) -> const AllReduceTable& { return of.table; };
  static const auto described =
      Described<Report>("AllreduceResult", "the predicted table of nccl-tests")
          .constant("schema", "ddpsim.allreduce/1", "which document this is")
          .members_of(table, described_other_collective())
          .text(
              "cluster", [](const Report& of) -> const auto& { return of.cluster.name; },
              "the cluster's name")
          .members_of(table, described_shape())
          .text(
              "torch", [](const Report& of) { return to_string(of.torch); },
              "the PyTorch version that is simulated")
          .text(
              "nccl", [](const Report& of) { return to_string(of.nccl); },
              "the NCCL version that is simulated")
          .list(
              "rows", [](const Report& of) { return allreduce_sizes(of.table); }, described_row(),
              "a row for each size, smallest first")
          .members_of(
              [](const Report& of) -> const auto& { return of.table.confidence; },
              described_confidence())
          .texts(
              "warnings", [](const Report& of) -> const auto& { return of.warnings.texts(); },
              "warnings, one sentence each")
          .list(
              "calibrated_by",
              [](const Report& of) {
                auto logs = logs_of(of.cluster, Backend::nccl);
                return logs.empty() ? std::nullopt : std::optional(std::move(logs));
              },
              described_log(),
              "logs whose measured times the cluster reproduces. Only if it is calibrated",
              Absent::left_out);
  return described;
}

}  // namespace

std::vector<AllReduceSize> allreduce_sizes(const AllReduceTable& table) {
  std::vector<AllReduceSize> sizes;
  for (const AllReduceRow& row : table.rows) sizes.push_back({row, table});
  return sizes;
}

const Described<AllReduceSize>& described_allreduce_size() {
  static const auto described =
      Described<AllReduceSize>("AllreduceSize", "a size and the time of a collective")
          .members_of(
              [](const AllReduceSize& of) -> const auto& { return of.table; },
              described_other_collective())
          .members_of(
              [](const AllReduceSize& of) -> const auto& { return of; }, described_row());
  return described;
}

const ObjectType& allreduce_document() {
  return described_allreduce().type();
}

std::string allreduce_json(const AllReduceReport& report) {
  return described_allreduce().text_of(report);
}

std::string measured_all_reduces_json(const MeasuredAllReduces& measured) {
  JsonWriter json;
  json.begin_object();
  json.key("schema").string("ddpsim.measured_all_reduces/1");
  json.key("source").string(measured.source);
  json.key("rows").begin_array();
  for (const auto& [size, time_us] : measured.time_us) {
    json.begin_object(Layout::line);
    json.key("size_bytes").integer(size.count());
    json.key("time_us").ratio(time_us);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return std::move(json).finish();
}

}  // namespace ddpsim
