#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "ddpsim/reports/schemas.hpp"
#include "text_layout.hpp"

namespace ddpsim {
namespace {

using Kind = ValueType::Kind;

/// The objects that a document consists of, each once, in order of first mention.
class Parts {
 public:
  explicit Parts(const ObjectType& document) { add(document); }
  const std::vector<const ObjectType*>& all() const { return all_; }

 private:
  void add(const ObjectType& object) {
    if (std::ranges::find(all_, &object) != all_.end()) return;
    all_.push_back(&object);
    for (const MemberType& member : object.members) add(member.type);
  }
  void add(const ValueType& type) {
    if (type.object != nullptr) add(*type.object);
    if (type.item) add(*type.item);
    for (const ValueType& one : type.any_of) add(one);
  }
  std::vector<const ObjectType*> all_;
};

std::string words_for(const ValueType& type);

std::string words_without_null(const ValueType& type) {
  switch (type.kind) {
    case Kind::text:
      return type.words.empty() ? "text" : fmt::format("\"{}\"", fmt::join(type.words, "\", \""));
    case Kind::integer:
      return "integer";
    case Kind::number:
      return "number";
    case Kind::boolean:
      return "true, false";
    case Kind::object:
      return type.object->name;
    case Kind::list:
      return "list of " + words_for(*type.item);
    case Kind::texts_by_key:
      return "text by key";
    case Kind::values_by_key:
      return (type.item ? words_for(*type.item) : "value") + " by key";
    case Kind::any:
      break;
  }
  std::vector<std::string> kinds;
  for (const ValueType& one : type.any_of) kinds.push_back(words_for(one));
  return fmt::format("{}", fmt::join(kinds, " or "));
}

std::string words_for(const ValueType& type) {
  return words_without_null(type) + (type.nullable ? " or null" : "");
}

std::size_t widest_key(const std::vector<const ObjectType*>& objects) {
  std::size_t widest = 0;
  for (const ObjectType* object : objects)
    for (const MemberType& member : object->members) widest = std::max(widest, member.key.size());
  return widest;
}

std::string line_of(const MemberType& member, std::size_t key_width, int width) {
  const std::string line =
      fmt::format("{:{}}{:<{}}  {} ({}{})", "", kIndent, member.key, key_width, member.says,
                  words_for(member.type), member.required ? "" : "; optional");
  return wrapped(line, width, kIndent + key_width + 2);
}

}  // namespace

std::string schema_text(const DocumentType& document, const TerminalStyle& style) {
  const std::vector<const ObjectType*> objects = Parts(*document.type).all();
  const std::size_t key_width = widest_key(objects);
  std::string text;
  for (const ObjectType* object : objects) {
    const bool whole = object == document.type;
    text += whole ? "" : "\n";
    text += wrapped(
        fmt::format("{}: {}", bold(whole ? document.name : object->name, style), object->says),
        style.width, kIndent);
    for (const MemberType& member : object->members)
      text += line_of(member, key_width, style.width);
  }
  return text;
}

}  // namespace ddpsim
