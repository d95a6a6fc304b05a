#include "gradient_check.hpp"

#include <cmath>

#include "ddpsim/sim/values/split_mix.hpp"

namespace ddpsim {
namespace {

constexpr int kContributors = 4;
constexpr std::uint64_t kValues = 7;
constexpr int kBatches = 2;  // micro-batches that contribute
constexpr std::uint64_t kValuesOfBatch = 3;

int significant_bits(Dtype dtype) {
  switch (dtype) {
    case Dtype::float64:
      return 53;
    case Dtype::float16:
      return 11;
    case Dtype::bfloat16:
      return 8;
    default:
      return 24;
  }
}

}  // namespace

std::vector<ElementRange> checked_parts(std::int64_t elements) {
  if (elements == 0) return {};
  if (elements == 1) return {{0, 1}};
  if (elements == 2) return {{0, 1}, {1, 1}};
  return {{0, 1}, {1, elements - 2}, {elements - 1, 1}};
}

double contribution(int rank, int ranks, const CheckedPart& part) {
  const auto every = static_cast<std::uint64_t>((ranks + kContributors - 1) / kContributors);
  const auto step = static_cast<std::uint64_t>(part.iteration);
  const auto own = static_cast<std::uint64_t>(rank);
  if ((own + part.parameter + step) % every != 0) return 0;
  const auto batch = static_cast<std::uint64_t>(part.batch);
  const auto every_batch = static_cast<std::uint64_t>((part.batches + kBatches - 1) / kBatches);
  if (part.batches > 1 && (batch + part.parameter + step) % every_batch != 0) return 0;
  std::uint64_t hash = 0;
  for (const std::uint64_t value : {own, static_cast<std::uint64_t>(part.parameter),
                                    static_cast<std::uint64_t>(part.part), step, batch})
    hash = mixed((hash ^ value) + kSplitMixGamma);
  return static_cast<double>(1 + hash % (part.batches > 1 ? kValuesOfBatch : kValues));
}

double expected_average(int ranks, CheckedPart part,
                        const std::function<bool(int rank)>& has_gradient) {
  double sum = 0;
  for (int rank = 0; rank < ranks; ++rank)
    for (part.batch = 0; part.batch < part.batches && has_gradient(rank); ++part.batch)
      sum += contribution(rank, ranks, part);
  return sum / ranks;
}

bool is_average(double got, double expected, Dtype summed) {
  constexpr double kRoundings = 6;  // five, and their second-order terms
  const double half_unit = std::ldexp(1.0, -significant_bits(summed));
  return std::abs(got - expected) <= kRoundings * half_unit * expected;
}

}  // namespace ddpsim
