#include "json_tree.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/quote.hpp"
#include "ddpsim/sim/values/assert.hpp"

#include "tree_builder.hpp"

namespace ddpsim {
namespace {

/// Counts how far the lexer has read, because the parser's callbacks for keys and values do not
/// tell the position.
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

/// Builds the tree from nlohmann's parser. It is slow, but errors have a line and a column. The
/// function names are those of its SAX interface.
class Reader {
 public:
  Reader(std::string_view text, std::string file)
      : text_(text), reached_(text.data()), builder_(text.size(), std::move(file)) {}

  CountingIterator begin() { return {text_.data(), &reached_}; }
  CountingIterator end() { return {text_.data() + text_.size(), &reached_}; }
  JsonTree take() { return builder_.take(); }

  bool null() { return builder_.null(), true; }
  bool boolean(bool value) { return builder_.boolean(value), true; }
  bool number_integer(std::int64_t value) { return builder_.integer(value), true; }
  bool number_unsigned(std::uint64_t value) { return builder_.natural(value), true; }
  bool number_float(double value, const std::string&) { return builder_.real(value), true; }
  bool string(const std::string& value) { return builder_.string(value), true; }
  bool binary(std::vector<std::uint8_t>&) { return false; }  // does not occur in text
  bool start_object(std::size_t) { return open(JsonKind::object); }
  bool start_array(std::size_t) { return open(JsonKind::array); }
  bool end_object() { return builder_.close(), true; }
  bool end_array() { return builder_.close(), true; }

  bool key(const std::string& name) {
    if (!builder_.key(name))
      fail("the key " + in_quotes(name) + " appears twice in one object", "Keep one of them");
    return true;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::json::exception& error) {
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
      fail("not valid JSON: NaN and Infinity are not numbers in JSON",
           "Leave the field out if the value is unknown", read);
    }
    if (kind == "unexpected end of input" || kind.find("missing closing quote") != kind.npos) {
      fail(text_.empty() ? "the file is empty; expected a JSON document"
                         : "not valid JSON: the text ends too early",
           "", read);
    }
    // The list of expected tokens is meant for authors of parsers. The first clause is enough.
    fail("not valid JSON: " + (kind == "invalid literal" ? "unexpected text" : legible(kind, 120)),
         "", read);
  }

 private:
  bool open(JsonKind kind) {
    if (!builder_.open(kind)) fail(fmt::format("nested deeper than {} levels", kDeepestNesting));
    return true;
  }

  [[noreturn]] void fail(std::string message, Hint hint = {}) {
    fail(std::move(message), std::move(hint),
         text_.substr(0, static_cast<std::size_t>(reached_ - text_.data())));
  }

  [[noreturn]] void fail(std::string message, Hint hint, std::string_view read) {
    throw InputError({builder_.file(), line_and_column(read), std::move(message), std::move(hint)});
  }

  std::string_view text_;
  const char* reached_;
  TreeBuilder builder_;
};

/// Adds an element. Returns false if the document is invalid for us, for whatever reason.
bool put(simdjson::dom::element element, TreeBuilder& builder) {
  using Type = simdjson::dom::element_type;
  switch (element.type()) {
    case Type::NULL_VALUE:
      builder.null();
      return true;
    case Type::BOOL:
      builder.boolean(element.get_bool().value_unsafe());
      return true;
    case Type::INT64:
      builder.integer(element.get_int64().value_unsafe());
      return true;
    case Type::UINT64:
      builder.natural(element.get_uint64().value_unsafe());
      return true;
    case Type::DOUBLE:
      builder.real(element.get_double().value_unsafe());
      return true;
    case Type::STRING:
      builder.string(element.get_string().value_unsafe());
      return true;
    case Type::ARRAY: {
      if (!builder.open(JsonKind::array)) return false;
      const simdjson::dom::array items = element.get_array().value_unsafe();
      for (const simdjson::dom::element item : items)
        if (!put(item, builder)) return false;
      builder.close();
      return true;
    }
    case Type::OBJECT: {
      if (!builder.open(JsonKind::object)) return false;
      const simdjson::dom::object members = element.get_object().value_unsafe();
      for (const auto& [name, value] : members)
        if (!builder.key(name) || !put(value, builder)) return false;
      builder.close();
      return true;
    }
  }
  return false;
}

}  // namespace

std::optional<JsonTree> read_at_once(std::string_view text, std::string file) {
  if (text.empty()) return std::nullopt;  // simdjson would copy from a null pointer
  simdjson::dom::parser parser;
  simdjson::dom::element document;
  if (parser.parse(text.data(), text.size()).get(document) != simdjson::SUCCESS)
    return std::nullopt;
  TreeBuilder builder(text.size(), std::move(file));
  if (!put(document, builder)) return std::nullopt;
  return builder.take();
}

JsonTree read_piece_by_piece(std::string_view text, std::string file) {
  Reader reader(text, std::move(file));
  nlohmann::json::sax_parse(reader.begin(), reader.end(), &reader);
  return reader.take();
}

JsonTree parse_json_tree(std::string_view text, std::string file) {
  DDPSIM_ASSERT(std::uint64_t{text.size()} < kMostJsonBytes,
                "every reader has a limit, and {} bytes passed it", text.size());
  if (std::optional<JsonTree> tree = read_at_once(text, file)) return *std::move(tree);
  return read_piece_by_piece(text, std::move(file));
}

}  // namespace ddpsim
