// Every bucket assignment that a cap can produce, found by jumping from one to the next.
//
// With limits [first, cap], a bucket closed under the cap stays the same for every cap up to its
// own size, and changes just above it. So the smallest bucket closed under the present cap is the
// largest cap with this bucketing; one byte more is the next cap to try. No cap is tried in vain
// and none is missed, because int(bucket_cap_mb * 1024 * 1024) reaches every byte.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "ddpsim/sim/step/bucket_assignment.hpp"
#include "ddpsim/sim/tune/tune.hpp"
#include "gain.hpp"

namespace ddpsim {

/// The limits of a bucketing and their names. Its buckets are computed from them on demand, so that
/// hundreds of thousands of bucketings need little memory.
struct Bucketing {
  std::vector<Bytes> limits;
  CurvePoint point;  ///< times not filled in
  /// First limits in MiB, both ends included, that give this bucketing with its cap. If the cap is
  /// also the first limit, the range of the cap.
  std::pair<double, double> first_range_mb;
};

/// The caps in a range, both ends included.
std::vector<double> caps_within(std::span<const double> caps,
                                const std::pair<double, double>& range_mb);

/// The caps as a script would set them.
BucketCaps caps_of(const Bucketing& bucketing, TorchVersion torch);

struct BucketingSearch {
  std::vector<Bucketing> found;
  /// What was not searched, and why; empty if everything was.
  std::string left_out;
};

/// Every bucketing that the PyTorch version lets a user reach, each once, ordered by first bucket,
/// then cap. `caps` restricts the search to these caps with the current first bucket, reachable or
/// not. If both limits can be set and the model has very many gradients, each limit is varied only
/// with the other at its default.
BucketingSearch search_bucketings(const Workload& workload, const DdpOptions& options,
                                  TorchVersion torch, const std::vector<double>& caps);

/// The bucketing of PyTorch's default, with nothing passed.
Bucketing default_bucketing(const Workload& workload, const DdpOptions& options,
                            TorchVersion torch);

/// The buckets of the steady step under raw limits, whether or not a user could set them.
std::vector<Bucket> buckets_under(const Workload& workload, const DdpOptions& options,
                                  TorchVersion torch, const std::vector<Bytes>& limits);

double mib(Bytes bytes);

/// A number that a person would write inside [low, high] MiB: as few digits as possible, near the
/// middle.
double round_cap(double low, double high);

}  // namespace ddpsim
