#include "json_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/quote.hpp"
#include "ddpsim/sim/assert.hpp"

namespace ddpsim {
namespace {

using Json = nlohmann::json;

/// Walks the text and tells how far the lexer has come: the parser's callbacks for keys and values
/// do not say where they stand.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, const char** reached) : at_(at), reached_(reached) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    *reached_ = std::max(*reached_, ++at_);
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }
  bool operator!=(const CountingIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  const char** reached_;
};

std::string line_and_column(std::string_view before) {
  const auto lines = std::count(before.begin(), before.end(), '\n');
  const std::size_t newline = before.rfind('\n');
  const std::size_t column = before.size() - (newline == before.npos ? 0 : newline + 1);
  return fmt::format("line {}, column {}", lines + 1, std::max<std::size_t>(column, 1));
}

/// The names of a document's members, each once, and which of them stand in the objects now open.
class MemberNames {
 public:
  /// Nothing where the object has a member of that name already; `object` is its place among the values.
  std::optional<std::uint32_t> add(std::string& name, std::uint32_t object) {
    const auto next = static_cast<std::uint32_t>(names_.size());
    const auto [found, is_new] = numbers_.try_emplace(name, next);
    if (is_new) {
      names_.push_back(std::move(name));
      last_seen_in_.push_back(kNowhere);
    }
    std::uint32_t& object_before = last_seen_in_[found->second];
    if (object_before == object) return std::nullopt;
    hidden_.emplace_back(found->second, std::exchange(object_before, object));
    return found->second;
  }

  std::size_t mark() const { return hidden_.size(); }
  /// An object opened at `mark` ends: around it the names are seen where they were.
  void restore(std::size_t mark) {
    for (; hidden_.size() > mark; hidden_.pop_back())
      last_seen_in_[hidden_.back().first] = hidden_.back().second;
  }
  std::vector<std::string> take() { return std::move(names_); }

 private:
  static constexpr std::uint32_t kNowhere = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
  std::vector<std::uint32_t> last_seen_in_;  ///< per name: the innermost open object that has it
  std::vector<std::pair<std::uint32_t, std::uint32_t>> hidden_;
};

/// Builds the tree while the text is parsed; see nlohmann's SAX interface for the names.
class TreeBuilder {
 public:
  TreeBuilder(std::string_view text, std::string file) : text_(text), reached_(text.data()) {
    tree_.file = std::move(file);
    // Memory is only taken where it is written to. No string is longer than what stands in the text.
    constexpr std::size_t kUsualBytesOfAValue = 8;
    tree_.values.reserve(text.size() / kUsualBytesOfAValue + 1);
    tree_.texts.reserve(text.size());
  }

  CountingIterator begin() { return {text_.data(), &reached_}; }
  CountingIterator end() { return {text_.data() + text_.size(), &reached_}; }
  JsonTree take() {
    tree_.names = names_.take();
    return std::move(tree_);
  }

  bool null() { return add(JsonKind::null), true; }
  bool boolean(bool value) { return add(JsonKind::boolean).boolean = value, true; }
  bool number_integer(std::int64_t value) { return add(JsonKind::integer).integer = value, true; }
  bool number_unsigned(std::uint64_t value) {
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      return add(JsonKind::natural).natural = value, true;
    return number_integer(static_cast<std::int64_t>(value));
  }
  bool number_float(double value, const std::string&) {
    return add(JsonKind::real).real = value, true;
  }
  bool string(const std::string& value) {
    add(JsonKind::string).text = {static_cast<std::uint32_t>(tree_.texts.size()),
                                  static_cast<std::uint32_t>(value.size())};
    tree_.texts += value;
    return true;
  }
  bool binary(std::vector<std::uint8_t>&) { return false; }  // never in text
  bool start_object(std::size_t) { return open(JsonKind::object); }
  bool start_array(std::size_t) { return open(JsonKind::array); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

  bool key(std::string& name) {
    Level& level = levels_.back();
    const std::optional<std::uint32_t> number = names_.add(name, level.value);
    if (!number) {
      fail("the key " + in_quotes(name) + " appears twice in one object", "Keep one of them");
    }
    level.name = *number;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const Json::exception& error) {
    const std::size_t offset = std::min(position, text_.size());
    const std::string_view read = text_.substr(0, offset);
    const std::string what = error.what();
    if (what.find("number overflow") != what.npos) {
      fail("not valid JSON: a number is too large to represent", "", read);
    }
    const std::size_t dash = what.find(" - ");
    std::string detail = dash == what.npos ? what : what.substr(dash + 3);
    const std::size_t semicolon = detail.find(';');
    const std::string kind = detail.substr(0, semicolon);
    const char last = read.empty() ? '\0' : read.back();
    if (kind.find("ill-formed UTF-8") != kind.npos) {
      fail("not valid JSON: a byte that is not UTF-8", "Save the file as UTF-8", read);
    }
    if (kind == "invalid literal" && last == '/') {
      fail("not valid JSON: comments are not allowed", "", read);
    }
    const std::string_view word = text_.substr(read.empty() ? 0 : read.size() - 1);
    if (word.substr(0, 3) == "NaN" || word.substr(0, 3) == "Inf") {
      fail("not valid JSON: NaN and Infinity are not numbers here",
           "Leave the field out where the value is unknown", read);
    }
    if (kind == "unexpected end of input" || kind.find("missing closing quote") != kind.npos) {
      fail(text_.empty() ? "the file is empty; expected a JSON document"
                         : "not valid JSON: the text ends too early",
           "", read);
    }
    // Expected-token lists are for people who write parsers; the first clause says enough.
    fail("not valid JSON: " + (kind == "invalid literal" ? "unexpected text" : legible(kind, 120)),
         "", read);
  }

 private:
  struct Level {
    std::uint32_t value;     ///< the array or object
    std::uint32_t name;      ///< of what comes next in it: see JsonValue
    std::size_t names_mark;  ///< of the names around it
  };

  JsonValue& add(JsonKind kind) {
    JsonValue value{.kind = kind};
    if (!levels_.empty()) {
      Level& level = levels_.back();
      value.parent = level.value;
      value.name = level.name++;
    }
    value.behind = static_cast<std::uint32_t>(tree_.values.size() + 1);
    return tree_.values.emplace_back(value);
  }

  bool open(JsonKind kind) {
    if (levels_.size() >= static_cast<std::size_t>(kDeepestNesting)) {
      fail(fmt::format("nested deeper than {} levels", kDeepestNesting));
    }
    add(kind);
    levels_.push_back({static_cast<std::uint32_t>(tree_.values.size() - 1), 0, names_.mark()});
    return true;
  }

  bool close() {
    tree_.values[levels_.back().value].behind = static_cast<std::uint32_t>(tree_.values.size());
    names_.restore(levels_.back().names_mark);
    levels_.pop_back();
    return true;
  }

  [[noreturn]] void fail(std::string message, std::string hint = "") {
    fail(std::move(message), std::move(hint),
         text_.substr(0, static_cast<std::size_t>(reached_ - text_.data())));
  }

  [[noreturn]] void fail(std::string message, std::string hint, std::string_view read) {
    throw InputError({tree_.file, line_and_column(read), std::move(message), std::move(hint)});
  }

  std::string_view text_;
  const char* reached_;
  JsonTree tree_;
  MemberNames names_;
  std::vector<Level> levels_;
};

}  // namespace

JsonTree parse_json_tree(std::string_view text, std::string file) {
  DDPSIM_ASSERT(std::uint64_t{text.size()} < kMostJsonBytes,
                "every reader has a limit, and {} bytes passed it", text.size());
  TreeBuilder builder(text, std::move(file));
  Json::sax_parse(builder.begin(), builder.end(), &builder);
  return builder.take();
}

}  // namespace ddpsim
