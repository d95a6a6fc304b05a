// Parses the events in the text of a batch.
#pragma once

#include <functional>
#include <memory>

#include "json_splitter.hpp"
#include "trace_event.hpp"

namespace ddpsim {

class EventReader {
 public:
  explicit EventReader(JsonSplitter& splitter);
  ~EventReader();
  EventReader(const EventReader&) = delete;
  EventReader& operator=(const EventReader&) = delete;

  /// Calls `accept` for each complete event ("ph":"X") of a known kind, but not for `other`.
  void read(const EventBatch& batch, const std::function<void(const TraceEvent&)>& accept);

 private:
  struct Parser;
  JsonSplitter& splitter_;
  std::unique_ptr<Parser> parser_;
};

}  // namespace ddpsim
