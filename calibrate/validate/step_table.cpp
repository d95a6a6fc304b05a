#include "step_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
#include <optional>
#include <utility>

#include "ddpsim/formats/csv.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/number.hpp"
#include "ddpsim/formats/quote.hpp"

namespace ddpsim {
namespace {

using Of = StepTimeName::Of;

/// The separator outside quotes in a header: tabs before semicolons before commas.
char separator_of(std::string_view header) {
  bool quoted = false;
  std::array<bool, 2> seen{};
  for (const char c : header) {
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    seen[0] = seen[0] || c == '\t';
    seen[1] = seen[1] || c == ';';
  }
  return seen[0] ? '\t' : seen[1] ? ';' : ',';
}

/// The next line that is neither empty nor a comment. Counts the lines taken.
std::string_view next_row(std::string_view& text, std::size_t& number) {
  while (!text.empty()) {
    ++number;
    const std::string_view line = trimmed(take_line(text));
    if (!line.empty() && !line.starts_with('#')) return line;
  }
  return {};
}

/// The name inside a column of W&B's export, "RUN - KEY". Its minimum and maximum are in "RUN -
/// KEY__MIN" and "…__MAX".
std::string_view name_of_column(std::string_view column, const std::vector<std::string_view>& all) {
  const std::string least = std::string(column) + "__MIN";
  if (std::ranges::find(all, least) == all.end()) return column;
  const std::size_t dash = column.rfind(" - ");
  return dash == std::string_view::npos ? column : column.substr(dash + 3);
}

class TableReader {
 public:
  TableReader(std::string_view text, const std::string& file, StepReadings& found)
      : text_(text), rest_(text), file_(file), found_(found) {}

  void read(std::vector<std::string>& columns) {
    const std::string_view header = next_row(rest_, number_);
    separator_ = separator_of(header);
    names_ = cells_of(header, separator_);
    if (std::ranges::find(names_, "bucket_cap_mb") != names_.end())
      fail("its rows are steps with several caps (bucket_cap_mb)",
           "Give the steps of one setting; `ddpsim validate` reads tables of caps");
    for (const std::string_view name : names_) columns.emplace_back(name);
    choose(columns);
    read_rows();
  }

 private:
  struct Column {
    std::size_t at;
    StepTimeName meaning;
    bool asked;
  };

  [[noreturn]] void fail(std::string message, Hint hint) const {
    throw InputError({file_, fmt::format("line {}", number_), std::move(message), std::move(hint)});
  }

  void choose(const std::vector<std::string>& columns) {
    const bool counts = std::ranges::any_of(names_, counts_steps_by_name);
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const std::string_view name = name_of_column(names_[i], names_);
      const bool asked = found_.is_asked(names_[i]) || found_.is_asked(name);
      const StepTimeName meaning = step_time_name_among(name, columns);
      if (meaning.near) near_.push_back(i);
      const bool may_be = meaning.of == Of::step_time || meaning.of == Of::items ||
                          (meaning.of == Of::step_word && !is_count(name)) ||
                          (meaning.of == Of::bare_time && counts);
      if (asked || may_be) chosen_.push_back({i, meaning, asked});
      if (asked || may_be) found_.key(names_[i], meaning, asked);
      if (counts_steps_by_name(name) && !counter_) counter_ = i;
      if (is_rank_name(name)) rank_ = i;
      for (const std::string_view said : {"test", "true", "false"})
        if (record_of(name, said) != RecordOf::unknown) {
          marks_of_records_.push_back(i);
          break;
        }
      if (is_run_setting(name)) settings_.push_back(i);
    }
    if (chosen_.size() > kMostStepKeys) found_.too_many = true;
  }

  /// "step" counts; "step_avg" may be a time.
  static bool is_count(std::string_view name) { return !step_time_name(name).mean; }

  void read_rows() {
    while (!rest_.empty() && !found_.too_many) {
      const std::string_view line = next_row(rest_, number_);
      if (line.empty()) return;
      // Without a line end, the last line may be incomplete.
      const bool open = rest_.empty() && !text_.ends_with('\n');
      const std::vector<std::string_view> cells = cells_of(line, separator_);
      if (cells.size() > names_.size())
        fail(fmt::format("{} cells under {} names", cells.size(), names_.size()),
             separator_ == ',' ? "Expected a table with commas between cells; quote a cell that "
                                 "contains one"
                               : "Expected as many cells as there are names");
      for (const std::size_t i : near_)
        found_.note_near(names_[i], i < cells.size() && states_unit(cells[i]));
      near_.clear();
      if (chosen_.empty()) return;
      if (is_left_out(cells)) continue;
      const auto number_in = [&](const std::optional<std::size_t>& column) {
        return column && *column < cells.size() ? parse_number<double>(cells[*column]).value_or(-1)
                                                : -1;
      };
      const double rank = number_in(rank_);
      found_.record = {.rank = rank >= 0 && rank < 1e6 ? static_cast<int>(rank) : -1,
                       .step = number_in(counter_)};
      for (const std::size_t setting : settings_)
        if (setting < cells.size() && !cells[setting].empty())
          found_.note_setting(names_[setting], cells[setting]);
      for (const Column& column : chosen_) {
        const bool cut = open && column.at + 1 >= cells.size();
        take(column, column.at < cells.size() ? cells[column.at] : std::string_view(), cut);
      }
    }
  }

  static bool states_unit(std::string_view cell) {
    DecimalMark mark("");
    const std::optional<StepValue> value = parse_step_value(cell, mark);
    return value && value->suffix != StepValue::Suffix::none;
  }

  bool is_left_out(const std::vector<std::string_view>& cells) {
    for (const std::size_t i : marks_of_records_) {
      const RecordOf of = i < cells.size() ? record_of(names_[i], cells[i]) : RecordOf::unknown;
      if (of == RecordOf::unknown) continue;
      ++(of == RecordOf::evaluation ? found_.evaluations : found_.warm_ups);
      return true;
    }
    return false;
  }

  void take(const Column& column, std::string_view cell, bool cut) {
    StepKey* key = found_.key(names_[column.at], column.meaning, column.asked);
    if (key == nullptr) return;
    const auto line = static_cast<std::uint32_t>(number_);
    const std::string small = in_small_letters(cell.substr(0, 4));
    if (cell.empty() || small == "nan" || small == "none" || small == "n/a" || small == "null") {
      ++key->without_number;
      return;
    }
    std::optional<StepValue> value = parse_step_value(cell, mark_of(column));
    if (cut && (!value || value->suffix == StepValue::Suffix::none || !value->problem.empty())) {
      found_.cut_off = true;
      return;
    }
    if (!value) value.emplace().problem = in_quotes(cell) + " is not a time";
    found_.add(*key, *value, line, cell);
  }

  /// This column's own cells tell its decimal sign, because commas separate other cells.
  DecimalMark& mark_of(const Column& column) {
    if (marks_.empty()) marks_.resize(chosen_.size());
    const auto k = static_cast<std::size_t>(&column - chosen_.data());
    if (!marks_[k]) {
      std::string& own = texts_.emplace_back();
      std::string_view rest = text_;
      std::size_t ignored = 0;
      next_row(rest, ignored);
      constexpr std::size_t kEnough = std::size_t{1} << 20;
      while (!rest.empty() && own.size() < kEnough) {
        const std::vector<std::string_view> cells = cells_of(next_row(rest, ignored), separator_);
        if (column.at < cells.size()) (own += cells[column.at].substr(0, 64)) += '\n';
      }
      marks_[k].emplace(own);
    }
    return *marks_[k];
  }

  std::string_view text_;
  std::string_view rest_;
  const std::string& file_;
  StepReadings& found_;
  std::size_t number_ = 0;
  char separator_ = ',';
  std::vector<std::string_view> names_;
  std::vector<Column> chosen_;
  std::optional<std::size_t> counter_, rank_;
  std::vector<std::size_t> near_, marks_of_records_;
  std::vector<std::size_t> settings_;
  std::vector<std::optional<DecimalMark>> marks_;
  std::deque<std::string> texts_;
};

}  // namespace

bool is_step_table(std::string_view text, const std::string& asked) {
  std::size_t ignored = 0;
  const std::string_view header = next_row(text, ignored);
  const std::string_view row = next_row(text, ignored);
  const char separator = separator_of(header);
  const std::vector<std::string_view> names = cells_of(header, separator);
  const std::string small = in_small_letters(asked);
  const bool plain =
      header.find_first_of(":={}[]") == std::string_view::npos &&
      (header.find('"') == std::string_view::npos || header.starts_with('"') || names.size() > 1);
  const std::vector<std::string_view> cells = cells_of(row, separator);
  // "iter 10, loss 3.2" above "iter 20, loss 3.1" are lines of a log.
  const std::string_view first = names.front().substr(0, names.front().find(' '));
  const bool alike = first.size() < names.front().size() &&
                     cells.front().starts_with(names.front().substr(0, first.size() + 1));
  const bool even = names.size() > 1 && plain && !alike && cells.size() == names.size();
  if (even) return true;
  return std::ranges::any_of(names, [&](std::string_view name) {
    const StepTimeName meaning = step_time_name(name);
    if (!asked.empty() && in_small_letters(name) == small) return true;
    return meaning.of == Of::step_time || (names.size() == 1 && meaning.of == Of::items && plain);
  });
}

void read_step_table(std::string_view text, const std::string& file, StepReadings& found,
                     std::vector<std::string>& columns) {
  TableReader(text, file, found).read(columns);
}

}  // namespace ddpsim
