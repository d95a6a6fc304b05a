// An option whose text holds keys with values, each key once, each with a reader of its own: "batch=4ms,cores=8" or "sm:1 nccl:0.8".
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ddpsim/formats/quantity.hpp"
#include "ddpsim/formats/suggest.hpp"
#include "ddpsim/sim/values/quantities.hpp"

namespace ddpsim {

/// What is wrong with the value of a key; take_keys says of which key and option.
class WrongValue : public std::exception {
 public:
  explicit WrongValue(Complaint complaint) : complaint_(std::move(complaint)) {}
  explicit WrongValue(std::string message) : complaint_{std::move(message)} {}
  const char* what() const noexcept override { return complaint_.message.c_str(); }
  const Complaint& complaint() const { return complaint_; }

 private:
  Complaint complaint_;
};

/// The value, else WrongValue.
template <typename Value>
Value sound(const Parsed<Value>& parsed) {
  if (!parsed.value) throw WrongValue(parsed.problem);
  return *parsed.value;
}

/// What one key takes, and where it goes. `take` throws WrongValue.
struct OptionKey {
  std::string name;
  std::function<void(const std::string& value)> take;
};

/// The meaning of a word; throws WrongValue for a word that is not known.
template <typename Value>
Value one_of(const std::string& value, const std::vector<std::pair<std::string, Value>>& known) {
  std::vector<std::string> words;
  for (const auto& [word, meaning] : known) {
    if (word == value) return meaning;
    words.push_back(word);
  }
  throw WrongValue(not_one_of(value, words));
}

OptionKey flag_key(const std::string& name, bool& into);
OptionKey flag_key(const std::string& name, std::optional<bool>& into);
/// A whole number from `least` to `most`.
OptionKey count_key(const std::string& name, std::function<void(std::int64_t)> into,
                    std::int64_t least, std::int64_t most);
/// Not negative, ten minutes at most.
OptionKey duration_key(const std::string& name, std::function<void(Duration)> into);
/// 100 GB at most.
OptionKey bytes_key(const std::string& name, std::function<void(Bytes)> into);
/// From 1 kB/s to 100 TB/s.
OptionKey bandwidth_key(const std::string& name, std::function<void(Bandwidth)> into);

/// How keys and their values are written.
enum class KeyStyle { commas /*a=1,b=2*/, words /*a:1 b:2*/ };

/// Returns the keys given. Throws UsageError that names `option`, and beside it `of` where that has keys of its own.
std::vector<std::string> take_keys(const std::string& option, std::string_view text,
                                   const std::vector<OptionKey>& keys,
                                   KeyStyle style = KeyStyle::commas, const std::string& of = "");

}  // namespace ddpsim
