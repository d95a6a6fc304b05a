// What stands in a log -> logs that can be calculated with: runs of one shape pooled, ranks and nodes
// found, everything checked once.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/quote.hpp"
#include "ddpsim/sim/size_text.hpp"
#include "nccl_debug.hpp"
#include "rank_count.hpp"
#include "raw_log.hpp"
#include "row_checks.hpp"

namespace ddpsim {
namespace {

class Assembly {
 public:
  Assembly(const RawLog& raw, std::optional<JobShape> stated) : raw_(raw), stated_(stated) {}
  std::vector<MeasuredLog> run();

 private:
  [[noreturn]] void fail(const std::string& place, std::string message, std::string hint) const {
    throw InputError({raw_.file, place, std::move(message), std::move(hint)});
  }
  bool is_all_reduce(const RawRun& run);
  bool is_of_stated_shape(const RawRun& run) const;
  static std::string contradiction(const RawRun& run, JobShape stated);
  std::vector<RawRow> rows_of_one_type(const RawRun& run);
  MeasuredLog measured(const RawRun& run);
  void find_shape(MeasuredLog& log, const RawRun& run, const std::vector<RawRow>& rows) const;
  void find_nodes(MeasuredLog& log, const RawRun& run) const;
  void take_debug_lines(MeasuredLog& log) const;
  MeasuredLog debug_lines_alone() const;
  void describe(MeasuredLog& log, std::size_t tables) const;
  static void warn_once(MeasuredLog& log, std::string warning) {
    if (std::find(log.warnings.begin(), log.warnings.end(), warning) == log.warnings.end()) {
      log.warnings.push_back(std::move(warning));
    }
  }

  const RawLog& raw_;
  const std::optional<JobShape> stated_;
  std::vector<std::string> left_out_;
};

std::vector<MeasuredLog> Assembly::run() {
  std::vector<MeasuredLog> logs;
  std::vector<std::size_t> tables;
  std::vector<const RawRun*> runs;
  for (const RawRun& run : raw_.runs) {
    if (!run.rows.empty() && is_all_reduce(run)) runs.push_back(&run);
  }
  // A stated shape picks its runs from several; where none is of it, the first says what it is of.
  const auto stated_one = [&](const RawRun* run) { return is_of_stated_shape(*run); };
  if (std::any_of(runs.begin(), runs.end(), stated_one)) {
    for (const RawRun* run : runs) {
      if (!stated_one(run)) left_out_.push_back(run->rows.front().place + ": another job shape");
    }
    std::erase_if(runs, [&](const RawRun* run) { return !stated_one(run); });
  }
  for (const RawRun* const run : runs) {
    MeasuredLog log = measured(*run);
    if (log.points.empty()) continue;
    const auto same = std::find_if(logs.begin(), logs.end(), [&](const MeasuredLog& other) {
      return other.ranks == log.ranks && other.nodes == log.nodes &&
             other.gpus_per_node == log.gpus_per_node && other.gpu == log.gpu &&
             other.timed_by == log.timed_by;
    });
    if (same == logs.end()) {
      logs.push_back(std::move(log));
      tables.push_back(1);
      continue;
    }
    same->points.insert(same->points.end(), log.points.begin(), log.points.end());
    same->steps.insert(same->steps.end(), log.steps.begin(), log.steps.end());
    for (std::string& warning : log.warnings) warn_once(*same, std::move(warning));
    ++tables[static_cast<std::size_t>(same - logs.begin())];
  }
  if (logs.empty()) {
    if (!left_out_.empty()) {
      fail("", "no table of an all-reduce: " + left_out_.front(), "Run all_reduce_perf");
    }
    if (raw_.said.lines > 0) return {debug_lines_alone()};
    fail("", kNoRow,
         "Expected lines such as \"1048576 262144 float sum -1 40.00 26.21 39.32 0\": redirect all "
         "of the program's output into the file");
  }
  for (std::size_t i = 0; i < logs.size(); ++i) describe(logs[i], tables[i]);
  return logs;
}

bool Assembly::is_of_stated_shape(const RawRun& run) const {
  if (!stated_) return true;
  if (run.shape) return *run.shape == *stated_;
  const RankRange range = rank_range(run.rows);
  return range.contradiction.empty() && range.has(stated_->ranks()) &&
         contradiction(run, *stated_).empty();
}

/// What the list of devices has that a stated shape cannot have; empty where they go together. Hosts
/// may share a name (containers), every process may see its GPU as device 0, and a list may be cut
/// short: fewer hosts, devices or ranks than stated contradict nothing. A list without a hole that
/// ends at a number of ranks the table has as well is not cut short.
std::string Assembly::contradiction(const RawRun& run, JobShape stated) {
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

/// Other collectives of the same program stand in the same file where somebody ran them all.
bool Assembly::is_all_reduce(const RawRun& run) {
  const RawRow& first = run.rows.front();
  std::string other;
  if (!run.program.empty() && run.program.find("all_reduce") == std::string::npos) {
    other = "of " + in_quotes(run.program);
  } else if (first.redop == "none") {
    other = "without a reduction";
  } else if (first.root.value_or(-1) >= 0) {
    other = fmt::format("of a collective with root {}", *first.root);
  } else {
    const RankRange range = rank_range(run.rows);
    if (range.contradiction.empty() && range.factor_high < 0.999 && range.factor_low > 0.01) {
      other =
          fmt::format("with busbw = {:.3f} x algbw, as in all_gather, reduce_scatter and alltoall",
                      (range.factor_low + range.factor_high) / 2);
    }
  }
  if (other.empty()) return true;
  left_out_.push_back(fmt::format("{}: a table {}", first.place, other));
  return false;
}

std::vector<RawRow> Assembly::rows_of_one_type(const RawRun& run) {
  const auto is_default = [](const RawRow& row) {
    return row.type == "float" && row.redop == "sum";
  };
  const auto found = std::find_if(run.rows.begin(), run.rows.end(), is_default);
  const RawRow& model = found == run.rows.end() ? run.rows.front() : *found;
  std::vector<RawRow> rows;
  for (const RawRow& row : run.rows) {
    if (row.type == model.type && row.redop == model.redop) rows.push_back(row);
  }
  if (rows.size() < run.rows.size()) {
    left_out_.push_back(fmt::format("{} rows of other types and operations than {} {}",
                                    run.rows.size() - rows.size(), model.type, model.redop));
  }
  return rows;
}

MeasuredLog Assembly::measured(const RawRun& run) {
  MeasuredLog log;
  log.source = raw_.file;
  log.backend = raw_.backend;
  log.timed_by = run.timed_by;
  log.steps = run.steps;
  log.nccl = raw_.nccl;
  log.settings = raw_.settings;
  take_debug_lines(log);
  if (run.host_times) {
    fail(run.rows.front().place, "the times are those of the host (-C 1), not of the collective",
         "Run all_reduce_perf without -C");
  }
  const std::vector<RawRow> rows = rows_of_one_type(run);
  for (const RawRow& row : rows) check_algbw(row, raw_.file);
  find_shape(log, run, rows);
  double wrong = 0;
  std::size_t coarse = 0;
  for (const RawRow& row : rows) {
    if (row.size == 0) continue;  // printed where minBytes is less than one element
    wrong += row.wrong.value_or(0) + row.wrong_in_place.value_or(0);
    MeasuredPoint read = checked_point(row, log.ranks, raw_.file);
    read.wrong = row.wrong.value_or(0);
    read.wrong_in_place = row.wrong_in_place;
    if (read.time_us > 0) {
      log.points.push_back(std::move(read));
    } else {
      ++coarse;
    }
  }
  if (coarse > 0) {
    warn_once(
        log,
        fmt::format(
            "{} sizes are left out: their bandwidth has too few digits to say how long they took",
            coarse));
  }
  if (wrong > 0) {
    warn_once(log, fmt::format("{} results were wrong as nccl-tests checked them: the machine or "
                               "its NCCL is not sound",
                               wrong));
  }
  for (const RawDevice& device : run.devices) {
    if (log.gpu.empty()) log.gpu = device.gpu;
    if (device.gpu != log.gpu && !device.gpu.empty()) {
      warn_once(log, fmt::format("several kinds of GPU: {} and {}", in_quotes(log.gpu),
                                 in_quotes(device.gpu)));
      break;
    }
  }
  return log;
}

void Assembly::find_shape(MeasuredLog& log, const RawRun& run,
                          const std::vector<RawRow>& rows) const {
  const RankRange range = rank_range(rows);
  if (!range.contradiction.empty()) {
    fail(range.contradiction, "busbw / algbw is that of another number of ranks than in rows above",
         "Rows of several runs were mixed: give one table, or keep their headers between them");
  }
  if (range.factor_high < 0.01) {
    fail(rows.front().place, "busbw is 0: every process ran alone, with one rank",
         "Build nccl-tests with MPI=1, or let one process drive all GPUs (-g)");
  }
  const auto by_table = range.only();
  int listed = 0;
  for (const RawDevice& device : run.devices) listed = std::max(listed, device.rank + 1);
  const auto fits = [&](int ranks, const std::string& who) {
    if (range.has(ranks)) return;
    fail(rows.front().place,
         fmt::format("{} {} ranks, but busbw / algbw is that of {}", who, ranks,
                     by_table     ? std::to_string(*by_table)
                     : range.high ? fmt::format("{} to {}", range.low, *range.high)
                                  : fmt::format("{} or more", range.low)),
         "busbw = algbw x 2(n - 1)/n in all_reduce_perf");
  };
  if (run.shape && stated_ && !(*run.shape == *stated_)) {
    fail(run.place,
         fmt::format("is of {}x{}, but {}x{} was stated", run.shape->nodes,
                     run.shape->gpus_per_node, stated_->nodes, stated_->gpus_per_node),
         "Leave @NxG out, or state a job shape it has");
  }
  if (const std::optional<JobShape> shape = run.shape ? run.shape : stated_) {
    fits(shape->ranks(), fmt::format("{}x{} are", shape->nodes, shape->gpus_per_node));
    const std::string list = stated_ ? contradiction(run, *shape) : "";
    if (!list.empty()) {
      fail(run.place,
           fmt::format("{}, but {}x{} was stated: {} {} of {} {}", list, shape->nodes,
                       shape->gpus_per_node, shape->nodes, shape->nodes == 1 ? "node" : "nodes",
                       shape->gpus_per_node, shape->gpus_per_node == 1 ? "GPU" : "GPUs"),
           "Leave @NxG out, or correct it: nodes, then GPUs per node");
    }
    log.ranks = shape->ranks();
    log.nodes = shape->nodes;
    log.gpus_per_node = shape->gpus_per_node;
    return;
  }
  const int told = raw_.said.ranks.value_or(0);
  if (listed > 0 && range.has(listed)) {
    log.ranks = listed;
  } else if (by_table) {
    log.ranks = *by_table;
    if (listed > *by_table) fits(listed, "the list of devices names");
    if (listed > 0) {
      log.warnings.push_back(
          fmt::format("the list of devices ends at rank {}, but busbw / algbw is that of {} ranks: "
                      "the list is cut short or of another run",
                      listed - 1, *by_table));
      return;
    }
  } else if (told > 0 && range.has(told)) {
    log.ranks = told;
  } else {
    log.warnings.push_back(fmt::format(
        "how many ranks took part cannot be read ({}): name nodes and GPUs per node, LOG@NxG",
        range.high ? fmt::format("{} to {} would fit", range.low, *range.high)
                   : fmt::format("{} or more would fit", range.low)));
    return;
  }
  find_nodes(log, run);
}

void Assembly::find_nodes(MeasuredLog& log, const RawRun& run) const {
  std::map<std::string, int> on_host;
  for (const RawDevice& device : run.devices) ++on_host[device.host];
  const auto set = [&](int nodes) {
    log.nodes = nodes;
    log.gpus_per_node = log.ranks / nodes;
  };
  const int hosts = static_cast<int>(on_host.size());
  const auto fits = [&](const auto& host) { return host.second <= log.ranks / hosts; };
  if (hosts > 0 && log.ranks % hosts == 0 && std::all_of(on_host.begin(), on_host.end(), fits)) {
    set(hosts);
    if (static_cast<int>(run.devices.size()) < log.ranks) {
      log.warnings.push_back(
          fmt::format("the list of devices names {} of {} ranks", run.devices.size(), log.ranks));
    }
    return;
  }
  if (hosts == 0 && raw_.said.nodes && log.ranks % *raw_.said.nodes == 0) {
    set(*raw_.said.nodes);
    return;
  }
  if (hosts == 0 && run.gpus_per_process == log.ranks) {  // one process cannot leave its node
    set(1);
    return;
  }
  log.warnings.push_back(nodes_unknown(log.ranks));
}

void Assembly::take_debug_lines(MeasuredLog& log) const {
  const NcclWords& said = raw_.said;
  log.transport = transport_of(said);
  log.channels = said.channels;
  log.decisions = said.decisions;
  std::stable_sort(log.decisions.begin(), log.decisions.end(),
                   [](const NcclDecision& a, const NcclDecision& b) { return a.size < b.size; });
  const auto same_size = [](const NcclDecision& a, const NcclDecision& b) {
    return a.size == b.size;
  };
  log.decisions.erase(std::unique(log.decisions.begin(), log.decisions.end(), same_size),
                      log.decisions.end());
  if (said.lines == 0) return;
  std::string line = fmt::format("NCCL's debug lines ({})", said.lines);
  if (!log.transport.empty()) line += ": over " + log.transport;
  if (said.gpudirect) line += " with GPUDirect RDMA";
  if (log.channels) line += fmt::format(", {} channels", *log.channels);
  if (!log.decisions.empty())
    line += fmt::format(", its choice for {} sizes", log.decisions.size());
  log.recognised.push_back(std::move(line));
}

MeasuredLog Assembly::debug_lines_alone() const {
  MeasuredLog log;
  log.source = raw_.file;
  log.nccl = raw_.nccl;
  log.settings = raw_.settings;
  take_debug_lines(log);
  log.ranks = raw_.said.ranks.value_or(0);
  if (stated_) {
    log.ranks = stated_->ranks();
    log.nodes = stated_->nodes;
    log.gpus_per_node = stated_->gpus_per_node;
  } else if (raw_.said.nodes && log.ranks % *raw_.said.nodes == 0) {
    log.nodes = *raw_.said.nodes;
    log.gpus_per_node = log.ranks / *raw_.said.nodes;
  }
  log.warnings = raw_.warnings;
  log.warnings.push_back("no table of times is in it");
  return log;
}

void Assembly::describe(MeasuredLog& log, std::size_t tables) const {
  std::stable_sort(log.points.begin(), log.points.end(),
                   [](const MeasuredPoint& a, const MeasuredPoint& b) { return a.size < b.size; });
  std::set<std::int64_t> sizes;
  bool in_place = false;
  for (const MeasuredPoint& point : log.points) {
    sizes.insert(point.size.count());
    in_place = in_place || point.in_place_us.has_value();
  }
  std::string line = fmt::format(
      "{}: {} {} from {} to {}", raw_.format, sizes.size(), sizes.size() == 1 ? "size" : "sizes",
      size_text(Bytes(*sizes.begin())), size_text(Bytes(*sizes.rbegin())));
  if (tables > 1) line += fmt::format(" in {} tables", tables);
  line += in_place ? ", out of place and in place" : ", out of place";
  if (log.nodes) {
    line += fmt::format(", {} {} x {} {}", *log.nodes, *log.nodes == 1 ? "node" : "nodes",
                        *log.gpus_per_node, *log.gpus_per_node == 1 ? "GPU" : "GPUs");
  } else if (log.ranks > 0) {
    line += fmt::format(", {} ranks", log.ranks);
  }
  if (!log.gpu.empty()) line += ", " + log.gpu;
  if (log.nccl) line += fmt::format(", {} {}", raw_.rccl ? "RCCL" : "NCCL", to_string(*log.nccl));
  log.recognised.insert(log.recognised.begin(), std::move(line));
  for (const std::string& more : raw_.recognised) log.recognised.push_back(more);
  for (const std::string& left : left_out_) log.recognised.push_back("left out: " + left);
  for (const std::string& warning : raw_.warnings) log.warnings.push_back(warning);
  if (log.timed_by == TimedBy::one_rank)
    log.warnings.push_back(
        "not all ranks of a collective are in it: times hold the wait for the others, so each is "
        "an upper bound; of a size the least is taken");
}

}  // namespace

std::string nodes_unknown(int ranks) {
  return fmt::format(
      "{} ranks, but on how many nodes cannot be read: name nodes and GPUs per node, LOG@NxG",
      ranks);
}

std::vector<MeasuredLog> measured_logs(const RawLog& raw, std::optional<JobShape> stated) {
  return Assembly(raw, stated).run();
}

}  // namespace ddpsim
