#include "measured_timeline.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "ddpsim/formats/files.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/quote.hpp"
#include "ddpsim/traces/import.hpp"
#include "ddpsim/traces/recorded_timeline.hpp"
#include "ddpsim/traces/timeline_file.hpp"

namespace ddpsim {
namespace {

std::optional<std::string> said(const Timeline& timeline, std::string_view key) {
  for (const auto& [name, text] : timeline.provenance)
    if (name == key) return text;
  return std::nullopt;
}

/// Returns the library of a backend as ddpsim-real ("c10d-gloo") or PyTorch ("nccl") names it.
std::optional<Backend> backend_named(std::string_view text) {
  for (const Backend backend : {Backend::gloo, Backend::nccl})
    if (text.find(name_of(backend)) != std::string_view::npos) return backend;
  return std::nullopt;
}

std::string bytes_of(const std::vector<BucketResult>& buckets) {
  std::string text;
  for (const BucketResult& one : buckets)
    text += (text.empty() ? "" : " ") + std::to_string(one.bucket.bytes.count());
  return text;
}

std::size_t buckets_reduced(const Timeline& timeline) {
  std::set<std::size_t> reduced;
  for (const RankTimeline& rank : timeline.ranks)
    for (const Span& span : rank.spans)
      if (span.track == Track::communication && span.bucket) reduced.insert(*span.bucket);
  return reduced.size();
}

}  // namespace

Timeline read_timeline(const std::string& file) {
  std::error_code error;
  if (std::filesystem::is_directory(file, error) || is_recording(file))
    return recorded_timeline(import_file(file, {}).workload);
  return parse_timeline(read_file(file, kMostTimelineBytes), file);
}

TimelineDifference laid_beside(const Timeline& predicted, const Timeline& measured,
                               const std::string& file) {
  std::optional<TimelineDifference> result = difference(predicted, measured, file);
  if (!result)
    throw InputError({.file = file,
                      .where = "/ranks",
                      .message = "contains none of the simulated ranks",
                      .hint = "Rank 0 is always among them"});
  return std::move(*result);
}

void require_same_job(const Timeline& measured, const std::string& file, const BuiltJob& loaded,
                      const std::vector<BucketResult>& buckets) {
  const auto refuse = [&](const char* where, std::string message, const char* hint) {
    throw InputError({.file = file, .where = where, .message = std::move(message), .hint = hint});
  };
  const auto ranks = said(measured, "ranks");
  if (ranks && *ranks != std::to_string(loaded.job.cluster().ranks()))
    refuse("/provenance/ranks",
           fmt::format("was measured on {} ranks, but {} are simulated", in_quotes(*ranks),
                       loaded.job.cluster().ranks()),
           "Set that size with CLUSTER@NODES, or with --nodes and --gpus-per-node");
  const auto library = said(measured, "backend");
  const auto backend = library ? backend_named(*library) : std::nullopt;
  if (backend && *backend != backend_of(loaded.job.model()))
    refuse("/provenance/backend",
           fmt::format("was measured with {}, but {} is simulated", in_quotes(*library),
                       name_of(backend_of(loaded.job.model()))),
           *backend == Backend::gloo ? "Pass --backend gloo" : "Leave out --backend gloo");
  constexpr const char* kAsMeasured =
      "Pass --bucket-cap-mb and --torch as they were in the measured job";
  const std::string simulated = bytes_of(buckets);
  if (const auto bytes = said(measured, "bucket_bytes"); bytes && *bytes != simulated)
    refuse("/provenance/bucket_bytes",
           fmt::format("has buckets of {} bytes, but the simulated ones have {}", in_quotes(*bytes),
                       simulated),
           kAsMeasured);
  if (const std::size_t count = buckets_reduced(measured); count > 0 && count != buckets.size())
    refuse("/ranks", fmt::format("has {} buckets, but {} are simulated", count, buckets.size()),
           kAsMeasured);
}

std::optional<std::string> another_workload(const Timeline& measured, const BuiltJob& loaded) {
  const auto workload = said(measured, "workload");
  if (!workload || loaded.job.workload().name.empty() || *workload == loaded.job.workload().name)
    return std::nullopt;
  return fmt::format("--measured shows workload {}, but {} is simulated; is it another job?",
                     *workload, loaded.job.workload().name);
}

Timeline described(const SimulationResult& result, const Job& job) {
  Timeline timeline = result.timeline;
  if (!job.workload().name.empty())
    timeline.provenance.emplace_back("workload", job.workload().name);
  timeline.provenance.emplace_back("ranks", std::to_string(job.cluster().ranks()));
  timeline.provenance.emplace_back("backend", name_of(backend_of(job.model())));
  if (!result.step.buckets.empty())
    timeline.provenance.emplace_back("bucket_bytes", bytes_of(result.step.buckets));
  return timeline;
}

}  // namespace ddpsim
