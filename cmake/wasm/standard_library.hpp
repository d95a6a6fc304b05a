// The parts of C++20 that this program uses and the standard library of Emscripten 3.1.6 (libc++
// 13) lacks. They are in namespace std and mean the same as in the standard. This header is
// included before every source, so the rest of the program need not know.
#pragma once

#include <fast_float/fast_float.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <functional>
#include <iterator>
#include <ranges>
#include <thread>
#include <utility>
#include <vector>

namespace std {

template <typename To, typename From>
requires(sizeof(To) == sizeof(From)) constexpr To bit_cast(const From& from) noexcept {
  return __builtin_bit_cast(To, from);
}

/// Rounds to the nearest value, by fast_float.
inline from_chars_result from_chars(const char* first, const char* last, double& value) {
  const auto [rest, error] = fast_float::from_chars(first, last, value);
  return {rest, error};
}

/// There is only one thread, so the constructor runs the function at once.
class jthread {
 public:
  template <typename Body, typename... Arguments>
  explicit jthread(Body&& body, Arguments&&... arguments) {
    std::invoke(std::forward<Body>(body), std::forward<Arguments>(arguments)...);
  }
};

/// Stable like the library's version, so the result is the same, but a fifth of its size. The
/// library's version takes four kilobytes for each type that is sorted. These overloads are
/// preferred because they are constrained.
template <typename Iterator, typename Less>
requires(sizeof(Less) > 0) void inplace_merge(Iterator first, Iterator middle, Iterator last,
                                              Less before) {
  std::vector<typename std::iterator_traits<Iterator>::value_type> left(
      std::make_move_iterator(first), std::make_move_iterator(middle));
  auto from = left.begin();
  while (from != left.end() && middle != last) {
    if (before(*middle, *from))
      *first++ = std::move(*middle++);
    else
      *first++ = std::move(*from++);
  }
  std::move(from, left.end(), first);
}

template <typename Iterator, typename Less>
requires(sizeof(Less) > 0) void stable_sort(Iterator first, Iterator last, Less before) {
  if (last - first < 2) return;
  const Iterator middle = first + (last - first) / 2;
  std::stable_sort(first, middle, before);
  std::stable_sort(middle, last, before);
  if (before(*middle, *(middle - 1))) std::inplace_merge(first, middle, last, before);
}

namespace ranges {
namespace lacking {

template <typename Test, typename Projection>
auto of_one(Test& test, Projection& projection) {
  return [&](auto&& one) -> bool { return std::invoke(test, std::invoke(projection, one)); };
}

template <typename Test, typename Projection, typename OtherProjection>
auto of_two(Test& test, Projection& projection, OtherProjection& other_projection) {
  return [&](auto&& one, auto&& other) -> bool {
    return std::invoke(test, std::invoke(projection, one), std::invoke(other_projection, other));
  };
}

}  // namespace lacking

template <typename Range, typename Test, typename Projection = identity>
bool all_of(Range&& range, Test test, Projection projection = {}) {
  return std::all_of(begin(range), end(range), lacking::of_one(test, projection));
}

template <typename Range, typename Test, typename Projection = identity>
bool any_of(Range&& range, Test test, Projection projection = {}) {
  return std::any_of(begin(range), end(range), lacking::of_one(test, projection));
}

template <typename Range, typename Test, typename Projection = identity>
bool none_of(Range&& range, Test test, Projection projection = {}) {
  return std::none_of(begin(range), end(range), lacking::of_one(test, projection));
}

template <typename Range, typename Test, typename Projection = identity>
auto count_if(Range&& range, Test test, Projection projection = {}) {
  return std::count_if(begin(range), end(range), lacking::of_one(test, projection));
}

template <typename Range, typename Value, typename Projection = identity>
auto count(Range&& range, const Value& value, Projection projection = {}) {
  return ranges::count_if(
      range, [&](const auto& one) { return one == value; }, std::move(projection));
}

template <typename Range, typename Test, typename Projection = identity>
auto find_if(Range&& range, Test test, Projection projection = {}) {
  return std::find_if(begin(range), end(range), lacking::of_one(test, projection));
}

template <typename Range, typename Test, typename Projection = identity>
auto find_if_not(Range&& range, Test test, Projection projection = {}) {
  return std::find_if_not(begin(range), end(range), lacking::of_one(test, projection));
}

template <typename Range, typename Value, typename Projection = identity>
auto find(Range&& range, const Value& value, Projection projection = {}) {
  return ranges::find_if(
      range, [&](const auto& one) { return one == value; }, std::move(projection));
}

template <typename Range, typename Test = equal_to, typename Projection = identity>
auto adjacent_find(Range&& range, Test test = {}, Projection projection = {}) {
  return std::adjacent_find(begin(range), end(range),
                            lacking::of_two(test, projection, projection));
}

template <typename Range, typename Other, typename Test = equal_to, typename Projection = identity,
          typename OtherProjection = identity>
bool equal(Range&& range, Other&& other, Test test = {}, Projection projection = {},
           OtherProjection other_projection = {}) {
  return std::equal(begin(range), end(range), begin(other), end(other),
                    lacking::of_two(test, projection, other_projection));
}

template <typename Range, typename Value>
void replace(Range&& range, const Value& old, const Value& now) {
  std::replace(begin(range), end(range), old, now);
}

template <typename Range, typename Out>
auto copy(Range&& range, Out out) {
  return std::copy(begin(range), end(range), std::move(out));
}

template <typename Range, typename Out, typename Test, typename Projection = identity>
auto copy_if(Range&& range, Out out, Test test, Projection projection = {}) {
  return std::copy_if(begin(range), end(range), std::move(out), lacking::of_one(test, projection));
}

template <typename Range, typename Out, typename Function, typename Projection = identity>
auto transform(Range&& range, Out out, Function function, Projection projection = {}) {
  return std::transform(begin(range), end(range), std::move(out),
                        [&](auto&& one) -> decltype(auto) {
                          return std::invoke(function, std::invoke(projection, one));
                        });
}

template <typename Range, typename Value>
auto fill(Range&& range, const Value& value) {
  return std::fill(begin(range), end(range), value);
}

template <typename Range>
void reverse(Range&& range) {
  std::reverse(begin(range), end(range));
}

template <typename Range, typename Less = less, typename Projection = identity>
void sort(Range&& range, Less before = {}, Projection projection = {}) {
  std::sort(begin(range), end(range), lacking::of_two(before, projection, projection));
}

template <typename Range, typename Less = less, typename Projection = identity>
void stable_sort(Range&& range, Less before = {}, Projection projection = {}) {
  std::stable_sort(begin(range), end(range), lacking::of_two(before, projection, projection));
}

template <typename Iterator, typename Less = less, typename Projection = identity>
void stable_sort(Iterator first, Iterator last, Less before, Projection projection) {
  std::stable_sort(first, last, lacking::of_two(before, projection, projection));
}

template <typename Range, typename Less = less, typename Projection = identity>
bool is_sorted(Range&& range, Less before = {}, Projection projection = {}) {
  return std::is_sorted(begin(range), end(range), lacking::of_two(before, projection, projection));
}

template <typename Iterator, typename Less = less, typename Projection = identity>
void inplace_merge(Iterator first, Iterator middle, Iterator last, Less before = {},
                   Projection projection = {}) {
  std::inplace_merge(first, middle, last, lacking::of_two(before, projection, projection));
}

template <typename Range, typename Iterator, typename Less = less, typename Projection = identity>
void inplace_merge(Range&& range, Iterator middle, Less before = {}, Projection projection = {}) {
  ranges::inplace_merge(begin(range), middle, end(range), std::move(before), std::move(projection));
}

template <typename Range, typename Value, typename Less = less, typename Projection = identity>
auto lower_bound(Range&& range, const Value& value, Less before = {}, Projection projection = {}) {
  identity own;
  return std::lower_bound(begin(range), end(range), value,
                          lacking::of_two(before, projection, own));
}

template <typename Range, typename Value, typename Less = less, typename Projection = identity>
auto upper_bound(Range&& range, const Value& value, Less before = {}, Projection projection = {}) {
  identity own;
  return std::upper_bound(begin(range), end(range), value,
                          lacking::of_two(before, own, projection));
}

template <typename Range, typename Value, typename Less = less, typename Projection = identity>
bool binary_search(Range&& range, const Value& value, Less before = {},
                   Projection projection = {}) {
  const auto at = ranges::lower_bound(range, value, before, projection);
  return at != end(range) && !std::invoke(before, value, std::invoke(projection, *at));
}

template <typename Range, typename Less = less, typename Projection = identity>
auto max_element(Range&& range, Less before = {}, Projection projection = {}) {
  return std::max_element(begin(range), end(range),
                          lacking::of_two(before, projection, projection));
}

template <typename Range, typename Less = less, typename Projection = identity>
auto min_element(Range&& range, Less before = {}, Projection projection = {}) {
  return std::min_element(begin(range), end(range),
                          lacking::of_two(before, projection, projection));
}

template <typename Range, typename Less = less, typename Projection = identity>
requires range<Range>
auto max(Range&& range, Less before = {}, Projection projection = {}) {
  return *ranges::max_element(range, std::move(before), std::move(projection));
}

template <typename Range, typename Less = less, typename Projection = identity>
requires range<Range>
auto min(Range&& range, Less before = {}, Projection projection = {}) {
  return *ranges::min_element(range, std::move(before), std::move(projection));
}

template <typename Range, typename Less = less, typename Projection = identity>
auto minmax(Range&& range, Less before = {}, Projection projection = {}) {
  const auto [least, most] = std::minmax_element(begin(range), end(range),
                                                 lacking::of_two(before, projection, projection));
  struct {
    range_value_t<Range> min;
    range_value_t<Range> max;
  } both{*least, *most};
  return both;
}

}  // namespace ranges
}  // namespace std
