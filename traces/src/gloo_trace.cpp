#include "ddpsim/traces/gloo_trace.hpp"

#include <algorithm>

#include "ddpsim/formats/input_error.hpp"
#include "event_reader.hpp"
#include "json_splitter.hpp"
#include "opened_file.hpp"
#include "recorded_tensor.hpp"
#include "trace_header.hpp"
#include "trace_names.hpp"

namespace ddpsim {
namespace {

constexpr std::size_t kMostAllReduces = 1'000'000;

struct SeenAllReduce {
  Bytes size;
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;
};

/// Opens a trace of gloo, recognised by its beginning. A file that cannot be read is not one.
std::optional<OpenedFile> open_gloo_trace(const std::filesystem::path& path) {
  try {
    OpenedFile opened = open_file(path);
    if (opened.recognised.kind == Recognition::Kind::profiler_trace &&
        job_in_head(opened.head).backend == "gloo")
      return opened;
  } catch (const InputError&) {
    return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

std::optional<GlooTrace> read_gloo_trace(const std::filesystem::path& path) {
  const std::optional<OpenedFile> opened = open_gloo_trace(path);
  if (!opened) return std::nullopt;
  const std::string file = path.filename().string();
  JsonSplitter splitter(opened->source, file);
  EventReader reader(splitter);
  std::vector<SeenAllReduce> seen;
  std::size_t unsized = 0;
  for (EventBatch batch = splitter.next(); !batch.text.empty(); batch = splitter.next())
    reader.read(batch, [&](const TraceEvent& event) {
      if (event.name != kGlooAllReduce || event.duration_ns <= 0) return;
      const auto tensor = first_input(event.dims, event.types);
      const auto bytes = tensor && tensor->dtype ? bytes_of(*tensor) : std::nullopt;
      if (!bytes || *bytes <= Bytes()) {
        ++unsized;
        return;
      }
      if (seen.size() == kMostAllReduces)
        throw InputError({file, "", "holds more all-reduces than a million", "Record fewer steps"});
      seen.push_back({*bytes, event.start_ns, event.duration_ns});
    });
  if (seen.empty())
    throw InputError(
        {file, "",
         unsized > 0 ? "is from a job over gloo, but its all-reduces have no sizes"
                     : "is from a job over gloo, but holds no all-reduce",
         unsized > 0 ? "Record with record_shapes=True" : "Record steps of a DDP job"});
  std::ranges::stable_sort(seen, {}, &SeenAllReduce::start_ns);
  const TraceHeader header = read_trace_header(splitter, std::nullopt);
  GlooTrace trace{.rank = header.rank.value_or(0),
                  .world_size = header.world_size.value_or(0),
                  .gpu = header.gpu_full_name.empty() ? "CPU" : header.gpu_full_name,
                  .all_reduces = {}};
  constexpr double kPerMicrosecond = 1e3;
  for (const SeenAllReduce& one : seen)
    trace.all_reduces.push_back(
        {one.size, static_cast<double>(one.start_ns - seen.front().start_ns) / kPerMicrosecond,
         static_cast<double>(one.duration_ns) / kPerMicrosecond});
  return trace;
}

}  // namespace ddpsim
