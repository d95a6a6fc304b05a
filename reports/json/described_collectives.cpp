#include "described_collectives.hpp"

namespace ddpsim {
namespace {

using Layout = JsonWriter::Layout;

/// The collectives that move a step's gradients and parameters.
std::vector<CollectiveKind> kinds_of_a_step() {
  return all_up_to(CollectiveKind::send_recv);
}

template <typename T>
void add_begin(Described<T>& described) {
  described
      .time("ready_us", &CollectiveResult::ready,
            "when the data to send is written and there is room for the result")
      .time("launch_us", &CollectiveResult::launch, "when the host has enqueued the collective")
      .time("start_us", &CollectiveResult::start, "when the collective's kernel runs on this rank")
      .time("last_arrival_us", &CollectiveResult::last_arrival,
            "when the collective's kernel runs on the last rank and the transfer begins");
}

template <typename T>
void add_choice(Described<T>& described) {
  const auto chosen = [](auto CollectiveChoice::*what) {
    return [what](const T& result) {
      using Value = std::remove_cvref_t<decltype(std::declval<CollectiveChoice>().*what)>;
      return result.choice ? std::optional<Value>((*result.choice).*what) : std::nullopt;
    };
  };
  described
      .word("algorithm", chosen(&CollectiveChoice::algorithm), all_up_to(Algorithm::nvls_tree),
            "the algorithm that NCCL chooses; null with gloo")
      .word("protocol", chosen(&CollectiveChoice::protocol), all_up_to(Protocol::simple),
            "the protocol that NCCL chooses; null with gloo")
      .integer("channels", chosen(&CollectiveChoice::channels),
               "channels that NCCL uses; null with gloo");
}

}  // namespace

std::vector<NumberedBucket> numbered(const std::vector<BucketResult>& buckets) {
  std::vector<NumberedBucket> all;
  for (const BucketResult& bucket : buckets) all.push_back({bucket, all.size()});
  return all;
}

const Described<NumberedBucket>& described_step_bucket() {
  static const auto described = [] {
    Described<NumberedBucket> bucket("Bucket", "a bucket of gradients and its all-reduce");
    bucket.integer("index", &NumberedBucket::index, "place in launch order, from 0")
        .integer(
            "bytes", [](const NumberedBucket& of) { return of.bucket.bytes; },
            "bytes of the bucket's gradients")
        .integers(
            "parameter_indices",
            [](const NumberedBucket& of) -> const auto& { return of.bucket.parameters; },
            "the bucket's parameters, by their place in the workload's list");
    add_begin(bucket);
    bucket.integer("last_rank", &NumberedBucket::last_rank, "the rank whose kernel ran last")
        .time("end_us", &NumberedBucket::end, "when the all-reduce has ended");
    add_choice(bucket);
    bucket
        .word(
            "closed_by", [](const NumberedBucket& of) { return of.bucket.closed_by; },
            all_up_to(ClosedBy::sparse),
            "what ended the bucket: its cap, the last gradient, or a sparse gradient")
        .text("exposed_because", unless_empty(&NumberedBucket::exposed_because),
              "why backward does not hide the all-reduce; null if it is hidden")
        .integer(
            "wire_bytes",
            [](const NumberedBucket& of) {
              return of.bytes != of.bucket.bytes ? std::optional(of.bytes) : std::nullopt;
            },
            "bytes that are sent. Only if a communication hook changes them", Absent::left_out)
        .integers(
            "all_reduce_bytes",
            [](const NumberedBucket& of) {
              return of.all_reduces.size() > 1 ? &of.all_reduces : nullptr;
            },
            "bytes of each all-reduce: uncompressed gradients, P and Q. start_us belongs to the "
            "first, end_us to the last, NCCL's choice to the largest. Only if powerSGD_hook runs "
            "several",
            Absent::left_out, Layout::block);
    return bucket;
  }();
  return described;
}

const Described<CollectiveResult>& described_step_collective() {
  static const auto described = [] {
    Described<CollectiveResult> collective("Collective", "a collective of a step with --scheme",
                                           Layout::line);
    collective.word("kind", &CollectiveResult::kind, kinds_of_a_step(), "which collective it is")
        .text("unit", &CollectiveResult::unit,
              "what the collective belongs to: a module's path, root, bucket 0, a parameter")
        .integer("bytes", &CollectiveResult::bytes,
                 "bytes as nccl-tests counts them, including padding: for an all-gather what every "
                 "rank ends with, for a reduce-scatter what every rank begins with");
    add_begin(collective);
    collective.time("end_us", &CollectiveResult::end, "when the collective has ended")
        .word("phase", &CollectiveResult::phase, all_up_to(StepPhase::optimizer),
              "the part of the step that needs the collective");
    add_choice(collective);
    return collective;
  }();
  return described;
}

}  // namespace ddpsim
