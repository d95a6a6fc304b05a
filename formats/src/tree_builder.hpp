// Builds a JSON tree value by value in text order, for either parser. It detects what our documents
// must not contain: a key twice in one object, and too deep nesting.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "json_tree.hpp"

namespace ddpsim {

/// Names of a document's members, each stored once, and the open objects that contain them.
class MemberNames {
 public:
  /// Adds a name. Absent if the object already has a member of that name. `object` is its index
  /// among the values.
  std::optional<std::uint32_t> add(std::string_view name, std::uint32_t object) {
    auto found = numbers_.find(name);
    if (found == numbers_.end()) {
      found = numbers_.emplace(name, static_cast<std::uint32_t>(names_.size())).first;
      names_.emplace_back(name);
      last_seen_in_.push_back(kNowhere);
    }
    std::uint32_t& object_before = last_seen_in_[found->second];
    if (object_before == object) return std::nullopt;
    hidden_.emplace_back(found->second, std::exchange(object_before, object));
    return found->second;
  }

  /// Taken when an object begins, for `restore` at its end.
  std::size_t mark() const { return hidden_.size(); }
  /// Ends the object that began at `mark`: forgets the names of its members, so that later names
  /// are again compared with the names of the enclosing object.
  void restore(std::size_t mark) {
    for (; hidden_.size() > mark; hidden_.pop_back())
      last_seen_in_[hidden_.back().first] = hidden_.back().second;
  }
  std::vector<std::string> take() { return std::move(names_); }

 private:
  static constexpr std::uint32_t kNowhere = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::string> names_;
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const {
      return std::hash<std::string_view>{}(name);
    }
  };
  std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> numbers_;
  std::vector<std::uint32_t> last_seen_in_;  ///< per name: innermost open object that has it
  std::vector<std::pair<std::uint32_t, std::uint32_t>> hidden_;
};

/// Every function that adds a value returns whether the tree may hold it there.
class TreeBuilder {
 public:
  TreeBuilder(std::size_t text_size, std::string file) {
    tree_.file = std::move(file);
    // Memory is used only where it is written to. No string is longer than its text.
    constexpr std::size_t kUsualBytesOfAValue = 8;
    tree_.values.reserve(text_size / kUsualBytesOfAValue + 1);
    tree_.texts.reserve(text_size);
  }
  const std::string& file() const { return tree_.file; }
  JsonTree take() {
    tree_.names = names_.take();
    return std::move(tree_);
  }

  void null() { add(JsonKind::null); }
  void boolean(bool value) { add(JsonKind::boolean).boolean = value; }
  void integer(std::int64_t value) { add(JsonKind::integer).integer = value; }
  void natural(std::uint64_t value) {
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      add(JsonKind::natural).natural = value;
    else
      integer(static_cast<std::int64_t>(value));
  }
  void real(double value) { add(JsonKind::real).real = value; }
  void string(std::string_view value) {
    add(JsonKind::string).text = {static_cast<std::uint32_t>(tree_.texts.size()),
                                  static_cast<std::uint32_t>(value.size())};
    tree_.texts += value;
  }
  /// Returns false if the nesting is too deep.
  bool open(JsonKind kind) {
    if (levels_.size() >= static_cast<std::size_t>(kDeepestNesting)) return false;
    add(kind);
    levels_.push_back({static_cast<std::uint32_t>(tree_.values.size() - 1), 0, names_.mark()});
    return true;
  }
  /// Sets the key of the next value. Returns false if the object already has this key.
  bool key(std::string_view name) {
    Level& level = levels_.back();
    const std::optional<std::uint32_t> number = names_.add(name, level.value);
    if (number) level.name = *number;
    return number.has_value();
  }
  void close() {
    tree_.values[levels_.back().value].behind = static_cast<std::uint32_t>(tree_.values.size());
    names_.restore(levels_.back().names_mark);
    levels_.pop_back();
  }

 private:
  struct Level {
    std::uint32_t value;     ///< the array or object
    std::uint32_t name;      ///< name of the next value: see JsonValue
    std::size_t names_mark;  ///< position of the outer names
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

  JsonTree tree_;
  MemberNames names_;
  std::vector<Level> levels_;
};

}  // namespace ddpsim
