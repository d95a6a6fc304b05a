// Bytes of a unit's collectives, compared with those that PyTorch 2.13 sent in the lab (two and
// four ranks over gloo). In model "numbered", a block is a norm, a linear layer of 31 by 13 and one
// of 13 by 31, with biases. The root has the embedding, a norm and the head.
#include "unit_sizes.hpp"
#include "scheme_step.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using schemes::parameter;

namespace {

Workload block(Dtype dtype = Dtype::float32) {
  Workload workload;
  for (const auto& [name, shape] :
       std::vector<std::pair<std::string, std::vector<std::int64_t>>>{{"norm.weight", {13}},
                                                                      {"norm.bias", {13}},
                                                                      {"up.weight", {31, 13}},
                                                                      {"up.bias", {31}},
                                                                      {"down.weight", {13, 31}},
                                                                      {"down.bias", {13}}})
    workload.parameters.push_back(parameter(name, shape, dtype));
  return workload;
}

Workload root() {
  Workload workload;
  workload.parameters = {parameter("embedding.weight", {23, 13}), parameter("norm.weight", {13}),
                         parameter("norm.bias", {13}), parameter("head.weight", {23, 13})};
  return workload;
}

/// A block of the lab's model "tiny".
Workload tiny() {
  Workload workload;
  workload.parameters = {parameter("gain", {1}), parameter("first.weight", {1, 3}),
                         parameter("first.bias", {1}), parameter("second.weight", {3, 1}),
                         parameter("second.bias", {3})};
  return workload;
}

Unit all_of(const Workload& workload) {
  Unit unit;
  for (std::size_t p = 0; p < workload.parameters.size(); ++p) unit.parameters.push_back(p);
  return unit;
}

struct UnitTypes {
  std::optional<Dtype> param{};
  std::optional<Dtype> reduce{};
};

UnitSizes flat(const Workload& workload, int ranks, bool aligned = false,
               const UnitTypes& types = {}) {
  return flat_unit(workload, all_of(workload),
                   {.shards = ranks, .group = ranks, .use_orig_params = aligned}, types.param,
                   types.reduce);
}
UnitSizes rows(const Workload& workload, int ranks, const UnitTypes& types = {}) {
  return row_sharded_unit(workload, all_of(workload), ranks, types.param, types.reduce);
}

}  // namespace

TEST_CASE("unit sizes: a flat parameter is padded to a multiple of the ranks") {
  CHECK(flat(block(), 2).gathered == 3504_B);  // 876 elements
  CHECK(flat(block(), 4).gathered == 3504_B);
  CHECK(flat(block(), 7).gathered == 4 * Bytes(882));
  CHECK(flat(root(), 2).gathered == 2496_B);
  // "tiny" has 11 elements; another root has a single one.
  CHECK(flat(tiny(), 2).gathered == 48_B);
  CHECK(flat(tiny(), 4).gathered == 48_B);
  Workload one;
  one.parameters = {parameter("bias", {1})};
  CHECK(flat(one, 2).gathered == 8_B);
  CHECK(flat(one, 4).gathered == 16_B);
  const UnitSizes sizes = flat(one, 4);
  CHECK(sizes.reduced == 16_B);
  CHECK(sizes.whole == 4_B);
  CHECK(sizes.gradient == 4_B);
  CHECK(sizes.stored == 4_B);
  CHECK(sizes.gathered_shard(4) == 4_B);
  CHECK(sizes.reduced_shard(4) == 4_B);
}

TEST_CASE("unit sizes: with use_orig_params each parameter begins at a multiple of 16 bytes") {
  // The block has 16 + 16 + 404 + 32 + 404 + 13 = 885 elements, padded to 886 and 888. The root has
  // 300 + 16 + 16 + 299 = 631, padded to 632.
  CHECK(flat(block(), 2, true).gathered == 3544_B);
  CHECK(flat(block(), 4, true).gathered == 3552_B);
  CHECK(flat(root(), 2, true).gathered == 2528_B);
  // For bfloat16, 16 bytes are eight elements: 16 + 16 + 408 + 32 + 408 + 13 = 893, padded to 894.
  // Reducing in fp32 does not add elements.
  const UnitSizes low = flat(block(), 2, true, {Dtype::bfloat16, Dtype::float32});
  CHECK(low.gathered == 2 * Bytes(894));
  CHECK(low.reduced == 4 * Bytes(894));
  CHECK(low.gradient == 2 * Bytes(876));
}

TEST_CASE("unit sizes: use_orig_params pads to the number of ranks even with NO_SHARD") {
  const UnitSizes sizes = flat_unit(block(), all_of(block()),
                                    {.shards = 1, .group = 4, .use_orig_params = true}, {}, {});
  CHECK(sizes.reduced == 3552_B);
  CHECK(sizes.stored == 3552_B);
  CHECK(flat_unit(block(), all_of(block()), {.shards = 1, .group = 7}, {}, {}).reduced == 3504_B);
}

TEST_CASE("unit sizes: every parameter sharded on its first dimension is padded by itself") {
  // On four ranks, 16 + 16 + 32 x 13 + 32 + 16 x 31 + 16 = 992 elements. On two ranks, 14 + 14 +
  // 416 + 32 + 434 + 14 = 924.
  CHECK(rows(block(), 4).gathered == 3968_B);
  CHECK(rows(block(), 2).gathered == 3696_B);
  CHECK(rows(root(), 4).gathered == 2624_B);
  CHECK(rows(root(), 2).gathered == 2608_B);
  // One row is padded to as many rows as there are ranks.
  CHECK(rows(tiny(), 2).gathered == 72_B);
  CHECK(rows(tiny(), 4).gathered == 112_B);
  CHECK(rows(block(), 4).reduced == rows(block(), 4).gathered);
  CHECK(rows(block(), 4).stored == 992_B);
  CHECK(rows(block(), 4).whole == 3504_B);
}

TEST_CASE(
    "unit sizes: gathered in the compute type, reduced in that or another type, stored in the "
    "parameters' type") {
  for (const bool is_flat : {true, false}) {
    const auto sizes = [&](const UnitTypes& types, Dtype stored = Dtype::float32) {
      return is_flat ? flat(block(stored), 2, false, types) : rows(block(stored), 2, types);
    };
    const Bytes elements = is_flat ? Bytes(876) : Bytes(924);
    const UnitSizes low = sizes({.param = Dtype::bfloat16});
    CHECK(low.gathered == 2 * elements);
    CHECK(low.reduced == 2 * elements);
    CHECK(low.stored == 2 * elements);  // half of the elements, of four bytes
    CHECK(low.gradient == 2 * Bytes(876));
    const UnitSizes mixed = sizes({.param = Dtype::float16, .reduce = Dtype::float32});
    CHECK(mixed.gathered == 2 * elements);
    CHECK(mixed.reduced == 4 * elements);
    const UnitSizes reduced = sizes({.reduce = Dtype::bfloat16});
    CHECK(reduced.gathered == 4 * elements);
    CHECK(reduced.reduced == 2 * elements);
    CHECK(reduced.gradient == 4 * Bytes(876));
    const UnitSizes halves = sizes({}, Dtype::bfloat16);
    CHECK(halves.gathered == 2 * elements);
    CHECK(halves.reduced == 2 * elements);
  }
}

TEST_CASE("unit sizes: scalars, empty tensors and no tensors") {
  Workload odd;
  odd.parameters = {parameter("scalar", {}), parameter("empty", {0, 5}), parameter("thin", {5, 0})};
  CHECK(flat(odd, 4).gathered == 16_B);
  CHECK(rows(odd, 4).gathered == 16_B);
  Workload nothing;
  CHECK(flat(nothing, 4).gathered == 0_B);
  CHECK(rows(nothing, 4).gathered == 0_B);
  // With one rank nothing is padded.
  CHECK(flat(block(), 1).gathered == 3504_B);
  CHECK(rows(block(), 1).gathered == 3504_B);
}

TEST_CASE("unit sizes: a rank steps its share, and padding is no work") {
  CHECK(share_of(0_B, 0_B) == 1);
  CHECK(share_of(50_B, 100_B) == 0.5);
  CHECK(share_of(200_B, 100_B) == 1);
  CHECK(share_of(flat(block(), 4).stored, flat(block(), 4).whole) == 0.25);
  // Each rank holds only one element of the root of "tiny".
  Workload one;
  one.parameters = {parameter("bias", {1})};
  CHECK(share_of(flat(one, 4).stored, flat(one, 4).whole) == 1);
}
