#include "ddpsim/reports/reports.hpp"
