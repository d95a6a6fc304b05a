// Options whose value is a list of keys with values, such as "batch=4ms,cores=8" or "sm:1 nccl:0.8". Each key may occur once.
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

/// Says what is wrong with the value of a key. take_keys adds the names of the key and of the option.
class WrongValue : public std::exception {
 public:
  explicit WrongValue(Complaint complaint) : complaint_(std::move(complaint)) {}
  explicit WrongValue(std::string message) : complaint_{std::move(message)} {}
  const char* what() const noexcept override { return complaint_.message.c_str(); }
  const Complaint& complaint() const { return complaint_; }

 private:
  Complaint complaint_;
};

/// Returns the parsed value. Throws WrongValue.
template <typename Value>
Value sound(const Parsed<Value>& parsed) {
  if (!parsed.value) throw WrongValue(parsed.problem);
  return *parsed.value;
}

/// A key, and the function that parses and stores its value. `take` throws WrongValue.
struct OptionKey {
  std::string name;
  std::function<void(const std::string& value)> take;
};

/// Returns the meaning of a word. Throws WrongValue for an unknown word.
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
/// Takes a whole number from `least` to `most`.
OptionKey count_key(const std::string& name, std::function<void(std::int64_t)> into,
                    std::int64_t least, std::int64_t most);
/// Takes a time from 0 to 10 minutes.
OptionKey duration_key(const std::string& name, std::function<void(Duration)> into);
/// Takes a size of at most 100 GB.
OptionKey bytes_key(const std::string& name, std::function<void(Bytes)> into);
/// Takes a rate from 1 kB/s to 100 TB/s.
OptionKey bandwidth_key(const std::string& name, std::function<void(Bandwidth)> into);

/// How keys and values are written: "a=1,b=2" or "a:1 b:2".
enum class KeyStyle { commas, words };

/// Stores the values and returns the names of the keys given. Throws UsageError that names `option` and, if not empty, `of`: the
/// scheme, whose keys differ from those of other schemes.
std::vector<std::string> take_keys(const std::string& option, std::string_view text,
                                   const std::vector<OptionKey>& keys,
                                   KeyStyle style = KeyStyle::commas, const std::string& of = "");

}  // namespace ddpsim
