// Values by key that the first thread to ask for one makes, while other threads wait for it.
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
  /// Returns the value that `read()` made. If `read()` throws, every caller gets the exception.
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
