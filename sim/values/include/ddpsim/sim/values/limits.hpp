// Limits of what ddpsim computes. A question beyond them is refused because its answer would take
// minutes or all of the memory, although the question is short. Each limit is set where the work
// takes about ten seconds on one core. docs/reference/formats.md, "Limits", lists them for users.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ddpsim {

/// Gradients that one step computes: parameter tensors times micro-batches. If every rank is
/// simulated by itself, also times the number of ranks.
inline constexpr std::int64_t kMostGradientsOfAStep = 10'000'000;
/// Buckets of one step. Each is simulated as a collective of its own.
inline constexpr std::size_t kMostSimulatedBuckets = 100'000;
/// Collectives of one step of a scheme without buckets.
inline constexpr std::int64_t kMostSimulatedCollectives = 1'000'000;
/// Ranks that differ and are simulated one by one.
inline constexpr int kMostDifferentRanks = 65'536;
/// Parameters of a workload for which bucket caps are searched: `tune` and `advise` simulate it under many caps.
inline constexpr std::size_t kMostTunedParameters = 50'000;

/// Jobs of background traffic, and their nodes in total. If no two nodes are alike beside it, the
/// sends of each GPU are simulated by themselves.
inline constexpr std::size_t kMostBackgroundJobs = 10;
inline constexpr std::size_t kMostBackgroundNodes = 256;
/// Transfers of background traffic.
inline constexpr std::size_t kMostBackgroundTransfers = 1000;

/// Expected failures in all simulated runs of --nnodes together: seeds times nodes times length,
/// divided by the mean time between failures.
inline constexpr double kMostRunFailures = 3'000'000;
/// Jobs submitted one after another in a run of --nnodes whose nodes do not come back.
inline constexpr double kMostResubmissions = 3'000'000;

}  // namespace ddpsim
