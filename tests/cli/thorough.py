"""Amount of work of tests: `scripts/test.sh --thorough` does everything, and other runs a part."""

import os

THOROUGH = os.environ.get("DDPSIM_THOROUGH") == "1"


def cases(thorough, every_change):
    """The number of random cases in this run: `thorough` in a thorough run, else the first `every_change` of them."""
    return thorough if THOROUGH else every_change
