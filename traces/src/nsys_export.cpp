#include "nsys_export.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/quote.hpp"
#include "ddpsim/traces/rank_group.hpp"
#include "nsys_texts.hpp"
#include "recorded_collective.hpp"
#include "records_import.hpp"
#include "trace_limits.hpp"
#include "trace_names.hpp"

namespace ddpsim {
namespace {

constexpr const char* kKernels = "CUPTI_ACTIVITY_KIND_KERNEL";
constexpr const char* kCalls = "CUPTI_ACTIVITY_KIND_RUNTIME";
constexpr const char* kRanges = "NVTX_EVENTS";
constexpr const char* kRecordCuda = "Record with nsys profile --trace=cuda,nvtx";
constexpr const char* kEmitNvtx =
    "Record with nsys profile --trace=cuda,nvtx and run the steps within "
    "torch.autograd.profiler.emit_nvtx(record_shapes=True); or with torch.profiler";

/// One process with GPU work.
struct Process {
  std::int64_t global_pid = 0;
  std::int64_t device = 0;
  TraceRecords records;
  std::size_t gradients = 0;
  std::size_t all_reduces = 0;
  std::int64_t all_reduce_ns = 0;

  std::int64_t pid() const { return (global_pid >> 24) & 0xFFFFFF; }
};

class NsysImport {
 public:
  NsysImport(const SqliteFile& database, const ImportOptions& options)
      : database_(database), options_(options) {}

  Imported run();

 private:
  [[noreturn]] void refuse(std::string message, Hint hint) const {
    throw InputError({database_.file(), "", std::move(message), std::move(hint)});
  }
  bool has(const char* table) const { return !database_.columns(table).empty(); }
  void require(const char* table, std::initializer_list<std::string_view> columns) const;
  std::string version() const;
  void check_tables() const;
  void check_text_ids() const;
  void read_calls();
  void read_activities(const char* table, bool kernels);
  void read_ranges();
  void keep_ranks();
  void check_span(const char* table, std::int64_t start_ns, std::int64_t end_ns) const;
  Process& process(std::int64_t global_id);
  TraceHeader header_of(const Process& one, std::size_t rank) const;
  Imported imported(std::size_t rank, const ImportOptions& options);
  void describe(Imported& result) const;

  const SqliteFile& database_;
  const ImportOptions& options_;
  std::map<std::int64_t, Process> processes_;
  std::vector<Process> ranks_;
  /// Type of the all-reduces in C++'s spelling; empty if there are several.
  std::optional<std::string> type_;
  bool sized_ = false;  ///< record_shapes was on
  std::size_t kernels_ = 0;
  std::int64_t open_ranges_ = 0;
  std::size_t without_gradients_ = 0;
};

Imported NsysImport::run() {
  check_tables();
  try {
    read_calls();
    read_activities(kKernels, true);
    for (const char* table : {"CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET"})
      if (has(table)) read_activities(table, false);
    read_ranges();
  } catch (const TraceLimit& limit) {
    refuse(fmt::format("this export cannot be imported: {}", limit.what()),
           "Record fewer steps, of one process");
  }
  keep_ranks();
  if (ranks_.size() > 1 && options_.timing == Timing::compacted)
    refuse(
        fmt::format("holds {} ranks, which are joined on the clock they recorded", ranks_.size()),
        "Leave out --timing compacted, or record one process");
  std::vector<RankImport> ranks;
  ImportOptions options = options_;
  const std::size_t count = ranks_.size();
  for (std::size_t k = 0; k < count; ++k) {
    ranks.push_back(
        {fmt::format("{} (process {})", database_.file(), ranks_[k].pid()), imported(k, options)});
    options.step = ranks.front().imported.rank_trace->step;
    options.iteration.reset();
  }
  Imported result = count == 1 ? std::move(ranks.front().imported) : join_ranks(std::move(ranks));
  describe(result);
  return result;
}

std::string NsysImport::version() const {
  if (!has("META_DATA_EXPORT")) return "without a schema version";
  SqliteRows rows =
      database_.select("SELECT value FROM META_DATA_EXPORT WHERE name = 'EXPORT_SCHEMA_VERSION'");
  return rows.next() ? "schema version " + legible(rows.text(0), 20) : "without a schema version";
}

void NsysImport::require(const char* table, std::initializer_list<std::string_view> columns) const {
  const std::vector<std::string> there = database_.columns(table);
  for (const std::string_view column : columns)
    if (std::find(there.begin(), there.end(), column) == there.end())
      refuse(fmt::format("its table {} has no column {} ({})", table, column, version()),
             "Export it with another version of nsys: 2020.1 and newer are known");
}

void NsysImport::check_tables() const {
  if (has("StringTable") && !has("StringIds"))
    refuse("is a database of nvprof, which does not record gradients",
           "Record with torch.profiler instead, and give its trace");
  if (has("rocpd_string") || has("rocpd_api"))
    refuse("is a database of rocprof or rocm's tracers (rocpd)",
           "Record with torch.profiler, which records ROCm, too, and give its trace");
  if (!has("StringIds") || (!has("META_DATA_EXPORT") && !has(kKernels) && !has(kRanges)))
    refuse("is an SQLite database, but not an export of Nsight Systems: its tables are missing",
           "Expected what nsys export --type sqlite REPORT.nsys-rep writes");
  if (!has(kKernels))
    refuse(fmt::format("no GPU kernel was recorded (no table {})", kKernels), kRecordCuda);
  if (!has(kCalls))
    refuse(
        fmt::format("it holds kernels, but not the host's calls that launched them (no table {})",
                    kCalls),
        kRecordCuda);
  require("StringIds", {"id", "value"});
  check_text_ids();
  require(kKernels,
          {"start", "end", "deviceId", "correlationId", "globalPid", "demangledName", "gridX"});
  require(kCalls, {"start", "end", "globalTid", "correlationId", "nameId"});
  if (has(kRanges)) require(kRanges, {"start", "end", "eventType", "text", "textId", "globalTid"});
  for (const char* table : {"CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET"})
    if (has(table)) require(table, {"start", "end", "deviceId", "correlationId", "globalPid"});
}

/// Each row is joined with the text of its id, so a duplicate id would multiply the rows. Ids of
/// any type that compare equal to one number are equal as integers.
void NsysImport::check_text_ids() const {
  SqliteRows rows = database_.select(
      "SELECT CAST(id AS INTEGER) AS number, count(*) FROM StringIds GROUP BY number "
      "HAVING count(*) > 1 LIMIT 1");
  if (rows.next())
    refuse(fmt::format("{} rows of StringIds have the id {}; each id names one text",
                       rows.integer(1), rows.integer(0)),
           "The export is damaged: export it again (nsys export --type sqlite)");
}

/// `global_id` is a globalTid or globalPid.
Process& NsysImport::process(std::int64_t global_id) {
  const std::int64_t global_pid = global_id & ~std::int64_t{0xFFFFFF};
  Process& one = processes_[global_pid];
  one.global_pid = global_pid;
  return one;
}

void NsysImport::check_span(const char* table, std::int64_t start_ns, std::int64_t end_ns) const {
  constexpr std::int64_t kMost = std::int64_t{1} << 62;
  if (start_ns > -kMost && end_ns < kMost && start_ns <= end_ns) return;
  refuse(fmt::format("a row of {} goes from {} to {} ns", table, start_ns, end_ns),
         "The export is damaged: export it again");
}

void NsysImport::read_calls() {
  SqliteRows rows = database_.select(
      "SELECT r.start, r.end, r.globalTid, r.correlationId, s.value "
      "FROM CUPTI_ACTIVITY_KIND_RUNTIME AS r LEFT JOIN StringIds AS s ON s.id = r.nameId");
  while (rows.next()) {
    check_span(kCalls, rows.integer(0), rows.integer(1));
    const std::string thread = std::to_string(rows.integer(2));
    TraceEvent event;
    event.kind = EventKind::runtime;
    event.name = rows.text(4);
    event.thread = thread;
    event.start_ns = rows.integer(0);
    event.duration_ns = rows.integer(1) - rows.integer(0);
    event.correlation = rows.integer(3);
    process(rows.integer(2)).records.add(event);
  }
}

void NsysImport::read_activities(const char* table, bool kernels) {
  SqliteRows rows = database_.select(fmt::format(
      "SELECT a.start, a.end, a.deviceId, a.correlationId, a.globalPid, {} FROM {} AS a {}",
      kernels ? "s.value, a.gridX" : "'', 0", table,
      kernels ? "LEFT JOIN StringIds AS s ON s.id = a.demangledName" : ""));
  bool several = false;
  while (rows.next()) {
    check_span(table, rows.integer(0), rows.integer(1));
    TraceEvent event;
    event.kind = kernels ? EventKind::kernel : EventKind::memory;
    event.name = rows.text(5);
    event.start_ns = rows.integer(0);
    event.duration_ns = rows.integer(1) - rows.integer(0);
    event.device = rows.integer(2);
    if (!rows.is_null(3)) event.correlation = rows.integer(3);
    if (kernels) event.blocks = rows.integer(6);
    kernels_ += kernels ? 1 : 0;
    Process& one = process(rows.integer(4));
    one.device = *event.device;
    one.records.add(event);
    if (!is_nccl_kernel(event.name) || !contains(event.name, "AllReduce")) continue;
    ++one.all_reduces;
    one.all_reduce_ns += event.duration_ns;
    const auto type = type_in_kernel(event.name);
    several = several || (type && type_ && type != type_);
    if (type) type_ = type;
  }
  if (several) type_.reset();
}

void NsysImport::read_ranges() {
  if (!has(kRanges)) return;
  const std::string types = fmt::format("[\"{}\"]", type_.value_or("float"));
  SqliteRows rows = database_.select(
      "SELECT n.start, n.end, n.globalTid, coalesce(n.text, s.value) "
      "FROM NVTX_EVENTS AS n LEFT JOIN StringIds AS s ON s.id = n.textId "
      "WHERE n.eventType IN (59, 60) ORDER BY n.start");
  while (rows.next()) {
    if (rows.is_null(1)) {
      ++open_ranges_;
      continue;
    }
    check_span(kRanges, rows.integer(0), rows.integer(1));
    const EmittedRange range = emitted_range(rows.text(3));
    const std::string thread = std::to_string(rows.integer(2));
    TraceEvent event;
    event.kind = EventKind::cpu_op;
    event.name = range.name;
    event.thread = thread;
    event.start_ns = rows.integer(0);
    event.duration_ns = rows.integer(1) - rows.integer(0);
    const bool sizes_gradients = range.name == kAccumulateGrad || is_nccl_call(range.name);
    if (!range.sizes.empty() && (sizes_gradients || input_operator(range.name))) {
      sized_ = sized_ || sizes_gradients;
      event.dims = range.sizes;
      event.types = types;
    }
    Process& one = process(rows.integer(2));
    if (range.name == kAccumulateGrad) ++one.gradients;
    one.records.add(event);
  }
}

void NsysImport::keep_ranks() {
  std::size_t held_activities = 0;
  std::size_t all_reduces = 0;
  std::int64_t all_reduce_ns = 0;
  for (auto& [id, one] : processes_) {
    one.records.finish();
    const auto activities = static_cast<std::size_t>(one.records.gpu_activities());
    held_activities += activities;
    all_reduces += one.all_reduces;
    all_reduce_ns += one.all_reduce_ns;
    if (activities == 0) continue;
    if (one.gradients == 0 || one.records.activity_count() == 0)
      ++without_gradients_;
    else
      ranks_.push_back(std::move(one));
  }
  std::stable_sort(ranks_.begin(), ranks_.end(), [](const Process& a, const Process& b) {
    return std::tie(a.device, a.global_pid) < std::tie(b.device, b.global_pid);
  });
  if (kernels_ == 0) refuse("no GPU kernel was recorded", kRecordCuda);
  if (!ranks_.empty()) return;
  const bool gradients = std::any_of(processes_.begin(), processes_.end(),
                                     [](const auto& one) { return one.second.gradients > 0; });
  if (gradients)
    refuse("no launch belongs to any GPU activity of the processes with autograd's ranges",
           kRecordCuda);
  std::string held = fmt::format("it holds {} GPU activities", held_activities);
  if (all_reduces > 0)
    held += fmt::format(", among them {} all-reduce kernels of {:.3f} ms together, waits included",
                        all_reduces, static_cast<double>(all_reduce_ns) / 1e6);
  refuse(fmt::format("{}, but no NVTX range of autograd's nodes (AccumulateGrad), so when each "
                     "gradient was ready cannot be told",
                     held),
         kEmitNvtx);
}

TraceHeader NsysImport::header_of(const Process& one, std::size_t rank) const {
  TraceHeader header;
  if (ranks_.size() > 1) {
    header.rank = static_cast<std::int64_t>(rank);
    header.world_size = static_cast<int>(ranks_.size());
  }
  const std::vector<std::string> columns = database_.columns("TARGET_INFO_GPU");
  const auto there = [&](const char* column) {
    return std::find(columns.begin(), columns.end(), column) != columns.end();
  };
  if (!there("id") || !there("name")) return header;
  SqliteRows rows = database_.select("SELECT id, name FROM TARGET_INFO_GPU ORDER BY id");
  while (rows.next())
    if (header.gpu_full_name.empty() || rows.integer(0) == one.device)
      header.gpu_full_name = legible(rows.text(1));
  return header;
}

Imported NsysImport::imported(std::size_t rank, const ImportOptions& options) {
  const TraceHeader header = header_of(ranks_[rank], rank);
  const bool since_1_10 =
      ranks_[rank].records.node_count(TraceRecords::Node::gradient_with_hooks) > 0;
  Imported result =
      import_records(std::move(ranks_[rank].records), header, database_.file(), options);
  Workload& workload = result.workload;
  workload.torch_at_least.reset();  // those come from the other kind of trace
  if (since_1_10) workload.torch_at_least = TorchVersion{1, 10};
  for (auto& [key, value] : workload.provenance)
    if (key == "kind") value = "Nsight Systems export";
  workload.name = std::filesystem::path(database_.file()).stem().string();
  return result;
}

void NsysImport::describe(Imported& result) const {
  result.recognised.insert(
      result.recognised.begin(),
      fmt::format("an Nsight Systems export ({}){}", version(),
                  ranks_.size() > 1
                      ? fmt::format(", {} processes, used as ranks in order of GPU", ranks_.size())
                      : ""));
  const std::string type = type_ ? std::string(name_of(dtype_from_recorded(*type_).value())) : "";
  if (sized_ && type_)
    result.warnings.push_back(
        fmt::format("gradients are assumed to have the type of the all-reduces, {}, because Nsight "
                    "Systems records no types",
                    type));
  else
    result.warnings.push_back(fmt::format(
        "gradients are assumed to be float32, because Nsight Systems records no types{}",
        type.empty() || type == "float32"
            ? ""
            : fmt::format("; the all-reduces are of {}: record with emit_nvtx(record_shapes=True)",
                          type)));
  if (without_gradients_ > 0)
    result.warnings.push_back(
        fmt::format("{} more process{} used a GPU, without autograd's ranges: left out",
                    without_gradients_, without_gradients_ == 1 ? "" : "es"));
  if (open_ranges_ > 0)
    result.warnings.push_back(
        fmt::format("{} NVTX ranges do not end in it and were left out", open_ranges_));
}

}  // namespace

Imported import_nsys_export(const SqliteFile& database, const ImportOptions& options) {
  return NsysImport(database, options).run();
}

}  // namespace ddpsim
