#include "ddpsim/calibrate/measured_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "ddpsim/formats/files.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/quote.hpp"
#include "measured_csv.hpp"
#include "measurement_json.hpp"
#include "nccl_debug.hpp"
#include "nccl_tests_json.hpp"
#include "nccl_tests_text.hpp"
#include "rank_count.hpp"
#include "raw_log.hpp"

namespace ddpsim {
namespace {

constexpr std::int64_t kLargestLog = 256LL << 20;
constexpr std::int64_t kLargestSize = 1LL << 50;

/// A size whose bandwidth is known to so few digits says nothing of its time.
constexpr double kCoarsest = 0.02;

std::string readable(std::int64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (unit < 4 && bytes >= 1024 && bytes % 1024 == 0) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{} {}", bytes, kUnits[unit]);
}

class Assembly {
 public:
  Assembly(const RawLog& raw, std::optional<Scale> stated) : raw_(raw), stated_(stated) {}
  std::vector<MeasuredLog> run();

 private:
  [[noreturn]] void fail(const std::string& place, std::string message, std::string hint) const {
    throw InputError({raw_.file, place, std::move(message), std::move(hint)});
  }
  bool is_all_reduce(const RawRun& run);
  bool is_of_stated_scale(const RawRun& run) const;
  std::vector<RawRow> rows_of_one_type(const RawRun& run);
  MeasuredLog measured(const RawRun& run);
  MeasuredPoint point(const RawRow& row, int ranks) const;
  void check_algbw(const RawRow& row) const;
  void find_scale(MeasuredLog& log, const RawRun& run, const std::vector<RawRow>& rows) const;
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
  const std::optional<Scale> stated_;
  std::vector<std::string> left_out_;
};

std::vector<MeasuredLog> Assembly::run() {
  std::vector<MeasuredLog> logs;
  std::vector<std::size_t> tables;
  std::vector<const RawRun*> runs;
  for (const RawRun& run : raw_.runs) {
    if (!run.rows.empty() && is_all_reduce(run)) runs.push_back(&run);
  }
  // A stated scale picks its runs from several; where none is of it, the first says what it is of.
  const auto stated_one = [&](const RawRun* run) { return is_of_stated_scale(*run); };
  if (std::any_of(runs.begin(), runs.end(), stated_one)) {
    for (const RawRun* run : runs) {
      if (!stated_one(run)) left_out_.push_back(run->rows.front().place + ": another scale");
    }
    std::erase_if(runs, [&](const RawRun* run) { return !stated_one(run); });
  }
  for (const RawRun* const run : runs) {
    MeasuredLog log = measured(*run);
    if (log.points.empty()) continue;
    const auto same = std::find_if(logs.begin(), logs.end(), [&](const MeasuredLog& other) {
      return other.ranks == log.ranks && other.nodes == log.nodes &&
             other.gpus_per_node == log.gpus_per_node && other.gpu == log.gpu;
    });
    if (same == logs.end()) {
      logs.push_back(std::move(log));
      tables.push_back(1);
      continue;
    }
    same->points.insert(same->points.end(), log.points.begin(), log.points.end());
    for (std::string& warning : log.warnings) warn_once(*same, std::move(warning));
    ++tables[static_cast<std::size_t>(same - logs.begin())];
  }
  if (logs.empty()) {
    if (!left_out_.empty()) {
      fail("", "no table of an all-reduce: " + left_out_.front(), "Run all_reduce_perf");
    }
    if (raw_.said.lines > 0) return {debug_lines_alone()};
    fail("", "no row of an all_reduce_perf table was found",
         "Expected lines such as \"1048576 262144 float sum -1 40.00 26.21 39.32 0\": redirect all "
         "of the program's output into the file");
  }
  for (std::size_t i = 0; i < logs.size(); ++i) describe(logs[i], tables[i]);
  return logs;
}

bool Assembly::is_of_stated_scale(const RawRun& run) const {
  if (!stated_) return true;
  if (run.scale) return *run.scale == *stated_;
  const RankRange range = rank_range(run.rows);
  return range.contradiction.empty() && range.has(stated_->ranks());
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
      other = fmt::format(
          "with busbw = {:.3f} x algbw, as in all_gather, reduce_scatter and "
          "alltoall",
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
  log.nccl = raw_.nccl;
  log.settings = raw_.settings;
  take_debug_lines(log);
  if (run.host_times) {
    fail(run.rows.front().place, "the times are those of the host (-C 1), not of the collective",
         "Run all_reduce_perf without -C");
  }
  const std::vector<RawRow> rows = rows_of_one_type(run);
  for (const RawRow& row : rows) check_algbw(row);
  find_scale(log, run, rows);
  double wrong = 0;
  std::size_t coarse = 0;
  for (const RawRow& row : rows) {
    if (row.size == 0) continue;  // printed where minBytes is less than one element
    wrong += row.wrong.value_or(0);
    MeasuredPoint read = point(row, log.ranks);
    if (read.time_us > 0) {
      log.points.push_back(std::move(read));
    } else {
      ++coarse;
    }
  }
  if (coarse > 0) {
    warn_once(log, fmt::format("{} sizes are left out: their bandwidth has too few digits to say "
                               "how long they took",
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

/// Time 0 where the row cannot tell.
MeasuredPoint Assembly::point(const RawRow& row, int ranks) const {
  MeasuredPoint point;
  point.place = row.place;
  if (row.size < 0 || row.size > kLargestSize) {
    fail(row.place, fmt::format("size is {} bytes", row.size), "Expected 0 to 2^50 bytes");
  }
  point.size = Bytes(row.size);
  const auto checked = [&](const Figure& time, const char* name) {
    if (!std::isfinite(time.value) || time.value > 1e12) {
      fail(row.place, fmt::format("{} is {} us", name, time.value),
           "Expected a number of microseconds; remove the row if the run failed there");
    }
    if (!(time.value > 0)) {
      fail(row.place, fmt::format("{} is {} us", name, time.value),
           "A measured time is more than 0: remove the row, or run with more iterations (-n)");
    }
    const double gbps = static_cast<double>(row.size) / time.value / 1e3;
    if (gbps > 1e5) {
      fail(row.place,
           fmt::format("{} of {} us moves {} at {:.3g} GB/s, which no machine does", name,
                       time.value, readable(row.size), gbps),
           "Times are in microseconds: were they milliseconds or seconds?");
    }
    return time.value;
  };
  if (row.in_place_us) point.in_place_us = checked(*row.in_place_us, "the time in place");
  if (row.time_us) {
    point.time_us = checked(*row.time_us, "time");
    return point;
  }
  // Curves of bandwidth alone.
  std::optional<Figure> algbw = row.algbw_gbps;
  if (!algbw && row.busbw_gbps) {
    if (ranks < 2) {
      fail(row.place, "has busbw alone, and how many ranks it is of is not known",
           "Name nodes and GPUs per node: LOG@NxG");
    }
    const double factor = 2.0 * (ranks - 1) / ranks;
    algbw = Figure{row.busbw_gbps->value / factor, row.busbw_gbps->half_unit / factor};
  }
  if (!algbw)
    fail(row.place, "has neither a time nor a bandwidth", "Expected time_us or algbw_gbps");
  if (!std::isfinite(algbw->value) || algbw->value < 0 || algbw->value > 1e5) {
    fail(row.place, fmt::format("the bandwidth is {} GB/s", algbw->value),
         "Expected GB/s (1e9 bytes per second), more than 0");
  }
  if (algbw->half_unit > kCoarsest * algbw->value) return point;
  point.time_us = static_cast<double>(row.size) / algbw->value / 1e3;
  return point;
}

/// algbw = size / time / 1e9, whatever else; where they disagree, columns or units were mixed up.
void Assembly::check_algbw(const RawRow& row) const {
  constexpr double kTolerance = 0.02;
  if (!row.time_us || !row.algbw_gbps || row.size <= 0) return;
  const double low_time = row.time_us->value - row.time_us->half_unit;
  if (!(low_time > 0) || !std::isfinite(row.algbw_gbps->value)) return;
  const double kilobytes = static_cast<double>(row.size) / 1e3;
  const double low = kilobytes / (row.time_us->value + row.time_us->half_unit);
  const double high = kilobytes / low_time;
  const double printed = row.algbw_gbps->value;
  const double unit = row.algbw_gbps->half_unit;
  if (printed + unit >= low * (1 - kTolerance) && printed - unit <= high * (1 + kTolerance)) return;
  const double ratio = printed / (kilobytes / row.time_us->value);
  std::string hint = "time is in microseconds, algbw in GB/s: size / time / 1000";
  if (ratio > 900 && ratio < 1100) hint += ". Is this time in nanoseconds, or algbw in MB/s?";
  if (ratio > 0.0009 && ratio < 0.0011) hint += ". Is this time in milliseconds?";
  if (ratio > 7.8 && ratio < 8.2) hint += ". Is this algbw in Gbit/s?";
  if (ratio > 0.92 && ratio < 0.94) hint += ". Is this algbw in GiB/s?";
  fail(row.place,
       fmt::format("algbw is {} GB/s, but {} bytes in {} us are {:.4g} GB/s", printed, row.size,
                   row.time_us->value, kilobytes / row.time_us->value),
       hint);
}

void Assembly::find_scale(MeasuredLog& log, const RawRun& run,
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
  if (run.scale && stated_ && !(*run.scale == *stated_)) {
    fail(run.place,
         fmt::format("is of {}x{}, but {}x{} was stated", run.scale->nodes,
                     run.scale->gpus_per_node, stated_->nodes, stated_->gpus_per_node),
         "Leave @NxG out, or state a scale it has");
  }
  if (const std::optional<Scale> scale = run.scale ? run.scale : stated_) {
    fits(scale->ranks(), fmt::format("{}x{} are", scale->nodes, scale->gpus_per_node));
    log.ranks = scale->ranks();
    log.nodes = scale->nodes;
    log.gpus_per_node = scale->gpus_per_node;
    if (listed > scale->ranks()) {
      log.warnings.push_back(fmt::format(
          "the list of devices goes up to rank {}, while {}x{} was stated: list and table may be "
          "of different runs",
          listed - 1, scale->nodes, scale->gpus_per_node));
    }
    return;
  }
  const int told = raw_.said.ranks.value_or(0);
  if (listed > 0 && range.has(listed)) {
    log.ranks = listed;
  } else if (by_table) {
    log.ranks = *by_table;
    if (listed > *by_table) fits(listed, "the list of devices names");
    if (listed > 0) {
      log.warnings.push_back(fmt::format(
          "the list of devices ends at rank {}, but busbw / algbw is that of {} ranks: the list is "
          "cut short or of another run",
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
  std::string line = fmt::format("{}: {} {} from {} to {}", raw_.format, sizes.size(),
                                 sizes.size() == 1 ? "size" : "sizes", readable(*sizes.begin()),
                                 readable(*sizes.rbegin()));
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
}

}  // namespace

std::string nodes_unknown(int ranks) {
  return fmt::format(
      "{} ranks, but on how many nodes cannot be read: name nodes and GPUs per node, LOG@NxG",
      ranks);
}

std::vector<MeasuredLog> measured_logs(const RawLog& raw, std::optional<Scale> stated) {
  return Assembly(raw, stated).run();
}

std::vector<MeasuredLog> parse_measured_logs(std::string_view text, const std::string& file,
                                             std::optional<Scale> stated) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && text[first] == '{') {
    return measured_logs(
        is_measurement(text) ? scan_measurement_json(text, file) : scan_nccl_tests_json(text, file),
        stated);
  }
  if (is_measured_csv(text)) return measured_logs(scan_measured_csv(text, file), stated);
  return measured_logs(scan_nccl_tests_text(text, file), stated);
}

std::vector<MeasuredLog> read_measured_logs(const std::filesystem::path& path,
                                            std::optional<Scale> stated) {
  return parse_measured_logs(read_file(path, kLargestLog), path.string(), stated);
}

MeasuredLog parse_nccl_tests_log(std::string_view text, const std::string& file,
                                 std::optional<Scale> stated) {
  std::vector<MeasuredLog> logs = parse_measured_logs(text, file, stated);
  if (logs.size() > 1) {
    throw InputError({file, logs[1].points.front().place,
                      fmt::format("holds tables of {} scales, among them {} and {} ranks",
                                  logs.size(), logs[0].ranks, logs[1].ranks),
                      "Give one file per scale"});
  }
  if (logs.front().points.empty()) {
    throw InputError({file, "", "has NCCL's debug lines, but no table of times",
                      "Give the output of all_reduce_perf"});
  }
  return std::move(logs.front());
}

MeasuredLog read_nccl_tests_log(const std::filesystem::path& path, std::optional<Scale> stated) {
  return parse_nccl_tests_log(read_file(path, kLargestLog), path.string(), stated);
}

LogArgument parse_log_argument(std::string_view text) {
  const std::size_t at = text.rfind('@');
  LogArgument whole{.path = std::string(text), .stated = std::nullopt};
  std::error_code error;
  if (at == std::string_view::npos || std::filesystem::exists(whole.path, error)) return whole;
  const std::string_view scale = text.substr(at + 1);
  const std::size_t times = scale.find('x');
  const auto nodes = integer_of(scale.substr(0, times));
  const auto gpus =
      times == std::string_view::npos ? std::nullopt : integer_of(scale.substr(times + 1));
  const auto sane = [](const std::optional<std::int64_t>& n, std::int64_t most) {
    return n && *n >= 1 && *n <= most;
  };
  if (!sane(nodes, 100'000) || !sane(gpus, 1024)) {
    throw InputError({std::string(text.substr(0, at)), "",
                      fmt::format("{} is not NODESxGPUS", in_quotes(scale)),
                      "Expected nodes and GPUs per node, such as @2x8"});
  }
  return {std::string(text.substr(0, at)),
          Scale{static_cast<int>(*nodes), static_cast<int>(*gpus)}};
}

}  // namespace ddpsim
