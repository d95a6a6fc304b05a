// A line is recognised by its content, not by its beginning. Launchers put ranks, hosts and times
// in front ("[1,0]<stdout>:", "node1: "), and NCCL's debug lines appear between the rows.
//
//   # nThread 1 nGpus 4 minBytes 8 … iters: 20 …              begins a run
//
//   #  Rank  0 Group  0 Pid 101 on hostA device 0 [0x07] NVIDIA X   a GPU of it
//
//   #  size  count  type  redop  root  time  algbw  busbw  #wrong  time …   names the columns
//
//   1048576  262144  float  sum  -1  40.00  26.21  39.32  0  39.50 …   a row
//
// Scripts that run several programs into one file print a program's name before its table: "===
// sendrecv_perf ===", "+ mpirun … ./all_gather_perf -b 8". Such a line names the next table, unless
// further lines name other programs.
#include "nccl_tests_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "ddpsim/diagnose/evidence/evidence.hpp"
#include "ddpsim/formats/csv.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/number.hpp"
#include "nccl_debug.hpp"
#include "row_checks.hpp"

namespace ddpsim {
namespace {

constexpr std::size_t kMostWarnings = 8;  // of one kind; a torn log has hundreds
constexpr std::size_t kMostRuns = 10'000;
constexpr std::size_t kMostColumns = 32;  // nccl-tests has 9
constexpr std::size_t kMostSettingsOfRun = 200;
constexpr std::size_t kMostListed = 100'000;  // devices of all runs together

bool is_type(std::string_view word) {
  constexpr std::array<std::string_view, 22> kTypes = {
      "int8",     "char", "uint8",   "int32",  "int",      "uint32",  "int64",  "uint64",
      "half",     "fp16", "float16", "float",  "fp32",     "float32", "double", "float64",
      "bfloat16", "bf16", "f8e4m3",  "f8e5m2", "fp8_e4m3", "fp8_e5m2"};
  return std::find(kTypes.begin(), kTypes.end(), word) != kTypes.end();
}

bool is_redop(std::string_view word) {
  constexpr std::array<std::string_view, 7> kOps = {"sum", "prod", "max",   "min",
                                                    "avg", "none", "mulsum"};
  return std::find(kOps.begin(), kOps.end(), word) != kOps.end();
}

/// The program named in a word: "all_reduce_perf" in "./build/all_reduce_perf",
/// "%%%sendrecv_perf%%%", "all_reduce_perf_mpi". Empty if it names no program of nccl-tests or
/// rccl-tests.
std::string_view program_in(std::string_view word) {
  constexpr std::array<std::string_view, 12> kPrograms = {
      "all_reduce_perf", "all_gather_perf", "reduce_scatter_perf",  "alltoallv_perf",
      "alltoall_perf",   "broadcast_perf",  "sendrecv_perf",        "hypercube_perf",
      "gather_perf",     "scatter_perf",    "all_reduce_bias_perf", "reduce_perf"};
  for (const std::string_view program : kPrograms) {
    const std::size_t at = word.find(program);
    if (at == std::string_view::npos) continue;
    const bool begins = at == 0 || (std::isalnum(static_cast<unsigned char>(word[at - 1])) == 0 &&
                                    word[at - 1] != '_');
    if (begins) return program;
  }
  return "";
}

class Scanner {
 public:
  explicit Scanner(const std::string& file) {
    log_.file = file;
    log_.format = "nccl-tests text";
  }

  RawLog scan(std::string_view text) {
    while (!text.empty()) {
      ++line_;
      take(take_line(text));
    }
    share_settings();
    drop_cut_rows();
    for (RawRun& one : log_.runs) take_unit_of_times(one);
    if (torn_ > kMostWarnings) {
      log_.warnings.push_back(
          fmt::format("{} more rows are interrupted by other output", torn_ - kMostWarnings));
    }
    return std::move(log_);
  }

 private:
  void take(std::string_view line);
  bool take_header(const Words& words);
  bool take_device(const Words& words, std::string_view line);
  bool take_columns(const Words& words);
  bool take_row(const Words& words);
  void begin_table_without_header();
  void note_program(const Words& words);
  void note_settings(const Words& words);
  void note_end(const Words& words);
  void share_settings();
  void drop_cut_rows();
  void take_unit_of_times(RawRun& run);
  void say_cut(int line);

  using Settings = std::vector<std::pair<std::string, std::string>>;
  static void put(Settings& settings, const std::string& name, const std::string& value) {
    const auto known = std::ranges::find(settings, name, &Settings::value_type::first);
    if (known != settings.end())
      known->second = value;
    else if (settings.size() < kMostSettingsOfRun)
      settings.emplace_back(name, value);
  }

  std::string place() const { return fmt::format("line {}", line_); }
  RawRun& run() {
    if (log_.runs.empty()) begin_run();
    return log_.runs.back();
  }
  /// A header begins a run, unless the open run has only header lines so far.
  void begin_run() {
    if (!log_.runs.empty() && log_.runs.back().rows.empty() && log_.runs.back().devices.empty()) {
      return;
    }
    add_run();
  }
  void add_run() {
    if (log_.runs.size() == kMostRuns) refuse_more_than(kMostRuns, "runs");
    log_.runs.emplace_back();
    RawRun& added = log_.runs.back();
    added.place = place();
    added.settings = exported_;
    for (const auto& [name, value] : pending_) put(added.settings, name, value);
    pending_.clear();
    if (log_.runs.size() > 1)
      added.first_decision = ended_ ? decided_at_end_ : log_.said.decisions.size();
    ended_ = false;
    figures_.emplace_back();
  }
  [[noreturn]] void refuse_more_than(std::size_t most, const char* what) const {
    throw InputError({log_.file, place(), fmt::format("more than {} {}", most, what),
                      "Split the log, one file per job"});
  }

  RawLog log_;
  int line_ = 0;
  std::size_t rows_ = 0;
  std::size_t listed_ = 0;
  std::size_t torn_ = 0;
  std::vector<std::string> columns_;  ///< after redop, as named in the header
  /// Named by a line since the last row. Empty: none or several.
  std::string_view program_;
  bool several_programs_ = false;
  Settings exported_;  ///< of the next runs
  /// Stated since the last table ended, so they belong to the next run.
  Settings pending_;
  /// Whether the closing lines of the last table were seen.
  bool ended_ = false;
  /// Number of NCCL's decisions when the last table ended.
  std::size_t decided_at_end_ = 0;
  /// For each row of a run: how many values of its columns are present, and the line.
  struct Figures {
    std::size_t count = 0;
    int line = 0;
  };
  std::vector<std::vector<Figures>> figures_;
};

/// Removes separators: "1,048,576" is how a spreadsheet writes 1048576. A row whose values then do
/// not fit together is refused later.
std::string without_separators(std::string_view line) {
  const auto is_digit = [&](std::size_t i) {
    return i < line.size() && line[i] >= '0' && line[i] <= '9';
  };
  std::string plain;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const bool separates = line[i] == ',' && i > 0 && is_digit(i - 1) && is_digit(i + 1) &&
                           is_digit(i + 2) && is_digit(i + 3) && !is_digit(i + 4);
    if (!separates) plain += line[i];
  }
  return plain;
}

void Scanner::take(std::string_view line) {
  if (line.size() > kLongestLogLine) return;  // as in read_evidence, which reports it
  if (line.find(',') != std::string_view::npos) {
    const std::string plain = without_separators(line);
    if (plain.size() != line.size() && take_row(words_of(plain))) return;
  }
  const Words words = words_of(line);
  if (words.empty()) return;
  if (take_row(words) || take_columns(words) || take_header(words) || take_device(words, line)) {
    return;
  }
  note_end(words);
  note_program(words);
  note_settings(words);
  take_nccl_words(words, log_);
}

/// Recognises the end of a table: "# Out of bounds values : 0 OK", "# Avg bus bandwidth : 229.1".
void Scanner::note_end(const Words& words) {
  if (ended_ || log_.runs.empty() || log_.runs.back().rows.empty()) return;
  if (!find_words(words, {"Avg", "bus", "bandwidth"}) &&
      !find_words(words, {"Out", "of", "bounds"}) && !find_words(words, {"test", "concluded:"}))
    return;
  ended_ = true;
  decided_at_end_ = log_.said.decisions.size();
}

/// Settings on a command's line apply to its run, and so do those that NCCL prints. A shell's
/// export applies to all further runs.
void Scanner::note_settings(const Words& words) {
  if (const auto unset = find_words(words, {"unset"}); unset && *unset <= 1) {
    for (Settings* settings : {&exported_, &pending_})
      std::erase_if(*settings, [&](const auto& setting) {
        return std::ranges::find(words, setting.first) != words.end();
      });
    return;
  }
  const Settings found = settings_in(words);
  if (found.empty()) return;
  const bool is_command =
      std::ranges::any_of(words, [](std::string_view word) { return !program_in(word).empty(); });
  const bool is_of_nccl = find_words(words, {"set", "by", "environment", "to"}).has_value();
  const bool is_of_open =
      !log_.runs.empty() && (log_.runs.back().rows.empty() || (!ended_ && !is_command));
  for (const auto& [name, value] : found) {
    if (!is_command && !is_of_nccl) put(exported_, name, value);
    put(is_of_open ? log_.runs.back().settings : pending_, name, value);
  }
}

/// Settings stated after the last table belong to all runs that do not state them themselves.
void Scanner::share_settings() {
  if (log_.runs.empty()) {
    log_.settings = exported_;
    for (const auto& [name, value] : pending_) put(log_.settings, name, value);
  }
  for (RawRun& one : log_.runs)
    for (const auto& [name, value] : pending_)
      if (std::ranges::find(one.settings, name, &Settings::value_type::first) == one.settings.end())
        put(one.settings, name, value);
}

/// A line that lists several programs names none of them.
void Scanner::note_program(const Words& words) {
  std::string_view named;
  for (const std::string_view word : words) {
    const std::string_view program = program_in(word);
    if (program.empty() || program == named) continue;
    if (!named.empty()) return;
    named = program;
  }
  if (named.empty() || find_words(words, {"test", "concluded:"})) return;
  several_programs_ = several_programs_ || (!program_.empty() && program_ != named);
  program_ = named;
}

bool Scanner::take_header(const Words& words) {
  if (const auto at = find_words(words, {"Collective", "test", "starting:"})) {
    begin_run();
    if (*at + 3 < words.size()) run().program = words[*at + 3];
    return true;
  }
  const auto at = find_words(words, {"nThread"});
  if (!at) return false;
  begin_run();
  const auto threads = integer_at(words, *at + 1);
  const auto gpus = find_words(words, {"nGpus"});
  const auto per_thread = gpus ? integer_at(words, *gpus + 1) : std::nullopt;
  const auto sane = [](const std::optional<std::int64_t>& n) { return n && *n >= 1 && *n <= 4096; };
  if (sane(threads) && sane(per_thread)) {
    run().gpus_per_process = static_cast<int>(*threads * *per_thread);
  }
  return true;
}

bool Scanner::take_device(const Words& words, std::string_view line) {
  const auto at = find_words(words, {"Rank"});
  if (!at) return false;
  const auto rank = integer_at(words, *at + 1);
  const auto on = find_words(words, {"on"});
  const auto device = find_words(words, {"device"});
  if (!rank || *rank < 0 || *rank > 10'000'000 || !on || !device || *on + 2 != *device)
    return false;
  // A device that was already listed belongs to the next run, whose header is missing.
  const auto listed = [&](const RawDevice& d) { return d.rank == *rank; };
  if (!run().rows.empty() || (!run().devices.empty() && listed(run().devices.front()))) {
    add_run();
  }
  RawDevice found{.rank = static_cast<int>(*rank), .host = std::string(words[*on + 1]), .gpu = ""};
  if (const auto index = integer_at(words, *device + 1); index && *index >= 0 && *index < 4096)
    found.index = static_cast<int>(*index);
  const std::size_t bracket =
      line.find(']', static_cast<std::size_t>(words[*device].data() - line.data()));
  if (bracket != std::string_view::npos) {
    for (const std::string_view word : words_of(line.substr(bracket + 1))) {
      found.gpu += (found.gpu.empty() ? "" : " ") + std::string(word);
    }
  }
  if (++listed_ > kMostListed) refuse_more_than(kMostListed, "devices");
  run().devices.push_back(std::move(found));
  return true;
}

bool Scanner::take_columns(const Words& words) {
  auto at = find_words(words, {"size", "count", "type"});
  if (!at) at = find_words(words, {"bytes", "N", "type"});  // from NCCL 2.1's time
  if (!at) return false;
  columns_.clear();
  for (std::size_t i = *at + 3; i < words.size() && columns_.size() < kMostColumns; ++i) {
    if (words[i] == "redop" || words[i] == "op") continue;
    columns_.emplace_back(words[i]);
    if (words[i] == "cputime") {
      run().host_times = true;
      columns_.back() = "time";
    }
  }
  return true;
}

/// Position of a row's size and type. Absent if the line is no row.
struct RowStart {
  std::int64_t size = 0;
  std::size_t type = 0;  ///< index of the word
};

std::optional<RowStart> start_of_row(const Words& words) {
  std::size_t type = 2;
  while (type < words.size() &&
         !(is_type(words[type]) && parse_number<std::int64_t>(words[type - 1])))
    ++type;
  if (type >= words.size()) return std::nullopt;
  // "[1,0]<stdout>:1048576": a prefix may be attached to the size.
  std::string_view first = words[type - 2];
  if (const std::size_t digits = first.find_last_not_of("0123456789");
      digits != std::string_view::npos &&
      (first[digits] == ':' || first[digits] == ']' || first[digits] == '>')) {
    first.remove_prefix(digits + 1);
  }
  const auto size = parse_number<std::int64_t>(first);
  if (!size) return std::nullopt;
  return RowStart{*size, type};
}

/// Takes the values of `columns` from `next` on; returns their number.
std::size_t take_figures(const Words& words, std::size_t next,
                         const std::vector<std::string>& columns, RawRow& row) {
  // Columns of times: out of place, then in place; also counted if one is "N/A".
  std::size_t times = 0;
  std::size_t figures = 0;
  for (std::size_t c = 0; c < columns.size() && next < words.size(); ++c, ++next) {
    const std::string_view name = columns[c];
    const std::optional<Figure> figure = figure_of(words[next]);
    if (name == "timestamp" || (!figure && words[next] != "N/A")) break;
    ++figures;
    if (name == "time") ++times;
    const bool in_place = times > 1;
    if (name == "time") {
      (in_place ? row.in_place_us : row.time_us) = figure;
    } else if (name == "algbw" && !in_place) {
      row.algbw_gbps = figure;
    } else if (name == "busbw" && !in_place) {
      row.busbw_gbps = figure;
    } else if ((name == "#wrong" || name == "wrong") && figure) {
      (in_place ? row.wrong_in_place : row.wrong) = figure->value;
    }
  }
  return figures;
}

/// The run that the next row belongs to. It begins here if its header is missing.
void Scanner::begin_table_without_header() {
  const bool other =
      run().program.empty() ? program_ != "all_reduce_perf" : program_ != run().program;
  if (!program_.empty() && (other || !pending_.empty()) && !run().rows.empty()) add_run();
  if (!several_programs_ && run().program.empty()) run().program = program_;
  program_ = {};
  several_programs_ = false;
}

bool Scanner::take_row(const Words& words) {
  const std::optional<RowStart> start = start_of_row(words);
  if (!start) return false;
  if (++rows_ > kMostRows) refuse_more_than(kMostRows, "rows");
  begin_table_without_header();
  RawRow row;
  row.place = place();
  row.size = start->size;
  row.type = words[start->type];
  std::size_t next = start->type + 1;
  if (next < words.size() && is_redop(words[next])) row.redop = words[next++];
  // Without a header, the number of values shows whether there is a root: each direction has four
  // values, or eight.
  const bool has_root = columns_.empty() ? next < words.size() && (words[next] == "-1" ||
                                                                   (words.size() - next) % 2 == 1)
                                         : columns_.front() == "root";
  if (has_root) row.root = integer_at(words, next++);
  std::vector<std::string> columns = columns_;
  if (columns.empty()) {
    columns = {"time", "algbw", "busbw", "#wrong", "time", "algbw", "busbw", "#wrong"};
  } else if (has_root) {
    columns.erase(columns.begin());
  }
  const std::size_t figures = take_figures(words, next, columns, row);
  if (!row.time_us || !row.algbw_gbps) {
    say_cut(line_);
    return true;
  }
  run().rows.push_back(std::move(row));
  figures_.back().push_back({figures, line_});
  return true;
}

/// Old versions printed times in milliseconds. The algbw of the same row reveals it if every row
/// agrees.
void Scanner::take_unit_of_times(RawRun& run) {
  constexpr double kDigits = 0.02;  // less exact values tell nothing
  std::size_t in_milliseconds = 0;
  for (const RawRow& row : run.rows) {
    const Figure& time = *row.time_us;
    const Figure& algbw = *row.algbw_gbps;
    if (!(time.value > 0) || !(algbw.value > 0) || time.half_unit > kDigits * time.value ||
        algbw.half_unit > kDigits * algbw.value)
      continue;
    const double ratio = algbw.value * time.value * 1e3 / static_cast<double>(row.size);
    if (!(ratio > 0.9e-3 && ratio < 1.1e-3)) return;
    ++in_milliseconds;
  }
  if (in_milliseconds == 0) return;
  constexpr double kMicroseconds = 1000;
  for (RawRow& row : run.rows)
    for (std::optional<Figure>* time : {&row.time_us, &row.in_place_us})
      if (*time) *time = Figure{(*time)->value * kMicroseconds, (*time)->half_unit * kMicroseconds};
  log_.recognised.push_back(
      fmt::format("{}: times are in milliseconds, as algbw of the same rows shows", run.place));
}

void Scanner::say_cut(int line) {
  if (++torn_ > kMostWarnings) return;
  log_.warnings.push_back(fmt::format(
      "line {}: a row of the table is left out, because it is cut off or has no out-of-place time",
      line));
}

/// A row with fewer values than others of its table was cut off, perhaps within a number.
void Scanner::drop_cut_rows() {
  for (std::size_t r = 0; r < log_.runs.size(); ++r) {
    const std::vector<Figures>& figures = figures_[r];
    std::size_t most = 0;
    for (const Figures& one : figures) most = std::max(most, one.count);
    std::vector<RawRow> whole;
    for (std::size_t k = 0; k < figures.size(); ++k) {
      // Half of the values are one complete place.
      if (figures[k].count == most || 2 * figures[k].count == most)
        whole.push_back(std::move(log_.runs[r].rows[k]));
      else
        say_cut(figures[k].line);
    }
    log_.runs[r].rows = std::move(whole);
  }
}

}  // namespace

RawLog scan_nccl_tests_text(std::string_view text, const std::string& file) {
  return Scanner(file).scan(text);
}

}  // namespace ddpsim
