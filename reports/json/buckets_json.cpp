#include "ddpsim/reports/reports.hpp"
#include "described_assignment.hpp"
#include "described_documents.hpp"

namespace ddpsim {
namespace {

struct BucketsReport {
  const std::vector<Bucket>& buckets;
  const std::vector<std::string>& warnings;
  TorchInForce torch;
  const std::optional<LoggedBuckets>& logged;
};

/// What DDP logged, and the first difference from the buckets assigned here.
struct ComparedLog {
  const LoggedBuckets& logged;
  std::optional<std::size_t> first_difference;
};

std::optional<ComparedLog> compared_log(const BucketsReport& report) {
  if (!report.logged) return std::nullopt;
  return ComparedLog{*report.logged, first_difference(report.buckets, report.logged->bytes)};
}

const Described<ComparedLog>& described_logged() {
  static const auto described =
      Described<ComparedLog>("LoggedBuckets",
                             "buckets that DDP logged, compared with those assigned here")
          .boolean(
              "match", [](const ComparedLog& of) { return !of.first_difference; },
              "whether the logged buckets have the same bytes as those assigned here")
          .integer("first_difference", &ComparedLog::first_difference,
                   "index of the first bucket whose bytes differ or that only one list has. Only "
                   "if they differ",
                   Absent::left_out)
          .integers(
              "bytes", [](const ComparedLog& of) -> const auto& { return of.logged.bytes; },
              "bytes of each logged bucket, in launch order", Absent::null,
              JsonWriter::Layout::block);
  return described;
}

const Described<BucketsReport>& described_buckets() {
  using Report = BucketsReport;
  static const auto described =
      Described<Report>("BucketsResult", "which gradients are reduced together")
          .constant("schema", "ddpsim.buckets/1", "which document this is")
          .text(
              "torch", [](const Report& of) { return to_string(of.torch.version); },
              "the PyTorch version that is simulated")
          .boolean(
              "torch_known", [](const Report& of) { return of.torch.known; },
              "whether --torch or the workload states the PyTorch version; if false, torch is an "
              "assumption")
          .list(
              "buckets", [](const Report& of) { return assigned_buckets(of.buckets); },
              described_assigned_bucket(), "buckets in launch order")
          .object("logged", &compared_log, described_logged(),
                  "the buckets that DDP itself logged, compared with those assigned here. Only "
                  "with a DDP log",
                  Absent::left_out)
          .texts(
              "warnings", [](const Report& of) -> const auto& { return of.warnings; },
              "warnings, one sentence each");
  return described;
}

}  // namespace

std::vector<AssignedBucket> assigned_buckets(const std::vector<Bucket>& buckets) {
  std::vector<AssignedBucket> assigned;
  for (const Bucket& bucket : buckets) assigned.push_back({bucket, assigned.size()});
  return assigned;
}

const Described<AssignedBucket>& described_assigned_bucket() {
  using Assigned = AssignedBucket;
  static const auto described =
      Described<Assigned>("AssignedBucket", "a bucket and its gradients")
          .integer("index", &Assigned::index, "place in launch order, from 0")
          .integer(
              "bytes", [](const Assigned& of) { return of.bucket.bytes; },
              "bytes of the bucket's gradients")
          .integers(
              "parameter_indices",
              [](const Assigned& of) -> const auto& { return of.bucket.parameters; },
              "the bucket's parameters, by their place in the workload's list")
          .integer(
              "limit_bytes", [](const Assigned& of) { return of.bucket.limit; },
              "the cap of the bucket in bytes; 0 for a sparse gradient")
          .word(
              "closed_by", [](const Assigned& of) { return of.bucket.closed_by; },
              all_up_to(ClosedBy::sparse),
              "what ended the bucket: its cap, the last gradient, or a sparse gradient")
          .word(
              "dtype", [](const Assigned& of) { return of.bucket.dtype; },
              all_up_to(Dtype::complex128), "the type of the bucket's gradients");
  return described;
}

const ObjectType& buckets_document() {
  return described_buckets().type();
}

std::string buckets_json(const std::vector<Bucket>& buckets,
                         const std::vector<std::string>& warnings, TorchInForce torch,
                         const std::optional<LoggedBuckets>& logged) {
  return described_buckets().text_of({buckets, warnings, torch, logged});
}

}  // namespace ddpsim
