// What several threads ask for under a key is made by the first of them; the others wait for it.
#pragma once

#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

namespace ddpsim {

template <typename Key, typename Value>
class ReadOnce {
 public:
  /// `read()` makes the value; what it throws is thrown to everyone who asks for it.
  template <typename Read>
  const Value& get(const Key& key, Read read) {
    Entry& entry = entry_of(key);
    std::call_once(entry.once, [&] {
      try {
        entry.value.emplace(read());
      } catch (...) {
        entry.thrown = std::current_exception();
      }
    });
    if (entry.thrown) std::rethrow_exception(entry.thrown);
    return *entry.value;
  }

 private:
  struct Entry {
    std::once_flag once;
    std::optional<Value> value;
    std::exception_ptr thrown;
  };
  Entry& entry_of(const Key& key) {
    const std::lock_guard lock(mutex_);
    std::unique_ptr<Entry>& entry = entries_[key];
    if (!entry) entry = std::make_unique<Entry>();
    return *entry;
  }

  std::mutex mutex_;
  std::map<Key, std::unique_ptr<Entry>> entries_;
};

}  // namespace ddpsim
