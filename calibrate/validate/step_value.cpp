#include "step_value.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "ddpsim/formats/csv.hpp"
#include "ddpsim/formats/number.hpp"
#include "ddpsim/formats/quote.hpp"

namespace ddpsim {
namespace {

bool is_value_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_value_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80;
}

/// The number at the start: "1,234.5" in "1,234.5 ms". Digits with single separators between them.
std::string_view digits_in_front(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size()) {
    const bool separator =
        text[end] == ',' || text[end] == '.' || text[end] == '\'' || text[end] == '_';
    const bool inner = separator && end + 1 < text.size() && is_value_digit(text[end + 1]);
    // ".5" and "12." are numbers too.
    const bool edge = text[end] == '.' && end > 0 && is_value_digit(text[end - 1]) &&
                      (end + 1 == text.size() || !is_value_letter(text[end + 1]));
    if (!is_value_digit(text[end]) && !inner && !edge) break;
    ++end;
    if (edge && !inner) break;
  }
  return text.substr(0, end);
}

struct DigitGroups {
  std::string_view whole;   ///< up to the last separator
  std::string_view behind;  ///< after it
  char last = '\0';         ///< the last separator
  char other = '\0';        ///< the one before it, if different
  std::size_t lasts = 0;    ///< how often the last one appears
  /// More than two kinds of separators, or the last kind before another one.
  bool mixed = false;
};

DigitGroups groups_of_digits(std::string_view token) {
  DigitGroups groups;
  const std::size_t at = token.find_last_of(",.'_");
  if (at == std::string_view::npos) return groups;
  groups.last = token[at];
  groups.whole = token.substr(0, at);
  groups.behind = token.substr(at + 1);
  groups.lasts = static_cast<std::size_t>(std::count(token.begin(), token.end(), groups.last));
  for (const char c : groups.whole) {
    if (is_value_digit(c) || c == groups.last) continue;
    groups.mixed = groups.mixed || (groups.other != '\0' && groups.other != c);
    groups.other = c;
  }
  groups.mixed = groups.mixed || (groups.other != '\0' && groups.lasts > 1);
  return groups;
}

/// "1,234,567": one to three digits, then three after every separator.
bool in_thousands(std::string_view text, char separator) {
  std::size_t at = text.find(separator);
  if (at == 0 || at > 3) return false;
  while (at != std::string_view::npos) {
    const std::size_t next = text.find(separator, at + 1);
    if ((next == std::string_view::npos ? text.size() : next) - at != 4) return false;
    at = next;
  }
  return true;
}

std::string without(std::string_view text, char separator) {
  std::string plain(text);
  std::erase(plain, separator);
  return plain;
}

/// The digits in the form that from_chars reads. Empty if they may be two numbers.
std::string plain_digits(std::string_view token, DecimalMark& mark, StepValue& value) {
  const DigitGroups groups = groups_of_digits(token);
  const auto fail = [&](const char* why) {
    value.problem = fmt::format("{} {}", in_quotes(token), why);
    return std::string();
  };
  if (groups.last == '\0') return std::string(token);
  if (groups.mixed) return fail("is no number");
  if (groups.other != '\0') {
    if (groups.last != '.' && groups.last != ',') return fail("is no number");
    if (!in_thousands(groups.whole, groups.other)) return fail("is no number");
    return without(groups.whole, groups.other) + '.' + std::string(groups.behind);
  }
  if (groups.last == '\'' || groups.last == '_')
    return in_thousands(token, groups.last) ? without(token, groups.last) : fail("is no number");
  if (groups.lasts > 1)
    return in_thousands(token, groups.last) ? without(token, groups.last)
                                            : fail("is more than one number");
  const bool thousands = groups.whole != "0" && in_thousands(token, groups.last);
  const std::string decimals = std::string(groups.whole) + '.' + std::string(groups.behind);
  if (groups.last == '.') {
    if (thousands && mark.is_comma())
      return fail("may be thousands or decimals, because other numbers here have a decimal comma");
    return decimals;
  }
  if (!thousands)
    return mark.is_point() ? fail("may be two numbers, because others here have a decimal point")
                           : decimals;
  if (mark.is_point()) return without(token, ',');
  if (mark.is_comma()) return decimals;
  value.may_be_decimal = true;
  return without(token, ',');
}

/// Letters, including the µ of units.
std::string_view value_letters(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size()) {
    const std::string_view rest = text.substr(end);
    const bool micro = rest.starts_with("\xC2\xB5") || rest.starts_with("\xCE\xBC");
    if (!micro && !(is_value_letter(text[end]) && static_cast<unsigned char>(text[end]) < 0x80))
      break;
    end += micro ? 2 : 1;
  }
  return text.substr(0, end);
}

/// Whether the text that was read is the name of the next number: "0.35 samples/sec: 90.9".
bool is_next_key(std::string_view behind) {
  behind.remove_prefix(std::min(behind.find_first_not_of(' '), behind.size()));
  return behind.starts_with(':') || behind.starts_with('=');
}

/// Whether an unknown word ends the value, so that it may be an unknown unit: "12 jiffies |".
bool ends_with_word(std::string_view behind) {
  behind.remove_prefix(std::min(behind.find_first_not_of(' '), behind.size()));
  return behind.empty() ||
         std::string_view(",;|)]}.\r\n\t").find(behind.front()) != std::string_view::npos;
}

constexpr std::string_view kHardBlanks[] = {"\xC2\xA0", "\xE2\x80\xAF", "\xE2\x80\x89"};

/// Number of bytes of leading blanks, including typographic ones.
std::size_t blanks_in_front(std::string_view text) {
  std::size_t count = 0;
  for (bool more = true; more;) {
    more = false;
    while (count < text.size() && text[count] == ' ') ++count;
    for (const std::string_view blank : kHardBlanks)
      if (text.substr(count).starts_with(blank)) {
        count += blank.size();
        more = true;
      }
  }
  return count;
}

double thousands_of(char c) {
  switch (c) {
    case 'k':
    case 'K':
      return 1e3;
    case 'M':
      return 1e6;
    case 'G':
      return 1e9;
    default:
      return 0;
  }
}

/// A ratio after a number such as "5.67": "it/s", "ms / step", "images per second".
struct Ratio {
  std::string above, below;
  std::size_t size = 0;  ///< bytes of all of it
};

std::optional<Ratio> ratio_in_front(std::string_view text) {
  const std::string_view above = value_letters(text);
  std::string_view rest = text.substr(above.size());
  if (above.empty()) return std::nullopt;
  if (rest.starts_with(" / "))
    rest.remove_prefix(3);
  else if (rest.starts_with("/"))
    rest.remove_prefix(1);
  else if (rest.starts_with(" per "))
    rest.remove_prefix(5);
  else
    return std::nullopt;
  const std::string_view below = value_letters(rest);
  if (below.empty()) return std::nullopt;
  return Ratio{in_small_letters(above), in_small_letters(below),
               text.size() - rest.size() + below.size()};
}

bool take_ratio(std::string_view& rest, StepValue& value) {
  const auto ratio = ratio_in_front(rest);
  if (!ratio) return false;
  std::string above = ratio->above;
  double times = 1;
  // tqdm's unit_scale: "1.2kit/s".
  if (!is_step_word(above) && !is_item_word(above) && thousands_of(rest.front()) > 0 &&
      (is_step_word(above.substr(1)) || is_item_word(above.substr(1)))) {
    times = thousands_of(rest.front());
    above.erase(0, 1);
  }
  const auto per = unit_or_longer_in_seconds(ratio->below);
  if (const auto unit = unit_or_longer_in_seconds(above); unit && is_step_word(ratio->below)) {
    value.suffix = StepValue::Suffix::time_per_step;
    value.unit_s = *unit;
  } else if (per && is_step_word(above)) {
    value.suffix = StepValue::Suffix::steps_per_time;
    value.unit_s = *per;
  } else if (per && is_item_word(above)) {
    value.suffix = StepValue::Suffix::items_per_time;
    value.unit_s = *per;
    value.tokens = is_token_word(above);
  } else {
    return false;
  }
  value.number *= times;
  // tqdm writes s/it if a step takes longer than a second, else it/s. Both are one key.
  const bool bar = above == "it" || ratio->below == "it";
  value.suffix_text = bar ? "it/s" : above + '/' + ratio->below;
  rest.remove_prefix(ratio->size);
  if (value.suffix != StepValue::Suffix::items_per_time) return true;
  for (const std::string_view join : {"/", " per "}) {
    if (!rest.starts_with(join)) continue;
    const std::string_view whose = value_letters(rest.substr(join.size()));
    if (!is_gpu_word(in_small_letters(whose))) continue;
    value.scope = StepTimeName::Scope::each_gpu;
    rest.remove_prefix(join.size() + whose.size());
    break;
  }
  return true;
}

/// Takes a deviation: " ± 0.3", " +/- 0.3", " +-0.3".
void take_deviation(std::string_view& rest, StepValue& value) {
  std::string_view text = rest;
  text.remove_prefix(blanks_in_front(text));
  for (const std::string_view sign : {"+/-", "+-", "±"}) {
    if (!text.starts_with(sign)) continue;
    text.remove_prefix(sign.size());
    text.remove_prefix(blanks_in_front(text));
    if (!take_number<double>(text)) return;
    rest = text;
    value.has_deviation = true;
    return;
  }
}

/// Takes a unit, a prefix of thousands or a rate. Anything else is a problem.
void take_suffix(std::string_view& rest, StepValue& value) {
  const auto not_understood = [&](std::string_view what) {
    value.problem = fmt::format("{} behind the number is not understood", in_quotes(what, 20));
  };
  take_deviation(rest, value);
  std::string_view behind = rest;
  const std::size_t blanks = blanks_in_front(behind);
  behind.remove_prefix(blanks);
  const std::string_view letters = value_letters(behind);
  if (blanks == 0 && letters.size() == 1 && thousands_of(letters.front()) > 0 &&
      !behind.substr(1).starts_with("/")) {
    value.number *= thousands_of(letters.front());
    rest = behind.substr(1);
    return;
  }
  const auto ratio = ratio_in_front(behind);
  if (blanks > 0 && ratio && is_next_key(behind.substr(ratio->size))) return;
  if (take_ratio(behind, value)) {
    rest = behind;
  } else if (ratio) {  // "0.37 s / img"
    return not_understood(behind.substr(0, ratio->size));
  } else if (const auto unit = unit_or_longer_in_seconds(in_small_letters(letters)); unit) {
    value.suffix = StepValue::Suffix::time;
    value.unit_s = *unit;
    rest = behind.substr(letters.size());
  } else if (!letters.empty() &&
             (blanks == 0 || letters == "m" || letters == "K" || letters == "k" || letters == "M" ||
              letters == "G" || ends_with_word(behind.substr(letters.size())))) {
    return not_understood(letters);
  } else if (letters.empty() && blanks > 0 && blanks < 4 && !behind.empty() &&
             is_value_digit(behind.front()) && (blanks == 1 || rest.front() != ' ')) {
    return not_understood(rest.substr(0, blanks + 1));
  }
  take_deviation(rest, value);
}

/// "412.4 ms -> 312.4 ms", "300 ms - 400 ms", "300 ms to 400 ms": neither of the two numbers is the
/// value.
bool goes_on_to_another(std::string_view rest, const StepValue& value) {
  rest.remove_prefix(blanks_in_front(rest));
  for (const std::string_view sign : {"->", "=>", "→", "to ", "–", "-"}) {
    if (!rest.starts_with(sign)) continue;
    std::string_view behind = rest.substr(sign.size());
    behind.remove_prefix(blanks_in_front(behind));
    const std::string_view digits = digits_in_front(behind);
    if (digits.empty()) continue;
    if (sign != "–" && sign != "-") return true;
    behind.remove_prefix(digits.size());
    behind.remove_prefix(blanks_in_front(behind));
    return value.suffix == StepValue::Suffix::time &&
           unit_or_longer_in_seconds(in_small_letters(value_letters(behind))).has_value() &&
           !behind.substr(value_letters(behind).size()).starts_with("/");
  }
  return false;
}

/// Whether a value ends here: at the end, a blank, a bracket, or a separator.
bool ends_value(std::string_view rest) {
  if (rest.empty()) return true;
  constexpr std::string_view kEnds = " \t\r\n,;|()[]{}<>\"'";
  if (kEnds.find(rest.front()) != std::string_view::npos) return true;
  if (rest.starts_with(".") && (rest.size() == 1 || rest[1] == ' ')) return true;
  return std::any_of(std::begin(kHardBlanks), std::end(kHardBlanks),
                     [&](std::string_view blank) { return rest.starts_with(blank); });
}

}  // namespace

bool DecimalMark::is_point() {
  look();
  return point_;
}

bool DecimalMark::is_comma() {
  look();
  return comma_;
}

void DecimalMark::look() {
  if (looked_) return;
  looked_ = true;
  for (std::size_t i = text_.find_first_of("0123456789"); i != std::string_view::npos && !point_;) {
    const std::string_view token = digits_in_front(text_.substr(i));
    const bool own = i == 0 || (text_[i - 1] != ':' && text_[i - 1] != '.' && text_[i - 1] != ',' &&
                                text_[i - 1] != '_' && !is_value_letter(text_[i - 1]));
    const DigitGroups groups = groups_of_digits(token);
    if (own && groups.last != '\0' && !groups.mixed && groups.lasts == 1 &&
        !groups.behind.empty()) {
      const bool decimal = groups.other != '\0' || groups.behind.size() != 3 || groups.whole == "0";
      point_ = point_ || (decimal && groups.last == '.');
      comma_ = comma_ || (decimal && groups.last == ',');
    }
    i = text_.find_first_of("0123456789", i + std::max<std::size_t>(token.size(), 1));
  }
  comma_ = comma_ && !point_;
}

std::optional<StepValue> take_step_value(std::string_view& text, DecimalMark& mark) {
  StepValue value;
  std::string_view rest = text;
  const bool negative = rest.starts_with('-');
  if (negative) rest.remove_prefix(1);
  const std::string_view token = digits_in_front(rest);
  if (token.empty() || token.find_first_of("0123456789") == std::string_view::npos)
    return std::nullopt;
  rest.remove_prefix(token.size());
  std::string digits = plain_digits(token, mark, value);
  if (!rest.empty() && (rest.front() == 'e' || rest.front() == 'E')) {
    std::size_t end = 1;
    if (end < rest.size() && (rest[end] == '+' || rest[end] == '-')) ++end;
    const std::size_t first = end;
    while (end < rest.size() && is_value_digit(rest[end])) ++end;
    if (end > first) {
      digits += 'e';
      digits += rest.substr(rest[1] == '+' ? 2 : 1, end - (rest[1] == '+' ? 2 : 1));
      rest.remove_prefix(end);
    }
  }
  if (value.problem.empty()) {
    const auto number = parse_number<double>(digits);
    if (number)
      value.number = negative ? -*number : *number;
    else
      value.problem = fmt::format("{} is out of range", in_quotes(digits));
  }
  if (value.problem.empty()) take_suffix(rest, value);
  if (value.problem.empty() && !ends_value(rest))
    value.problem =
        fmt::format("{} behind the number is not understood",
                    in_quotes(rest.substr(0, std::min<std::size_t>(rest.size(), 8)), 20));
  if (value.problem.empty() && goes_on_to_another(rest, value))
    value.problem = "another number follows it, and it is unknown which one is the step's time";
  text = rest;
  return value;
}

std::optional<StepValue> parse_step_value(std::string_view cell, DecimalMark& mark) {
  cell = trimmed(cell);
  std::optional<StepValue> value = take_step_value(cell, mark);
  cell = trimmed(cell);
  // "1.034 ( 2.526)" is the value and its mean.
  if (value && cell.starts_with('(') && cell.ends_with(')') &&
      parse_number<double>(trimmed(cell.substr(1, cell.size() - 2))))
    cell = {};
  if (value && value->problem.empty() && !cell.empty())
    value->problem = fmt::format("{} behind the number is not understood", in_quotes(cell, 20));
  return value;
}

}  // namespace ddpsim
