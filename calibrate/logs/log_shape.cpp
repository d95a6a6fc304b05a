#include "log_shape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "ddpsim/formats/input_error.hpp"
#include "rank_count.hpp"

namespace ddpsim {
namespace {

/// What in the list of devices contradicts a stated shape; empty if they fit. Hosts may share a
/// name (containers), every process may see its GPU as device 0, and a list may be cut off. So
/// fewer hosts, devices or ranks than stated are no contradiction. A list without gaps that ends at
/// a number of ranks that the table confirms is not cut off.
std::string contradiction(const RawRun& run, JobShape stated) {
  std::map<std::string, std::set<int>> on_host;
  std::set<int> ranks;
  std::size_t most_devices = 0;
  for (const RawDevice& device : run.devices) {
    std::set<int>& devices = on_host[device.host];
    if (device.index) devices.insert(*device.index);
    most_devices = std::max(most_devices, devices.size());
    ranks.insert(device.rank);
  }
  if (ranks.empty()) return "";
  const auto hosts = static_cast<int>(on_host.size());
  const int listed = *ranks.rbegin() + 1;
  const bool whole = static_cast<int>(ranks.size()) == listed && rank_range(run.rows).has(listed);
  if (hosts <= stated.nodes && static_cast<int>(most_devices) <= stated.gpus_per_node &&
      listed <= stated.ranks() && (listed == stated.ranks() || !whole))
    return "";
  return fmt::format(
      "the list of devices names {} ranks on {} {}{}", listed, hosts, hosts == 1 ? "host" : "hosts",
      most_devices > 1 ? fmt::format(", up to {} devices on one", most_devices) : "");
}

class ShapeFinder {
 public:
  ShapeFinder(MeasuredLog& log, const RawLog& raw, const RawRun& run,
              const std::vector<RawRow>& rows, std::optional<JobShape> stated)
      : log_(log), raw_(raw), run_(run), rows_(rows), stated_(stated), range_(rank_range(rows)) {}

  void find();

 private:
  [[noreturn]] void fail(const std::string& place, std::string message, Hint hint) const {
    throw InputError({raw_.file, place, std::move(message), std::move(hint)});
  }
  void require_fitting(int ranks, const std::string& who) const;
  void take(JobShape shape);
  void find_ranks();
  void find_nodes();

  MeasuredLog& log_;
  const RawLog& raw_;
  const RawRun& run_;
  const std::vector<RawRow>& rows_;
  const std::optional<JobShape> stated_;
  const RankRange range_;
};

void ShapeFinder::find() {
  if (!range_.contradiction.empty()) {
    fail(range_.contradiction,
         "busbw / algbw implies another number of ranks than in the rows above",
         "Rows of several runs were mixed. Give one table, or keep the headers between them");
  }
  if (range_.factor_high < 0.01) {
    fail(rows_.front().place, "busbw is 0: every process ran alone, with one rank",
         "Build nccl-tests with MPI=1, or let one process drive all GPUs (-g)");
  }
  if (run_.shape && stated_ && !(*run_.shape == *stated_)) {
    fail(run_.place,
         fmt::format("has {}x{}, but {}x{} was stated", run_.shape->nodes,
                     run_.shape->gpus_per_node, stated_->nodes, stated_->gpus_per_node),
         "Leave out @NxG, or state a job shape that it has");
  }
  if (const std::optional<JobShape> shape = run_.shape ? run_.shape : stated_)
    take(*shape);
  else
    find_ranks();
}

void ShapeFinder::require_fitting(int ranks, const std::string& who) const {
  const auto by_table = range_.only();
  if (range_.has(ranks)) return;
  fail(rows_.front().place,
       fmt::format("{} {} ranks, but busbw / algbw implies {}", who, ranks,
                   by_table      ? std::to_string(*by_table)
                   : range_.high ? fmt::format("{} to {}", range_.low, *range_.high)
                                 : fmt::format("{} or more", range_.low)),
       "busbw = algbw x 2(n - 1)/n in all_reduce_perf");
}

/// Keeps the nodes and GPUs per node that the user or the log states. A contradiction between the
/// two is an error.
void ShapeFinder::take(JobShape shape) {
  require_fitting(shape.ranks(), fmt::format("{}x{} are", shape.nodes, shape.gpus_per_node));
  const std::string list = stated_ ? contradiction(run_, shape) : "";
  if (!list.empty()) {
    fail(run_.place,
         fmt::format("{}. But {}x{} was stated: {} {} of {} {}", list, shape.nodes,
                     shape.gpus_per_node, shape.nodes, shape.nodes == 1 ? "node" : "nodes",
                     shape.gpus_per_node, shape.gpus_per_node == 1 ? "GPU" : "GPUs"),
         "Leave out @NxG, or correct it: nodes, then GPUs per node");
  }
  log_.ranks = shape.ranks();
  log_.nodes = shape.nodes;
  log_.gpus_per_node = shape.gpus_per_node;
}

/// Finds the ranks from the list of devices, else from the table, else from NCCL's lines.
void ShapeFinder::find_ranks() {
  const auto by_table = range_.only();
  int listed = 0;
  for (const RawDevice& device : run_.devices) listed = std::max(listed, device.rank + 1);
  const int told = raw_.said.ranks.value_or(0);
  if (listed > 0 && range_.has(listed)) {
    log_.ranks = listed;
  } else if (by_table) {
    log_.ranks = *by_table;
    if (listed > *by_table) require_fitting(listed, "the list of devices names");
    if (listed > 0) {
      log_.warnings.push_back(
          fmt::format("the list of devices ends at rank {}, but busbw / algbw implies {} ranks. "
                      "The list is cut off, or belongs to another run",
                      listed - 1, *by_table));
      return;
    }
  } else if (told > 0 && range_.has(told)) {
    log_.ranks = told;
  } else {
    log_.warnings.push_back(
        fmt::format("the number of ranks is unknown ({}). State nodes and GPUs per node: LOG@NxG",
                    range_.high ? fmt::format("{} to {} would fit", range_.low, *range_.high)
                                : fmt::format("{} or more would fit", range_.low)));
    return;
  }
  find_nodes();
}

void ShapeFinder::find_nodes() {
  std::map<std::string, int> on_host;
  for (const RawDevice& device : run_.devices) ++on_host[device.host];
  const auto set = [&](int nodes) {
    log_.nodes = nodes;
    log_.gpus_per_node = log_.ranks / nodes;
  };
  const int hosts = static_cast<int>(on_host.size());
  const bool whole = static_cast<int>(run_.devices.size()) >= log_.ranks;
  const auto fits = [&](const auto& host) { return host.second <= log_.ranks / hosts; };
  // If the list is cut off, hosts may be missing, unless one of those listed has its full number of
  // devices.
  const auto full = [&](const auto& host) { return host.second == log_.ranks / hosts; };
  if (hosts > 0 && log_.ranks % hosts == 0 && std::all_of(on_host.begin(), on_host.end(), fits) &&
      (whole || std::any_of(on_host.begin(), on_host.end(), full))) {
    set(hosts);
    if (!whole) {
      log_.warnings.push_back(
          fmt::format("the list of devices names {} of {} ranks", run_.devices.size(), log_.ranks));
    }
    return;
  }
  if (hosts == 0 && raw_.said.nodes && log_.ranks % *raw_.said.nodes == 0) {
    set(*raw_.said.nodes);
    return;
  }
  if (hosts == 0 && run_.gpus_per_process == log_.ranks) {  // one process cannot leave its node
    set(1);
    return;
  }
  log_.warnings.push_back(nodes_unknown(log_.ranks));
}

}  // namespace

int listed_ranks(const RawRun& run) {
  std::set<int> ranks;
  for (const RawDevice& device : run.devices) ranks.insert(device.rank);
  const bool whole = !ranks.empty() && *ranks.begin() == 0 &&
                     *ranks.rbegin() + 1 == static_cast<int>(ranks.size());
  return whole ? static_cast<int>(ranks.size()) : 0;
}

bool is_of_shape(const RawRun& run, JobShape stated) {
  if (run.shape) return *run.shape == stated;
  const RankRange range = rank_range(run.rows);
  return range.contradiction.empty() && range.has(stated.ranks()) &&
         contradiction(run, stated).empty();
}

void find_shape(MeasuredLog& log, const RawLog& raw, const RawRun& run,
                const std::vector<RawRow>& rows, std::optional<JobShape> stated) {
  ShapeFinder(log, raw, run, rows, stated).find();
}

std::string nodes_unknown(int ranks) {
  return fmt::format(
      "{} ranks on an unknown number of nodes. State nodes and GPUs per node: LOG@NxG", ranks);
}

}  // namespace ddpsim
