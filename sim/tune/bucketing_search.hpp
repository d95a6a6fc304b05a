// Every bucket assignment a cap can produce, found by jumping from one to the next.
//
// With limits [first, cap], a bucket closed under the cap stays as it is for every cap up to its
// own size, and changes just above it. So the smallest bucket closed under the present cap is the
// largest cap with this bucketing, and one byte more is the next to look at. No cap is tried in
// vain and none is missed, since int(bucket_cap_mb * 1024 * 1024) reaches every byte.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "ddpsim/sim/step/bucket_assignment.hpp"
#include "ddpsim/sim/tune/tune.hpp"
#include "gain.hpp"

namespace ddpsim {

/// Limits and what they are called; the buckets follow from them when they are wanted, so that
/// hundreds of thousands cost little memory.
struct Bucketing {
  std::vector<Bytes> limits;
  CurvePoint point;  ///< times not filled in
  /// First limits in MiB, both ends included, that give this bucketing with its cap; where the cap is the first limit, the cap's.
  std::pair<double, double> first_range_mb;
};

/// Those of `caps` in a range, both ends included.
std::vector<double> caps_within(std::span<const double> caps,
                                const std::pair<double, double>& range_mb);

/// As a script would set it.
BucketCaps caps_of(const Bucketing& bucketing, TorchVersion torch);

struct BucketingSearch {
  std::vector<Bucketing> found;
  std::string left_out;  ///< what was not searched and why; empty when nothing was
};

/// Everything the PyTorch version lets a user reach, each bucketing once; by first bucket, then cap.
/// With `caps`, exactly those caps (with the first bucket in force), reachable or not. Where first
/// bucket and cap can both be set and a model has very many gradients, only each with the other at
/// its default.
BucketingSearch search_bucketings(const Workload& workload, const DdpOptions& options,
                                  TorchVersion torch, const std::vector<double>& caps);

/// The bucketing of PyTorch's default: nothing passed.
Bucketing default_bucketing(const Workload& workload, const DdpOptions& options,
                            TorchVersion torch);

/// Buckets of the steady step under raw limits, whatever could be passed to get them.
std::vector<Bucket> buckets_under(const Workload& workload, const DdpOptions& options,
                                  TorchVersion torch, const std::vector<Bytes>& limits);

double mib(Bytes bytes);

/// A number a person would write inside [low, high] MiB: as few digits as fit, near the middle.
double round_cap(double low, double high);

}  // namespace ddpsim
