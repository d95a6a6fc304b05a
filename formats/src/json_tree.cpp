#include "json_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>
#include <unordered_set>
#include <vector>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/quote.hpp"

namespace ddpsim {
namespace {

using Json = nlohmann::ordered_json;

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

/// Builds the tree while the text is parsed; see nlohmann's SAX interface for the names.
class TreeBuilder {
 public:
  TreeBuilder(std::string_view text, const std::string& file)
      : text_(text), file_(file), reached_(text.data()) {}

  CountingIterator begin() { return {text_.data(), &reached_}; }
  CountingIterator end() { return {text_.data() + text_.size(), &reached_}; }
  Json take() { return std::move(root_); }

  bool null() { return place(Json(nullptr)); }
  bool boolean(bool value) { return place(Json(value)); }
  bool number_integer(std::int64_t value) { return place(Json(value)); }
  bool number_unsigned(std::uint64_t value) { return place(Json(value)); }
  bool number_float(double value, const std::string&) { return place(Json(value)); }
  bool string(std::string& value) { return place(Json(std::move(value))); }
  bool binary(std::vector<std::uint8_t>&) { return false; }  // never in text
  bool start_object(std::size_t) { return open(Json::object()); }
  bool start_array(std::size_t) { return open(Json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

  bool key(std::string& name) {
    if (!levels_.back().keys.insert(name).second) {
      fail("the key " + in_quotes(name) + " appears twice in one object", "Keep one of them");
    }
    levels_.back().key = std::move(name);
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
    Json* value;
    std::unordered_set<std::string> keys;
    std::string key;  ///< of the member whose value comes next
  };

  bool place(Json value) {
    add(std::move(value));
    return true;
  }

  Json* add(Json value) {
    if (levels_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Level& level = levels_.back();
    if (level.value->is_array()) {
      auto& items = level.value->get_ref<Json::array_t&>();
      items.push_back(std::move(value));
      return &items.back();
    }
    // The ordered map's own insertion searches all members; `keys` has already done so faster.
    auto& members = level.value->get_ref<Json::object_t&>();
    using Members = Json::object_t::Container;
    static_cast<Members&>(members).emplace_back(std::move(level.key), std::move(value));
    return &members.back().second;
  }

  bool open(Json value) {
    if (levels_.size() >= static_cast<std::size_t>(kDeepestNesting)) {
      fail(fmt::format("nested deeper than {} levels", kDeepestNesting));
    }
    levels_.push_back({add(std::move(value)), {}, {}});
    return true;
  }

  bool close() {
    levels_.pop_back();
    return true;
  }

  [[noreturn]] void fail(std::string message, std::string hint = "") {
    fail(std::move(message), std::move(hint),
         text_.substr(0, static_cast<std::size_t>(reached_ - text_.data())));
  }

  [[noreturn]] void fail(std::string message, std::string hint, std::string_view read) {
    throw InputError({file_, line_and_column(read), std::move(message), std::move(hint)});
  }

  std::string_view text_;
  const std::string& file_;
  const char* reached_;
  Json root_;
  std::vector<Level> levels_;
};

}  // namespace

std::shared_ptr<const nlohmann::ordered_json> parse_json_tree(std::string_view text,
                                                              const std::string& file) {
  TreeBuilder builder(text, file);
  Json::sax_parse(builder.begin(), builder.end(), &builder);
  return std::make_shared<const Json>(builder.take());
}

}  // namespace ddpsim
