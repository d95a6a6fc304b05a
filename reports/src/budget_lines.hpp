// What the GPU does with a step, in words.
#pragma once

#include <optional>
#include <string>

#include "ddpsim/reports/reports.hpp"
#include "text_layout.hpp"

namespace ddpsim {

/// What the GPU waits for longest, where that takes much of the step: what a first line has to speak of.
std::optional<BudgetPart> leading_wait(const ReportContext& context);

/// "the GPU waits 48 ms of it for input: the thread that trains loads its batches (num_workers=0)"; `whole`: the step, "it".
std::string wait_clause(const ReportContext& context, BudgetPart part, const std::string& whole,
                        int digits, TimeUnit unit);

/// The same as sentences in front of an answer, with what helps: "The GPU waits …. " Empty where no such wait leads.
std::string wait_first(const ReportContext& context, int digits, TimeUnit unit);

/// budget_text() as a sentence; empty without a budget.
std::string budget_line(const ReportContext& context, const TerminalStyle& style);

}  // namespace ddpsim
