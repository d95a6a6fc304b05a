#include "several_processes.hpp"

#include <fmt/format.h>

#include "ddpsim/formats/quote.hpp"

namespace ddpsim {

void SeveralProcesses::note_label(const TraceEvent& event) {
  if (event.name != "process_labels" || event.label != "CPU") return;
  if (cpu_process_.empty()) cpu_process_ = event.process;
  if (cpu_process_ != event.process && found_.empty())
    found_ = fmt::format("two processes ({} and {}) are labelled \"CPU\"", in_quotes(cpu_process_),
                         in_quotes(event.process));
}

void SeveralProcesses::note_operator(const TraceEvent& event) {
  if (event.process.empty() || host_process_ == event.process) return;
  if (host_process_.empty()) {
    host_process_ = event.process;
  } else if (found_.empty()) {
    found_ = fmt::format("operators of two processes ({} and {}) are in it",
                         in_quotes(host_process_), in_quotes(event.process));
  }
}

void SeveralProcesses::note_repeated_step(const TraceEvent& event) {
  if (found_.empty()) found_ = fmt::format("{} is in it twice", in_quotes(event.name));
}

void SeveralProcesses::note_reduction(const Collective& kernel, const TraceEvent& event) {
  if (kernel.operation != "allreduce" || !event.device) return;
  if (!reducing_device_) reducing_device_ = event.device;
  if (*reducing_device_ != *event.device && found_.empty())
    found_ = fmt::format("all-reduces run on GPUs {} and {}", *reducing_device_, *event.device);
}

}  // namespace ddpsim
