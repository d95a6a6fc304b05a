#include "recognise.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "chakra.hpp"
#include "ddp_log_text.hpp"
#include "trace_names.hpp"

namespace ddpsim {
namespace {

constexpr std::string_view kSpace = " \t\r\n";

std::string_view without_leading_space(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kSpace);
  return first == std::string_view::npos ? std::string_view() : text.substr(first);
}

struct Member {
  std::string_view key;
  std::string_view value;  ///< from its first byte, end unknown
};

/// Members of the outermost object, as far as the text goes. This is lenient, because the readers
/// check properly.
std::vector<Member> outer_members(std::string_view text) {
  std::vector<Member> members;
  std::size_t depth = 0;
  std::string_view last_string;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      const std::size_t begin = ++i;
      while (i < text.size() && text[i] != '"') i += text[i] == '\\' ? 2 : 1;
      if (i >= text.size()) break;
      last_string = text.substr(begin, i - begin);
    } else if (c == ':' && depth == 1) {
      members.push_back({last_string, without_leading_space(text.substr(i + 1))});
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if ((c == '}' || c == ']') && depth > 0) {
      --depth;
    }
  }
  return members;
}

Recognition other(std::string looks_like, std::string hint) {
  return {Recognition::Kind::other, std::move(looks_like), std::move(hint)};
}

constexpr const char* kHowToRecord =
    "Expected a PyTorch profiler trace (prof.export_chrome_trace), a workload file or a layer "
    "table";

constexpr const char* kUseProfiler = "Record with torch.profiler instead, and give its trace";

Recognition recognise_object(std::string_view text) {
  const std::vector<Member> members = outer_members(text);
  const auto value_of = [&](std::string_view key) -> std::optional<std::string_view> {
    for (const Member& member : members) {
      if (member.key == key) return member.value;
    }
    return std::nullopt;
  };
  const auto has_any = [&](auto keys) {
    return std::any_of(keys.begin(), keys.end(),
                       [&](std::string_view key) { return value_of(key).has_value(); });
  };
  if (const auto schema = value_of("schema"); schema && schema->substr(0, 8) == "\"ddpsim.") {
    const std::string_view name = schema->substr(1, schema->find('"', 1) - 1);
    if (name.substr(0, 16) == "ddpsim.workload/") return {Recognition::Kind::workload, "", ""};
    return other("a " + std::string(name) + " file", "Expected a workload: ddpsim.workload/1");
  }
  if (value_of("traceEvents")) return {Recognition::Kind::profiler_trace, "", ""};
  if (value_of("parameters")) return {Recognition::Kind::workload, "", ""};
  constexpr std::array<std::string_view, 6> kBesideEvents = {"schemaVersion",   "deviceProperties",
                                                             "distributedInfo", "traceName",
                                                             "displayTimeUnit", "with_stack"};
  constexpr std::array<std::string_view, 3> kOfDdpLog = {"bucket_cap_bytes", "rebuilt_bucket_sizes",
                                                         "num_parameter_tensors"};
  if (has_any(kOfDdpLog)) return {Recognition::Kind::ddp_log, "", ""};
  if (std::string form = chakra_json_form(text); !form.empty()) {
    return other(std::move(form), kInsteadOfChakra);
  }
  if (value_of("device_traces") || value_of("segments")) {
    return other("a CUDA memory snapshot", kHowToRecord);
  }
  if (value_of("entries") && value_of("pg_config")) {
    return other("an NCCL flight recorder dump",
                 "It holds only collectives, no gradients. Compare it with a prediction: ddpsim "
                 "validate PREDICTED DUMP");
  }
  if (value_of("rocprofiler-sdk-tool")) return other("the JSON of rocprofv3", kUseProfiler);
  if (const auto form = value_of("$schema"); form && contains(form->substr(0, 80), "speedscope"))
    return other("a profile for speedscope (py-spy and others), which shows only the host",
                 kUseProfiler);
  if (contains(text.substr(0, 4096), "\"StringStorage\"") ||
      contains(text.substr(0, 4096), "\"TargetInfoSystemEnv\""))
    return other("the JSON of nsys export",
                 "Export it again as a database: nsys export --type sqlite REPORT.nsys-rep");
  if (value_of("coll_perf"))
    return other("a file of NCCL's inspector",
                 "It holds only collectives, no gradients. Give it to: ddpsim calibrate FILE "
                 "--cluster CLUSTER");
  if (has_any(kBesideEvents)) return {Recognition::Kind::profiler_trace, "", ""};
  if (value_of("schema")) return {Recognition::Kind::workload, "", ""};
  return other("a JSON object without \"traceEvents\" or \"parameters\"", kHowToRecord);
}

struct Mark {
  std::string_view text;
  const char* looks_like;
  const char* hint;
};

constexpr const char* kUnpack = "Unpack it and give the trace inside";
constexpr const char* kExportNsys = "Export it and give the export: nsys export --type sqlite FILE";

std::optional<Recognition> recognise_magic(std::string_view head) {
  using namespace std::string_view_literals;
  static constexpr Mark kMagics[] = {
      {"PK\x03\x04"sv, "a zip archive", kUnpack},
      {"BZh"sv, "a bzip2 archive", kUnpack},
      {"\xFD"
       "7zXZ"sv,
       "an xz archive", kUnpack},
      {"\x28\xB5\x2F\xFD"sv, "a zstd archive", kUnpack},
      {"7z\xBC\xAF"sv, "a 7-Zip archive", kUnpack},
      {"\x7F"
       "ELF"sv,
       "a program", kHowToRecord},
      {"%PDF"sv, "a PDF", kHowToRecord},
      {"\x89PNG"sv, "a picture", kHowToRecord},
      {"PAR1"sv, "a Parquet table", kHowToRecord},
      {"\x93NUMPY"sv, "a NumPy array", kHowToRecord},
      {"\x80\x02"sv, "a Python pickle", kHowToRecord},
      {"\x80\x04"sv, "a Python pickle", kHowToRecord},
      {"\xFF\xFE"sv, "UTF-16 text", "Save it as UTF-8"},
      {"\xFE\xFF"sv, "UTF-16 text", "Save it as UTF-8"},
      {"NVIDIA Tegra Profiler Report"sv, "a report of Nsight Systems", kExportNsys},
      {"NVIDIA Nsight Systems"sv, "a report of Nsight Systems", kExportNsys},
      {"NVR\0"sv, "a report of Nsight Compute, which shows single kernels and no step",
       kUseProfiler},
      {"\x89HDF"sv, "an HDF5 file", kHowToRecord},
      {"PERFILE2"sv, "a recording of perf, which shows only the host", kUseProfiler},
  };
  for (const Mark& mark : kMagics) {
    if (head.substr(0, mark.text.size()) == mark.text) return other(mark.looks_like, mark.hint);
  }
  constexpr std::size_t kTarMark = 257;
  if (head.size() > kTarMark && head.substr(kTarMark, 5) == "ustar") {
    return other("a tar archive", kUnpack);
  }
  if (contains(head.substr(0, 4096), "/host:metadata") ||
      contains(head.substr(0, 4096), "/device:GPU:") ||
      contains(head.substr(0, 4096), "/host:CPU")) {
    if (head.front() != '{' && head.front() != '[')
      return other("a profile of JAX or TensorFlow (xplane)", kUseProfiler);
  }
  if (contains(head.substr(0, 64), "brain.Event:")) {
    return other("TensorBoard's event file",
                 "Give the .pt.trace.json in the same folder, which its profiler plugin reads");
  }
  return std::nullopt;
}

/// Tables and logs of other tools, recognised by words in their first lines.
std::optional<Recognition> recognise_text(std::string_view text) {
  static constexpr Mark kMarks[] = {
      {"[before iteration ", "DDP's log of its times during training, which names no bucket",
       "Give the output of print(ddp_model._get_ddp_logging_data())"},
      {"NVPROF is profiling", "an nvprof log", kUseProfiler},
      {"==PROF==", "an Nsight Compute log", kUseProfiler},
      {"Total Time (ns)", "a table of nsys stats",
       "Give the export itself: nsys export --type sqlite REPORT.nsys-rep"},
      {"\"Time(%)\"", "an nvprof table", kUseProfiler},
      {"TotalDurationNs", "a rocprof table", kUseProfiler},
      {"\"KernelName\"", "a rocprof table", kUseProfiler},
      {"KernelName,", "a rocprof table", kUseProfiler},
      {"\"Kernel_Name\"", "a table of rocprofv3", kUseProfiler},
      {"Kernel_Name,", "a table of rocprofv3", kUseProfiler},
      {"Self CPU %", "the table of key_averages(), which has no time for each gradient",
       "Give the trace: prof.export_chrome_trace(…)"},
      {"Traceback (most recent call last)", "a Python traceback", kHowToRecord},
      {"NVIDIA-SMI", "the output of nvidia-smi", kHowToRecord},
      {"version https://git-lfs", "a Git LFS pointer, not the file itself",
       "Fetch it: git lfs pull"},
  };
  for (const Mark& mark : kMarks) {
    if (contains(text.substr(0, 2048), mark.text)) return other(mark.looks_like, mark.hint);
  }
  return std::nullopt;
}

}  // namespace

Recognition recognise(std::string_view head, bool whole) {
  if (head.substr(0, 3) == "\xEF\xBB\xBF") head.remove_prefix(3);
  if (head.starts_with("SQLite format 3")) return {Recognition::Kind::nsys_export, "", ""};
  if (auto known = recognise_magic(head)) return *known;
  if (is_chakra_protobuf(head)) {
    return other("a Chakra execution trace (protobuf)", kInsteadOfChakra);
  }
  const std::string_view text = without_leading_space(head);
  if (text.empty()) return other(whole ? "an empty file" : "white space", kHowToRecord);
  // A log may also begin with a bracket or brace: "[rank0]: …", "{'loss': 2.3}".
  const std::string_view inside = without_leading_space(text.substr(1));
  const char next = inside.empty() ? '\0' : inside.front();
  if (text.front() == '{' && (next == '"' || next == '}' || next == '\0'))
    return recognise_object(text);
  if (text.front() == '[' && (next == '{' || next == ']' || next == '\0'))
    return {Recognition::Kind::profiler_trace, "", ""};
  if (begins_with_ddp_log(text)) return {Recognition::Kind::ddp_log, "", ""};
  if (auto known = recognise_text(text)) return *known;
  if (text.front() == '<') return other("HTML or XML", kHowToRecord);
  if (contains(head, "busbw") || contains(head, "nccl-tests") || contains(head, "# nThread")) {
    return other("an nccl-tests log", "Give it to: ddpsim calibrate LOG --cluster CLUSTER");
  }
  if (contains(head, std::string_view("\0", 1))) return other("a binary file", kHowToRecord);
  const std::string_view line = text.substr(0, text.find('\n'));
  if (contains(line, "layer") || std::count(line.begin(), line.end(), ',') >= 2) {
    return {Recognition::Kind::layer_table, "", ""};
  }
  return other("", kHowToRecord);
}

}  // namespace ddpsim
