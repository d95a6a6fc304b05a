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
      give_up("an all-reduce of NCCL's type %d", collective.dtype);
  }
}

/// In the ring's order: element by element rank after rank, rounded each time; from which rank on is NCCL's affair.
void complete(Collective& collective, int ranks) {
  collective.result = take_memory(collective.bytes);
  const int first = collective.kind == CollectiveKind::broadcast ? collective.root
                    : adversarial() ? static_cast<int>(draw(static_cast<std::uint64_t>(ranks)))
                                    : 0;
  std::memcpy(collective.result, collective.given[first],
              static_cast<std::size_t>(collective.bytes));
  if (collective.kind == CollectiveKind::all_reduce)
    for (int i = 1; i < ranks; ++i)
      add_into(collective, collective.given[(first + i) % ranks], collective.result);
  for (int rank = 0; rank < ranks; ++rank)
    if (collective.given[rank] != nullptr) give_memory(collective.given[rank], collective.bytes);
}

}  // namespace

Collective& collective_of(const Operation& operation) {
  return machine()
      .communicators[operation.communicator]
      .collectives[operation.sequence % Communicator::kInFlight];
}

bool describe(Operation& operation, CollectiveKind kind, int root, int dtype) {
  Communicator& communicator = machine().communicators[operation.communicator];
  operation.kind = Kind::collective;
  operation.sequence = communicator.launched[operation.rank]++;
  Collective& collective = collective_of(operation);
  if (!collective.known) {
    collective = {};
    collective.known = true;
    collective.kind = kind;
    collective.root = root;
    collective.dtype = dtype;
    collective.bytes = operation.writes.bytes;
    return true;
  }
  const bool same = collective.kind == kind && collective.root == root &&
                    collective.dtype == dtype && collective.bytes == operation.writes.bytes;
  if (!same)
    std::fprintf(stderr,
                 "simulated GPU: rank %d's collective %ld is not the one of the other ranks\n",
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
  const auto bytes = static_cast<std::size_t>(collective.bytes);
  if (collective.kind == CollectiveKind::all_reduce || collective.root == operation.rank) {
    collective.given[operation.rank] = take_memory(collective.bytes);
    std::memcpy(collective.given[operation.rank], operation.reads.begin, bytes);
  }
  std::memset(operation.writes.begin, kNaN, bytes);
  if (++collective.arrived < communicator.ranks || collective.lost) return;
  complete(collective, communicator.ranks);
  const std::int64_t takes = adversarial() ? static_cast<std::int64_t>(draw(300'000))
                                           : m.settings.all_reduce_ns(collective.bytes);
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
  const auto bytes = static_cast<std::size_t>(collective.bytes);
  if (collective.torn) {
    std::memset(operation.writes.begin, kNaN, bytes);
  } else {
    std::memcpy(operation.writes.begin, collective.result, bytes);
  }
  if (++collective.finished < communicator.ranks) return;
  give_memory(collective.result, collective.bytes);
  collective.known = false;
}

}  // namespace simulated_gpu
