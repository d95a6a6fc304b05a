// How torch.utils.data.DataLoader makes the batches of a step. Names and defaults are DataLoader's
// own where it has them (torch/utils/data/dataloader.py, 2.13).
#pragma once

#include <optional>
#include <string_view>

#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim {

/// Rate between GPU and pinned host memory if the cluster does not state one: PCIe 3 x16 without
/// headers, the same as for gloo's copies.
inline constexpr Bandwidth kHostCopy = Bandwidth::gigabytes_per_second(11);
/// Rate at which one thread copies within host memory, to pin a batch or to stage a batch that is
/// not pinned. Measured: 19 to 20 GB/s for batches of 19 and 77 MB on an idle server's core
/// (Tensor.copy_, PyTorch 2.13). This holds for memory that is already mapped, as a caching
/// allocator returns it; copies into fresh pages reach 2.7 GB/s. Other hosts were not measured.
inline constexpr Bandwidth kPinCopy = Bandwidth::gigabytes_per_second(19);

struct DataLoader {
  /// Worker processes of each rank. 0: the training thread loads.
  int num_workers = 0;
  /// Batches that each worker may hold, including the one it works on.
  int prefetch_factor = 2;
  /// A separate thread copies each batch into pinned memory.
  bool pin_memory = false;
  /// Argument of Tensor.to: the host continues while a pinned batch is copied.
  bool non_blocking = false;
  /// Time of a worker for one batch, or for one sample, on a core of its own and without reading.
  std::optional<Duration> batch;
  std::optional<Duration> sample;
  /// Bytes read from storage for each sample.
  Bytes sample_bytes;
  /// Read rate of each node, which the workers of its ranks share. Absent: nothing waits for
  /// storage.
  std::optional<Bandwidth> storage;
  bool storage_shared = false;  ///< `storage` is the rate of all nodes together
  /// Cores of each node that only its ranks' workers use. Absent: one core per worker.
  std::optional<int> cores;
  /// Bytes of a batch that are pinned and copied to the GPU.
  Bytes batch_bytes;
  /// Rate to each GPU. Absent: the cluster's.
  std::optional<Bandwidth> pcie;
  Bandwidth pin = kPinCopy;
  /// Time from the start of an epoch until a worker takes its first task.
  Duration worker_start;
  /// Number of steps by which the host may be ahead of the GPU when it asks for a batch. Absent:
  /// the workload's number, or 0 if it has none, as in a script that reads its loss in each step.
  std::optional<int> steps_ahead;
  bool operator==(const DataLoader&) const = default;
};

/// Why a step waits for its batch.
enum class SupplyCause {
  none,  ///< it does not wait
  /// Decoding: all workers, or the training thread, are busy with it.
  workers,
  cores,       ///< there are more workers than cores
  storage,     ///< reading
  pin_memory,  ///< the thread that pins
  /// Batches are there in time; only their copy to the GPU is left.
  copy,
  recorded,  ///< the cause of the recorded wait, unknown
};
std::string_view name_of(SupplyCause cause);  ///< "pin_memory"

}  // namespace ddpsim
