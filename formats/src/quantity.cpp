#include "ddpsim/formats/quantity.hpp"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "ddpsim/formats/csv.hpp"
#include "ddpsim/formats/number.hpp"
#include "ddpsim/formats/quote.hpp"

namespace ddpsim {
namespace {

enum class Kind { time, size, rate };

struct Unit {
  std::string_view name;
  Kind kind;
  std::int64_t per_base;  ///< smallest units (ps, bytes, bit/s) per unit
};

const char* article_and_name(Kind kind) {
  switch (kind) {
    case Kind::time:
      return "a time";
    case Kind::size:
      return "a size";
    case Kind::rate:
      return "a rate";
  }
  return "";
}

const char* example(Kind kind) {
  switch (kind) {
    case Kind::time:
      return R"(a time such as "3.2us" (ps, ns, us, ms, s))";
    case Kind::size:
      return R"(a size such as "25MiB" (B, KB, MB, GB decimal; KiB, MiB, GiB binary))";
    case Kind::rate:
      return R"(a rate such as "100Gbps" (bits) or "25GBps" (bytes))";
  }
  return "";
}

constexpr auto kUnits = std::to_array<Unit>({
    {"ps", Kind::time, 1},
    {"ns", Kind::time, 1'000},
    {"us", Kind::time, 1'000'000},
    {"µs", Kind::time, 1'000'000},
    {"ms", Kind::time, 1'000'000'000},
    {"s", Kind::time, 1'000'000'000'000},
    {"B", Kind::size, 1},
    {"bps", Kind::rate, 1},
    {"bit/s", Kind::rate, 1},
    {"b/s", Kind::rate, 1},
    {"Bps", Kind::rate, 8},
    {"B/s", Kind::rate, 8},
    {"KB", Kind::size, 1'000},
    {"KiB", Kind::size, std::int64_t{1} << 10},
    {"Kbps", Kind::rate, 1'000},
    {"Kbit/s", Kind::rate, 1'000},
    {"Kb/s", Kind::rate, 1'000},
    {"KBps", Kind::rate, 8'000},
    {"KB/s", Kind::rate, 8'000},
    {"MB", Kind::size, 1'000'000},
    {"MiB", Kind::size, std::int64_t{1} << 20},
    {"Mbps", Kind::rate, 1'000'000},
    {"Mbit/s", Kind::rate, 1'000'000},
    {"Mb/s", Kind::rate, 1'000'000},
    {"MBps", Kind::rate, 8'000'000},
    {"MB/s", Kind::rate, 8'000'000},
    {"GB", Kind::size, 1'000'000'000},
    {"GiB", Kind::size, std::int64_t{1} << 30},
    {"Gbps", Kind::rate, 1'000'000'000},
    {"Gbit/s", Kind::rate, 1'000'000'000},
    {"Gb/s", Kind::rate, 1'000'000'000},
    {"GBps", Kind::rate, 8'000'000'000},
    {"GB/s", Kind::rate, 8'000'000'000},
    {"TB", Kind::size, 1'000'000'000'000},
    {"TiB", Kind::size, std::int64_t{1} << 40},
    {"Tbps", Kind::rate, 1'000'000'000'000},
    {"Tbit/s", Kind::rate, 1'000'000'000'000},
    {"Tb/s", Kind::rate, 1'000'000'000'000},
    {"TBps", Kind::rate, 8'000'000'000'000},
    {"TB/s", Kind::rate, 8'000'000'000'000},
});

/// The unit that was probably meant. It has the letters of `name`, with the fewest in another case.
/// Otherwise it is a unit of the wanted kind that begins with `name` ("GB" for "GBps", "Gb" for
/// "Gbps").
std::optional<std::string_view> meant(std::string_view name, Kind wanted) {
  const auto differs = [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) !=
           std::tolower(static_cast<unsigned char>(b));
  };
  std::optional<std::string_view> best;
  std::size_t best_off = 0;
  for (const Unit& unit : kUnits) {
    if (unit.kind != wanted || unit.name.size() != name.size()) continue;
    std::size_t off = 0;
    bool same = true;
    for (std::size_t i = 0; i < name.size(); ++i) {
      same = same && !differs(name[i], unit.name[i]);
      off += name[i] != unit.name[i] ? 1 : 0;
    }
    if (same && (!best || off < best_off)) {
      best = unit.name;
      best_off = off;
    }
  }
  if (best) return best;
  const std::string as_rate = std::string(name) + "ps";
  const std::string as_size(name.substr(0, name.find_first_of("p/")));
  for (const Unit& unit : kUnits) {
    if (unit.kind != wanted) continue;
    if (wanted == Kind::rate && unit.name == as_rate) return unit.name;
    if (wanted == Kind::size && unit.name == as_size) return unit.name;
  }
  return std::nullopt;
}

struct Quantity {
  double number = 0;
  std::optional<std::int64_t> whole;  ///< exact, if written without fraction or exponent
  std::int64_t per_base = 1;
};

Parsed<Quantity> parse(std::string_view whole_text, Kind wanted) {
  const auto problem = [&](const std::string& what) {
    return Parsed<Quantity>{std::nullopt, fmt::format("{} {}; expected {}", in_quotes(whole_text),
                                                      what, example(wanted))};
  };
  const std::string_view text = trimmed(whole_text);
  if (text.empty()) return problem("is empty");
  if (text.front() == '-') return problem("is negative");
  const bool digit = text.front() == '.' || (text.front() >= '0' && text.front() <= '9');
  if (!digit) return problem("is not a number with a unit");

  Quantity quantity;
  std::string_view rest = text;
  const auto real = take_number<double>(rest);
  const std::string_view number = text.substr(0, text.size() - rest.size());
  if (!real) return problem(number.empty() ? "is not a number with a unit" : "is out of range");
  quantity.number = *real;
  quantity.whole = parse_number<std::int64_t>(number);

  const std::string_view name = trimmed(rest);
  if (name.empty()) return problem("has no unit");
  std::optional<Kind> other;
  for (const Unit& unit : kUnits) {
    // Many people write "kB" and "kbps" instead of "K".
    const bool kilo = name.size() > 1 && name[0] == 'k' && unit.name[0] == 'K' &&
                      name.substr(1) == unit.name.substr(1);
    if (unit.name != name && !kilo) continue;
    if (unit.kind != wanted) {
      other = unit.kind;
      break;
    }
    quantity.per_base = unit.per_base;
    return {quantity, ""};
  }
  const std::string trouble = other ? fmt::format("is {}", article_and_name(*other))
                                    : fmt::format("has an unknown unit {}", in_quotes(name));
  const auto unit = meant(name, wanted);
  if (!unit) return problem(trouble);
  const std::string fixed = in_quotes(fmt::format("{}{}", number, *unit));
  return {std::nullopt,
          fmt::format("{} {}; expected {} such as {}. Did you mean {}?", in_quotes(whole_text),
                      trouble, article_and_name(wanted), fixed, fixed)};
}

/// number * per_base as an integer, exact if the number was written as an integer.
std::optional<std::int64_t> in_base(const Quantity& quantity) {
  if (quantity.whole) {
    std::int64_t product = 0;
    if (__builtin_mul_overflow(*quantity.whole, quantity.per_base, &product)) return std::nullopt;
    return product;
  }
  const double product = std::nearbyint(quantity.number * static_cast<double>(quantity.per_base));
  if (!(product < 9.2e18)) return std::nullopt;
  return static_cast<std::int64_t>(product);
}

}  // namespace

Parsed<Duration> parse_duration(std::string_view text) {
  const auto parsed = parse(text, Kind::time);
  if (!parsed.value) return {std::nullopt, parsed.problem};
  const auto count = in_base(*parsed.value);
  if (!count)
    return {std::nullopt, in_quotes(text) + " is too long; at most 106 days can be expressed"};
  return {Duration::picoseconds(*count), ""};
}

Parsed<Bytes> parse_bytes(std::string_view text) {
  const auto parsed = parse(text, Kind::size);
  if (!parsed.value) return {std::nullopt, parsed.problem};
  if (parsed.value->per_base == 1 && parsed.value->number != std::trunc(parsed.value->number)) {
    return {std::nullopt, in_quotes(text) + " is not a whole number of bytes"};
  }
  const auto count = in_base(*parsed.value);
  if (!count) return {std::nullopt, in_quotes(text) + " is too large; at most 2^63 - 1 bytes"};
  return {Bytes(*count), ""};
}

Parsed<Bandwidth> parse_bandwidth(std::string_view text) {
  const auto parsed = parse(text, Kind::rate);
  if (!parsed.value) return {std::nullopt, parsed.problem};
  const double bytes_per_second =
      parsed.value->number * (static_cast<double>(parsed.value->per_base) / 8);
  // These limits are far beyond any network, so that later arithmetic never produces infinities.
  if (!(bytes_per_second >= 1)) {
    return {std::nullopt,
            in_quotes(text) + " is too slow; a rate must be at least 1 byte per second"};
  }
  if (!(bytes_per_second <= 1e18)) {
    return {std::nullopt,
            in_quotes(text) + " is too fast; a rate may be at most 1e18 bytes per second"};
  }
  return {Bandwidth::bytes_per_second(bytes_per_second), ""};
}

}  // namespace ddpsim
