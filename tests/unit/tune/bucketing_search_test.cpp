// The bucketings that a version lets a user reach, written down for six gradients of 1 MiB.
#include "bucketing_search.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "alpha_beta.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

constexpr double kMibAndByte = 1 + 1.0 / 1048576;

Workload gradients_of_1_mib(std::size_t count) {
  return small::mib_layers(std::vector<double>(count, 100), 100);
}

/// One bucketing as a reader writes it.
struct Found {
  std::string buckets;  ///< number of gradients in each: "1 5"
  std::optional<double> cap;
  double first;
  std::pair<double, double> range;
  bool operator==(const Found&) const = default;
};

/// Failing checks show whole rows.
std::ostream& operator<<(std::ostream& out, const Found& row) {
  return out << "[" << row.buckets << "] cap " << row.cap.value_or(-1) << " first " << row.first
             << " of " << row.range.first << " to " << row.range.second;
}

std::string text_of(const std::vector<Bucket>& buckets) {
  std::string text;
  for (const std::size_t count : small::members(buckets))
    text += (text.empty() ? "" : " ") + std::to_string(count);
  return text;
}

std::vector<Found> rows(const Workload& workload, const DdpOptions& options, TorchVersion torch,
                        const std::vector<double>& caps = {}) {
  std::vector<Found> rows;
  for (const Bucketing& found : search_bucketings(workload, options, torch, caps).found) {
    const std::vector<Bucket> buckets = buckets_under(workload, options, torch, found.limits);
    CHECK(found.point.buckets == buckets.size());
    CHECK(found.point.iteration == Duration());
    rows.push_back({text_of(buckets), found.point.bucket_cap_mb, *found.point.first_bucket_mb,
                    found.point.cap_range_mb});
  }
  return rows;
}

void check_rows(const std::vector<Found>& found, const std::vector<Found>& by_hand) {
  REQUIRE(found.size() == by_hand.size());
  for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i] == by_hand[i]);
}

std::pair<double, double> searched_caps(Bytes from, Bytes to) {
  return {mib(from), mib(to)};
}

}  // namespace

TEST_CASE(
    "bucketing search: before 1.10 there is one number, a cap after a first bucket of 1 MiB") {
  const double open = mib(4 * 1_MiB + 1_B);
  for (const TorchVersion torch : {TorchVersion{1, 6}, TorchVersion{1, 9}})
    check_rows(rows(gradients_of_1_mib(6), {}, torch),
               {{"1 1 1 1 1 1", 1, 1, searched_caps(Bytes(), 1_MiB)},
                {"1 2 2 1", 2, 1, searched_caps(1_MiB + 1_B, 2 * 1_MiB)},
                {"1 3 2", 3, 1, searched_caps(2 * 1_MiB + 1_B, 3 * 1_MiB)},
                {"1 4 1", 4, 1, searched_caps(3 * 1_MiB + 1_B, 4 * 1_MiB)},
                {"1 5", open, 1, {open, kNoLimitMb}}});
}

TEST_CASE("bucketing search: before 1.6 buckets are those of construction, from the last defined") {
  // Definition order, cut from its first gradient, then reversed.
  const std::vector<Found> found = rows(gradients_of_1_mib(6), {}, {1, 4});
  REQUIRE(found.size() == 5);
  CHECK(found[1].buckets == "1 2 2 1");
  CHECK(found[2].buckets == "2 3 1");
  CHECK(found[4].buckets == "5 1");
}

TEST_CASE("bucketing search: from 1.10 to 2.4 every first bucket combines with every cap") {
  const double open = mib(2 * 1_MiB + 1_B);
  const std::vector<Found> by_hand = {
      {"1 1 1 1", 1, 1, searched_caps(Bytes(), 1_MiB)},
      {"1 2 1", 2, 1, searched_caps(1_MiB + 1_B, 2 * 1_MiB)},
      {"1 3", open, 1, {open, kNoLimitMb}},
      {"2 1 1", 1, 2, searched_caps(Bytes(), 1_MiB)},
      {"2 2", kMibAndByte, 2, {kMibAndByte, kNoLimitMb}},
      {"3 1", 0, 3, {0, kNoLimitMb}},
      {"4", 0, mib(3 * 1_MiB + 1_B), {0, kNoLimitMb}},
  };
  for (const TorchVersion torch : {TorchVersion{1, 10}, TorchVersion{2, 4}})
    check_rows(rows(gradients_of_1_mib(4), {}, torch), by_hand);
}

TEST_CASE("bucketing search: a first bucket that is set is kept") {
  check_rows(rows(gradients_of_1_mib(4), {.first_bucket_mb = 2}, {2, 4}),
             {{"2 1 1", 1, 2, searched_caps(Bytes(), 1_MiB)},
              {"2 2", kMibAndByte, 2, {kMibAndByte, kNoLimitMb}}});
}

TEST_CASE("bucketing search: from 2.5 one cap for all, or a first bucket without cap, each once") {
  const double open = mib(3 * 1_MiB + 1_B);
  const std::vector<Found> by_hand = {
      {"1 1 1 1", 1, 1, searched_caps(Bytes(), 1_MiB)},
      {"2 2", 2, 2, searched_caps(1_MiB + 1_B, 2 * 1_MiB)},
      {"3 1", 3, 3, searched_caps(2 * 1_MiB + 1_B, 3 * 1_MiB)},
      {"4", open, open, {open, kNoLimitMb}},
      // First buckets of 2, 3 and 4 MiB also result from a cap.
      {"1 3", std::nullopt, 1, {25, 25}},
  };
  for (const TorchVersion torch : {TorchVersion{2, 5}, TorchVersion{2, 8}})
    check_rows(rows(gradients_of_1_mib(4), {}, torch), by_hand);
}

TEST_CASE("bucketing search: given caps and options do not restrict other settings") {
  const Workload workload = gradients_of_1_mib(4);
  check_rows(rows(workload, {.bucket_cap_mb = 2}, {2, 8}), rows(workload, {}, {2, 8}));
  check_rows(rows(workload, {.first_bucket_mb = 2}, {2, 8}), rows(workload, {}, {2, 8}));
  check_rows(rows(workload, {.bucket_cap_mb_list = {1, 3}}, {2, 11}), rows(workload, {}, {2, 11}));
}

TEST_CASE("bucketing search: the default's 1 MiB names the first bucket that it gives") {
  // Gradients of 0.6 MiB: a first limit from there up to 1.2 MiB, which includes 1 MiB, closes
  // after two.
  const std::int64_t half = 629'144;
  const Workload workload =
      small::chain({{half, 100}, {half, 100}, {half, 100}, {half, 100}}, 100, 100);
  const std::vector<Found> found = rows(workload, {}, {2, 8});
  REQUIRE(found.size() == 5);
  CHECK(found[4] == Found{"1 3", std::nullopt, mib(Bytes(half)), {25, 25}});
  CHECK(rows(workload, {}, {2, 4})[3].first == 1);
  // Everything together is below 1 MiB: one bucket, as with a cap.
  const Workload tiny = small::chain({{400, 100}, {400, 100}}, 100, 100);
  check_rows(rows(tiny, {}, {2, 8}),
             {{"1 1", mib(Bytes(400)), mib(Bytes(400)), searched_caps(Bytes(), Bytes(400))},
              {"2", mib(Bytes(401)), mib(Bytes(401)), {mib(Bytes(401)), kNoLimitMb}}});
}

TEST_CASE("bucketing search: the default is nothing passed") {
  const Bucketing standard = default_bucketing(gradients_of_1_mib(30),
                                               {.bucket_cap_mb = 3, .first_bucket_mb = {}}, {2, 8});
  CHECK(standard.limits == std::vector<Bytes>{1_MiB, 25 * 1_MiB});
  CHECK(standard.point.buckets == 3);  // [1] [25] [4]
  CHECK_FALSE(standard.point.bucket_cap_mb);
  CHECK(standard.point.first_bucket_mb == 1);
  CHECK(standard.point.cap_range_mb == std::pair(25.0, 25.0));
  CHECK(standard.point.reachable);
}

TEST_CASE("bucketing search: requested caps come once, ascending and as written") {
  const Workload workload = gradients_of_1_mib(4);
  // 2.0000001 MiB is 2097152 bytes and a tenth of one, which PyTorch truncates.
  check_rows(rows(workload, {}, {2, 8}, {3, 2.0000001, 3}),
             {{"2 2", 2.0000001, 2.0000001, {2.0000001, 2.0000001}}, {"3 1", 3, 3, {3, 3}}});
  check_rows(rows(workload, {}, {2, 4}, {3, 1}),
             {{"1 1 1 1", 1, 1, {1, 1}}, {"1 3", 3, 1, {3, 3}}});
  check_rows(rows(workload, {.first_bucket_mb = 2}, {2, 4}, {1}), {{"2 1 1", 1, 2, {1, 1}}});
  // From 2.5 on no call gives this; it is shown and marked.
  const BucketingSearch odd = search_bucketings(workload, {.first_bucket_mb = 2}, {2, 5}, {1});
  CHECK_FALSE(odd.found.front().point.reachable);
  CHECK(odd.found.front().limits == std::vector<Bytes>{2 * 1_MiB, 1_MiB});
  CHECK(search_bucketings(workload, {.first_bucket_mb = 2}, {2, 4}, {1})
            .found.front()
            .point.reachable);
}

TEST_CASE("bucketing search: too many pairs are not searched, which is reported") {
  // The default's first bucket has 80 small gradients, and the 409 of 1 MiB after it have as many
  // caps. With 489 first buckets these are 200 001 pairs.
  const Workload workload = [] {
    std::vector<small::Gradient> gradients(80, {13'108, 100});
    gradients.resize(489, {1 << 20, 100});
    return small::chain(gradients, 100, 100);
  }();
  const BucketingSearch search = search_bucketings(workload, {}, {2, 4}, {});
  CHECK(search.left_out ==
        "489 first buckets with 409 caps each are too many to try. Every cap was tried with the "
        "default first bucket, and every first bucket with the default cap");
  REQUIRE(search.found.size() == 409 + 488);
  CHECK(search.found[408].point.first_bucket_mb == 1);
  const CurvePoint& second = search.found[409].point;
  CHECK(second.first_bucket_mb == mib(Bytes(13'108)));
  CHECK(second.bucket_cap_mb == 25);
  CHECK(second.cap_range_mb == std::pair(25.0, 25.0));
  CHECK(second.buckets == 18);  // 1; 79 and 25, 15 times 25, 9
}

TEST_CASE("bucketing search: limits are whole bytes, and none is left out") {
  // Gradients of single bytes: 3 closes after the third, and a limit of 4 waits for one more.
  Workload bytes = small::chain({{4, 100}, {4, 100}, {4, 100}, {4, 100}}, 100, 100);
  for (Parameter& parameter : bytes.parameters) {
    parameter.dtype = Dtype::uint8;
    parameter.shape = {{1}};
  }
  const auto cap = [](int count) { return mib(Bytes(count)); };
  check_rows(rows(bytes, {}, {2, 8}), {{"1 1 1 1", cap(1), cap(1), {0, cap(1)}},
                                       {"2 2", cap(2), cap(2), {cap(2), cap(2)}},
                                       {"3 1", cap(3), cap(3), {cap(3), cap(3)}},
                                       {"4", cap(4), cap(4), {cap(4), kNoLimitMb}},
                                       {"1 3", std::nullopt, cap(1), {25, 25}}});
}

TEST_CASE("bucketing search: the roundest cap of a range, or its end if it has no round one") {
  CHECK(round_cap(90, 130) == 100);
  CHECK(round_cap(26, 49) == 40);
  CHECK(round_cap(2.1, 2.9) == 2.5);
  CHECK(round_cap(3, kNoLimitMb) == 5);
  CHECK(round_cap(0.12341, 0.1236) == 0.1235);
  CHECK(round_cap(0.123456, 0.123457) == 0.123457);
}

TEST_CASE("bucketing search: what to pass for a bucketing, by version") {
  Bucketing found;
  found.point = {.bucket_cap_mb = 10, .first_bucket_mb = 3};
  const auto caps = [&](TorchVersion torch) {
    const BucketCaps passed = caps_of(found, torch);
    return std::pair(passed.bucket_cap_mb, passed.first_bucket_mb);
  };
  using Caps = std::pair<std::optional<double>, std::optional<double>>;
  CHECK(caps({2, 4}) == Caps(10, 3));
  CHECK(caps({2, 5}) == Caps(10, std::nullopt));  // the cap applies to the first bucket
  found.point.bucket_cap_mb.reset();
  CHECK(caps({2, 4}) == Caps(std::nullopt, 3));
  CHECK(caps({2, 5}) == Caps(std::nullopt, 3));
}

TEST_CASE("bucketing search: caps within a range, both ends included, in order") {
  using Caps = std::vector<double>;
  const Caps caps = {0.5, 1, 2, 5};
  CHECK(caps_within(caps, {0.5, 5}) == caps);
  CHECK(caps_within(caps, {1, 2}) == Caps{1, 2});
  CHECK(caps_within(caps, {0.501, 4.999}) == Caps{1, 2});
  CHECK(caps_within(caps, {2, 2}) == Caps{2});
  CHECK(caps_within(caps, {5, kNoLimitMb}) == Caps{5});
  CHECK(caps_within(caps, {5.001, kNoLimitMb}).empty());
  CHECK(caps_within(caps, {0, 0.499}).empty());
}

TEST_CASE(
    "bucketing search: the roundest cap is the multiple of the largest unit, nearest to the "
    "middle") {
  // Quarters have no rounding errors.
  for (int low = 1; low <= 260; ++low)
    for (int high = low; high <= 2 * low + 300; high += 7) {
      const double least = low / 4.0, most = high / 4.0;
      double nearest = 0;
      for (const double unit : {100.0, 50.0, 25.0, 10.0, 5.0, 1.0, 0.5}) {
        for (double cap = unit; cap <= most; cap += unit) {
          const double middle = (least + most) / 2;
          if (cap >= least &&
              (nearest == 0 || std::abs(cap - middle) <= std::abs(nearest - middle)))
            nearest = cap;
        }
        if (nearest > 0) break;
      }
      if (nearest == 0) continue;  // of two decimals
      CAPTURE(least);
      CAPTURE(most);
      REQUIRE(round_cap(least, most) == nearest);
    }
  CHECK(round_cap(0.26, 0.34) == 0.3);
  CHECK(round_cap(0.26, 0.29) == 0.28);
  CHECK(round_cap(0.2601, 0.2609) == 0.2605);
  CHECK(round_cap(0, 0.3) == 0.2);
  CHECK(round_cap(60, kNoLimitMb) == 100);
  CHECK(round_cap(49, kNoLimitMb) == 50);
}

TEST_CASE("bucketing search: first buckets that give the same buckets form a range") {
  const Workload workload = gradients_of_1_mib(4);
  const auto firsts = [&](TorchVersion torch) {
    std::vector<std::pair<double, double>> ranges;
    for (const Bucketing& found : search_bucketings(workload, {}, torch, {}).found)
      ranges.push_back(found.first_range_mb);
    return ranges;
  };
  const auto one = searched_caps(Bytes(), 1_MiB);
  const auto two = searched_caps(1_MiB + 1_B, 2 * 1_MiB);
  const auto three = searched_caps(2 * 1_MiB + 1_B, 3 * 1_MiB);
  const std::pair<double, double> all = {mib(3 * 1_MiB + 1_B), kNoLimitMb};
  using Ranges = std::vector<std::pair<double, double>>;
  CHECK(firsts({2, 4}) == Ranges{one, one, one, two, two, three, all});
  // A single cap also applies to the first bucket.
  CHECK(firsts({2, 8}) == Ranges{one, two, three, all, one});
  // Before 1.10 there is only one first bucket.
  CHECK(firsts({1, 9}) == Ranges{{1, 1}, {1, 1}, {1, 1}});
}

TEST_CASE("bucketing search: with a list, buckets are those of construction or rebuilt by it") {
  const Workload workload = gradients_of_1_mib(6);
  const std::vector<Bytes> limits = {2 * 1_MiB, 3 * 1_MiB};
  CHECK(text_of(buckets_under(workload, {}, {2, 8}, limits)) == "2 3 1");
  CHECK(text_of(buckets_under(workload, {}, {1, 4}, limits)) == "1 3 2");
}
