#include "text_layout.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <numeric>

#include "ddpsim/formats/display_width.hpp"
#include "ddpsim/formats/number.hpp"
#include "ddpsim/sim/values/elementary.hpp"

namespace ddpsim {
namespace {

/// The first `count` code points of `text`.
std::string_view head_of(std::string_view text, std::size_t count) {
  std::size_t i = 0;
  for (; i < text.size(); ++i) {
    if (starts_code_point(text[i]) && count-- == 0) break;
  }
  return text.substr(0, i);
}

std::string_view tail_of(std::string_view text, std::size_t count) {
  std::size_t i = text.size();
  while (i > 0 && count > 0) {
    if (starts_code_point(text[--i])) --count;
  }
  return text.substr(i);
}

std::string spaces(std::size_t count) {
  return std::string(count, ' ');
}

/// The factor that turns the last decimal into units.
double scale_of(int decimals) {
  return elementary::pow(10, decimals);
}

}  // namespace

double in_unit(Duration duration, TimeUnit unit) {
  return unit == TimeUnit::milliseconds ? duration.milliseconds() : duration.microseconds();
}

int digits_of(Grade grade) {
  return grade == Grade::c ? 2 : 3;
}

std::string significant(double value, int digits) {
  constexpr int kMaxDecimals = 3;
  constexpr double kSmallest = 0.0005;
  if (value == 0 || !std::isfinite(value)) return fmt::format("{:.0f}", value == 0 ? 0 : value);
  if (std::abs(value) < kSmallest) return value < 0 ? ">-0.001" : "<0.001";
  const std::string scientific = fmt::format("{:.{}e}", value, digits - 1);
  const double rounded = parse_number<double>(scientific).value();
  std::string_view power = std::string_view(scientific).substr(scientific.find('e') + 1);
  if (power.starts_with('+')) power.remove_prefix(1);
  const int exponent = parse_number<int>(power).value();
  return fmt::format("{:.{}f}", rounded, std::clamp(digits - 1 - exponent, 0, kMaxDecimals));
}

int decimals_for(double largest) {
  constexpr int kDigitsOfLargest = 2;
  constexpr int kMost = 3;
  if (largest <= 0 || !std::isfinite(largest)) return 0;
  const int exponent = static_cast<int>(std::floor(elementary::log10(largest)));
  return std::clamp(kDigitsOfLargest - 1 - exponent, 0, kMost);
}

std::string fixed(double value, int decimals) {
  return fmt::format("{:.{}f}", rounds_to_zero(value, decimals) ? 0 : value, decimals);
}

bool rounds_to_zero(double value, int decimals) {
  return std::round(std::abs(value) * scale_of(decimals)) == 0;
}

std::vector<std::string> adding_up(const std::vector<double>& parts, double total, int decimals,
                                   std::size_t kept) {
  const double scale = scale_of(decimals);
  std::vector<double> whole;
  double missing = std::round(total * scale);
  for (const double part : parts) {
    whole.push_back(std::round(part * scale));
    missing -= whole.back();
  }
  const double step = missing < 0 ? -1 : 1;
  std::vector<std::size_t> by_error(parts.size());
  std::iota(by_error.begin(), by_error.end(), std::size_t{0});
  std::ranges::stable_sort(by_error, std::greater{},
                           [&](std::size_t i) { return step * (parts[i] * scale - whole[i]); });
  std::erase(by_error, kept);
  for (std::size_t k = 0; missing != 0 && k < by_error.size(); ++k, missing -= step)
    whole[by_error[k]] += step;
  // A difference that rounding cannot explain comes from parts that were left out. The first part
  // takes it.
  if (!parts.empty()) whole.front() += missing;
  std::vector<std::string> texts;
  for (const double units : whole) texts.push_back(fixed(units / scale, decimals));
  return texts;
}

int digits_apart(double low, double high, int digits) {
  constexpr int kMore = 2;
  for (int tried = digits; tried <= digits + kMore; ++tried)
    if (significant(low, tried) != significant(high, tried)) return tried;
  return digits;
}

std::string interval_text(double low, double high, int digits, std::string_view unit) {
  const int apart = digits_apart(low, high, digits);
  return fmt::format("{0}{2} to {1}{2}", significant(low, apart), significant(high, apart), unit);
}

TimeUnit unit_for(Duration duration) {
  return std::abs(duration.milliseconds()) >= 1 ? TimeUnit::milliseconds : TimeUnit::microseconds;
}

std::string_view name_of(TimeUnit unit) {
  return unit == TimeUnit::milliseconds ? "ms" : "µs";
}

std::string time_number(Duration duration, int digits, TimeUnit unit) {
  return significant(in_unit(duration, unit), digits);
}

std::string time_interval(Duration low, Duration high, int digits, TimeUnit unit) {
  return interval_text(in_unit(low, unit), in_unit(high, unit), digits);
}

std::string time_text(Duration duration, int digits, TimeUnit unit) {
  return fmt::format("{} {}", time_number(duration, digits, unit), name_of(unit));
}

std::string time_text(Duration duration, int digits) {
  return time_text(duration, digits, unit_for(duration));
}

int digits_apart(std::vector<Duration> times, int digits, Duration least, TimeUnit unit) {
  constexpr int kMore = 2;
  std::sort(times.begin(), times.end());
  const auto alike = [&](int tried) {
    for (auto time = times.begin(); time != times.end(); ++time) {
      const auto apart = std::lower_bound(time, times.end(), *time + least);
      if (apart != times.end() && apart != time &&
          time_number(*time, tried, unit) == time_number(*apart, tried, unit))
        return true;
    }
    return false;
  };
  int tried = digits;
  while (tried < digits + kMore && alike(tried)) ++tried;
  return tried;
}

std::string cap_text(double cap_mb) {
  constexpr int kCapDigits = 4;
  if (cap_mb == 0) return "0";
  std::string text = significant(std::max(cap_mb, 0.001), kCapDigits);
  if (text.find('.') == std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string percent_text(double percent) {
  if (percent < 100 && percent >= 99.5) return "over 99 %";
  if (percent > 0 && percent < 0.01) return "<0.01 %";
  return significant(percent, std::abs(percent) >= 99.5 ? 3 : 2) + " %";
}

std::string mebibytes(Bytes bytes) {
  constexpr double kMebi = 1048576;
  const double value = static_cast<double>(bytes.count()) / kMebi;
  return value > 0 && value < 0.005 ? "<0.01" : fmt::format("{:.2f}", value);
}

std::string counted(std::uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string shortened(std::string_view text, std::size_t width) {
  if (display_width(text) <= width) return std::string(text);
  return width == 0 ? "" : std::string(head_of(text, width - 1)) + "…";
}

std::string shortened_middle(std::string_view text, std::size_t width) {
  if (display_width(text) <= width) return std::string(text);
  if (width == 0) return "";
  const std::size_t head = (width - 1) / 2;
  return fmt::format("{}…{}", head_of(text, head), tail_of(text, width - 1 - head));
}

std::string wrapped(std::string_view text, int width, std::size_t indent) {
  constexpr std::string_view kPercent = " %";
  std::string result;
  std::size_t used = 0;
  bool first_of_line = true;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = std::min(text.find(' ', at), text.size());
    if (text.substr(end).starts_with(kPercent))  // keep "12 %" together
      end = std::min(text.find(' ', end + kPercent.size()), text.size());
    const std::string_view word = text.substr(at, end - at);
    at = end + 1;
    const std::size_t word_width = display_width(word);
    if (!first_of_line && used + 1 + word_width > static_cast<std::size_t>(std::max(width, 1))) {
      result += '\n' + spaces(indent);
      used = indent;
      first_of_line = true;
    }
    if (!first_of_line) result += ' ';
    used += word_width + (first_of_line ? 0 : 1);
    result += word;
    first_of_line = false;
  }
  return result + '\n';
}

std::string bar(double share, int cells) {
  static constexpr std::array kBlocks = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  constexpr int kEighths = 8;
  if (!(share > 0)) return "";
  const int eighths =
      std::max(1, static_cast<int>(std::lround(std::min(share, 1.0) * cells * kEighths)));
  std::string text;
  for (int i = 0; i < eighths / kEighths; ++i) text += "█";
  return text + kBlocks[static_cast<std::size_t>(eighths % kEighths)];
}

std::string bold(std::string_view text, const TerminalStyle& style) {
  return style.colour ? fmt::format("{}{}{}", kBoldStyle, text, kPlainStyle) : std::string(text);
}

std::string dim(std::string_view text, const TerminalStyle& style) {
  return style.colour ? fmt::format("{}{}{}", kDimStyle, text, kPlainStyle) : std::string(text);
}

namespace {

constexpr std::size_t kGap = 2;     // between columns, and before the first
constexpr std::size_t kNarrow = 8;  // least width of a shortened column

struct Measured {
  std::size_t whole = 0;     ///< widest part before the decimal point
  std::size_t fraction = 0;  ///< widest part from the decimal point on
  std::size_t width = 0;
};

std::size_t point_of(std::string_view cell) {
  return std::min(cell.find('.'), cell.size());
}

Measured measure(const Column& column, const std::vector<std::vector<std::string>>& rows,
                 std::size_t index) {
  Measured measured;
  for (const auto& row : rows) {
    const std::string& cell = row[index];
    if (column.align == Align::decimal) {
      measured.whole = std::max(measured.whole, point_of(cell));
      measured.fraction = std::max(measured.fraction, cell.size() - point_of(cell));
    }
    measured.width = std::max(measured.width, display_width(cell));
  }
  measured.width =
      std::max({measured.width, measured.whole + measured.fraction, display_width(column.head)});
  return measured;
}

std::string aligned(const std::string& cell, Align align, const Measured& measured) {
  std::string text = cell;
  if (align == Align::decimal) text += spaces(measured.fraction - (cell.size() - point_of(cell)));
  const std::size_t taken = display_width(text);
  const std::string padding = spaces(measured.width > taken ? measured.width - taken : 0);
  return align == Align::left ? text + padding : padding + text;
}

void end_line(std::string& text) {
  text.erase(text.find_last_not_of(' ') + 1);
  text += '\n';
}

}  // namespace

std::string Table::text(const TerminalStyle& style) const {
  const auto limit = static_cast<std::size_t>(std::max(style.width, 1));
  std::vector<Measured> measured;
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    measured.push_back(measure(columns_[i], rows_, i));
    shown.push_back(i);
  }
  const auto fixed_width = [&] {  // without the last column
    std::size_t width = kGap;
    for (std::size_t k = 0; k + 1 < shown.size(); ++k) width += measured[shown[k]].width + kGap;
    return width;
  };
  const auto least_last = [&] {
    const std::size_t width = measured[shown.back()].width;
    return columns_[shown.back()].shrinks ? std::min(width, kNarrow) : width;
  };
  const auto too_wide = [&] { return fixed_width() + least_last() > limit; };
  while (too_wide()) {
    const auto first_to_go =
        std::max_element(shown.begin(), shown.end(), [this](std::size_t a, std::size_t b) {
          return columns_[a].expendable < columns_[b].expendable;
        });
    if (columns_[*first_to_go].expendable == 0) break;
    shown.erase(first_to_go);
  }
  const std::size_t last_width =
      limit > fixed_width() ? std::min(measured[shown.back()].width, limit - fixed_width()) : 1;

  const auto line = [&](const auto& cell_at, bool head) {
    std::string result;
    for (const std::size_t i : shown) {
      result += spaces(kGap);
      if (i == shown.back()) {
        const std::string cell = shortened(cell_at(i), last_width);
        Measured room = measured[i];
        room.width = last_width;
        result += aligned(
            cell, head && columns_[i].align == Align::decimal ? Align::right : columns_[i].align,
            room);
      } else {
        const bool number = columns_[i].align == Align::decimal;
        result +=
            aligned(cell_at(i), head && number ? Align::right : columns_[i].align, measured[i]);
      }
    }
    end_line(result);
    return result;
  };
  std::string head = line([this](std::size_t i) { return columns_[i].head; }, true);
  head.pop_back();
  std::string result = dim(head, style) + '\n';
  for (const auto& row : rows_) result += line([&row](std::size_t i) { return row[i]; }, false);
  return result;
}

}  // namespace ddpsim
