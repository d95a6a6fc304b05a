#include "collectives.hpp"

#include <nccl.h>

#include <cstdio>
#include <cstring>

#include "cuda_kernel_bodies.hpp"
#include "memory.hpp"

namespace simulated_gpu {
namespace {

template <typename T>
void add(const std::byte* from, std::byte* to, std::int64_t bytes) {
  using V = typename ddpsim_kernels::Arithmetic<T>::Type;
  const T* in = reinterpret_cast<const T*>(from);
  T* out = reinterpret_cast<T*>(to);
  const auto elements = bytes / static_cast<std::int64_t>(sizeof(T));
  for (std::int64_t i = 0; i < elements; ++i)
    out[i] =
        ddpsim_kernels::Cast<T, V>::of(ddpsim_kernels::wide(in[i]) + ddpsim_kernels::wide(out[i]));
}

void add_integers(const std::byte* from, std::byte* to, std::int64_t bytes) {
  const auto* in = reinterpret_cast<const std::int32_t*>(from);
  auto* out = reinterpret_cast<std::int32_t*>(to);
  for (std::int64_t i = 0; i < bytes / static_cast<std::int64_t>(sizeof *out); ++i) out[i] += in[i];
}

void add_into(const Collective& collective, const std::byte* from, std::byte* to) {
  switch (collective.dtype) {
    case ncclFloat64:
      return add<double>(from, to, collective.bytes);
    case ncclFloat16:
      return add<__half>(from, to, collective.bytes);
    case ncclBfloat16:
      return add<__nv_bfloat16>(from, to, collective.bytes);
    case ncclInt32:
      return add_integers(from, to, collective.bytes);
    case ncclFloat32:
      return add<float>(from, to, collective.bytes);
    default:
      give_up("cannot sum values of NCCL's type %d", collective.dtype);
  }
}

template <typename T>
void multiply(std::byte* values, std::int64_t bytes, double factor) {
  auto* const out = reinterpret_cast<T*>(values);
  ddpsim_kernels::scale_body({0, 1}, out, out, bytes / static_cast<std::int64_t>(sizeof(T)),
                             factor);
}

/// For floating types, ncclAvg scales each rank's input before the sum.
void divide(const Collective& collective, std::byte* values, int by) {
  switch (collective.dtype) {
    case ncclFloat64:
      return multiply<double>(values, collective.bytes, 1.0 / by);
    case ncclFloat16:
      return multiply<__half>(values, collective.bytes, 1.0 / by);
    case ncclBfloat16:
      return multiply<__nv_bfloat16>(values, collective.bytes, 1.0 / by);
    case ncclFloat32:
      return multiply<float>(values, collective.bytes, 1.0 / by);
    default:
      give_up("cannot average values of NCCL's type %d", collective.dtype);
  }
}

bool sums_up(CollectiveKind kind) {
  return kind == CollectiveKind::all_reduce || kind == CollectiveKind::reduce_scatter ||
         kind == CollectiveKind::reduce;
}

/// Concatenates the inputs of all ranks.
void gather(Collective& collective, int ranks) {
  const std::int64_t part = collective.bytes / ranks;
  for (int rank = 0; rank < ranks; ++rank)
    std::memcpy(collective.result + rank * part, collective.given[rank],
                static_cast<std::size_t>(part));
}

/// Adds in ring order: each element is added rank by rank and rounded each time. The first rank is
/// NCCL's choice.
void complete(Collective& collective, int ranks) {
  collective.result = take_memory(collective.bytes);
  if (collective.kind == CollectiveKind::all_gather) {
    gather(collective, ranks);
    return;
  }
  for (int rank = 0; collective.averages && rank < ranks; ++rank)
    divide(collective, collective.given[rank], ranks);
  const int first = collective.kind == CollectiveKind::broadcast ? collective.root
                    : adversarial() ? static_cast<int>(draw(static_cast<std::uint64_t>(ranks)))
                                    : 0;
  std::memcpy(collective.result, collective.given[first],
              static_cast<std::size_t>(collective.bytes));
  if (sums_up(collective.kind))
    for (int i = 1; i < ranks; ++i)
      add_into(collective, collective.given[(first + i) % ranks], collective.result);
}

}  // namespace

Collective& collective_of(const Operation& operation) {
  return machine()
      .communicators[operation.communicator]
      .collectives[operation.sequence % Communicator::kInFlight];
}

bool describe(Operation& operation, const Asked& asked) {
  Communicator& communicator = machine().communicators[operation.communicator];
  operation.kind = Kind::collective;
  operation.sequence = communicator.launched[operation.rank]++;
  Collective& collective = collective_of(operation);
  if (!collective.known) {
    collective = {};
    collective.known = true;
    collective.kind = asked.kind;
    collective.root = asked.root;
    collective.dtype = asked.dtype;
    collective.averages = asked.averages;
    collective.bytes = asked.bytes;
    return true;
  }
  const bool same = collective.kind == asked.kind && collective.root == asked.root &&
                    collective.dtype == asked.dtype && collective.averages == asked.averages &&
                    collective.bytes == asked.bytes;
  if (!same)
    std::fprintf(stderr, "simulated GPU: rank %d's collective %ld differs from the other ranks'\n",
                 operation.rank, static_cast<long>(operation.sequence));
  return same;
}

void arrive(Operation& operation) {
  constexpr int kNaN = 0xFF;
  Machine& m = machine();
  const Communicator& communicator = m.communicators[operation.communicator];
  if (communicator.aborted[operation.rank]) {
    operation.end = operation.begin;
    return;
  }
  Collective& collective = collective_of(operation);
  if (collective.kind != CollectiveKind::broadcast || collective.root == operation.rank) {
    collective.given[operation.rank] = take_memory(operation.reads.bytes);
    std::memcpy(collective.given[operation.rank], operation.reads.begin,
                static_cast<std::size_t>(operation.reads.bytes));
  }
  std::memset(operation.writes.begin, kNaN, static_cast<std::size_t>(operation.writes.bytes));
  if (++collective.arrived < communicator.ranks || collective.lost) return;
  complete(collective, communicator.ranks);
  const std::int64_t given = collective.kind == CollectiveKind::all_gather
                                 ? collective.bytes / communicator.ranks
                                 : collective.bytes;
  for (int rank = 0; rank < communicator.ranks; ++rank)
    if (collective.given[rank] != nullptr) give_memory(collective.given[rank], given);
  const std::int64_t takes =
      adversarial()
          ? static_cast<std::int64_t>(draw(300'000))
          : m.settings.collective_ns(collective.kind, communicator.ranks, collective.bytes);
  for (int i = 0; i < m.streams_used; ++i) {
    Stream& stream = m.streams[i];
    if (stream.idle()) continue;
    Operation& other = stream.head();
    if (other.kind != Kind::collective || other.phase != Phase::running ||
        other.communicator != operation.communicator || other.sequence != operation.sequence ||
        communicator.aborted[other.rank])
      continue;
    other.end = m.cursor + takes;
    if (adversarial()) other.end += static_cast<std::int64_t>(draw(30'000));
  }
}

void finish(Operation& operation) {
  constexpr int kNaN = 0xFF;
  const Communicator& communicator = machine().communicators[operation.communicator];
  if (communicator.aborted[operation.rank]) return;
  Collective& collective = collective_of(operation);
  const auto bytes = static_cast<std::size_t>(operation.writes.bytes);
  const std::int64_t from = collective.kind == CollectiveKind::reduce_scatter
                                ? operation.rank * operation.writes.bytes
                                : 0;
  if (collective.torn) {
    std::memset(operation.writes.begin, kNaN, bytes);
  } else {
    std::memcpy(operation.writes.begin, collective.result + from, bytes);
  }
  if (++collective.finished < communicator.ranks) return;
  give_memory(collective.result, collective.bytes);
  collective.known = false;
}

}  // namespace simulated_gpu
