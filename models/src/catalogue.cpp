#include "ddpsim/models/catalogue.hpp"
