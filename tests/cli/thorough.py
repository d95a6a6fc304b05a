"""What `scripts/test.sh --thorough` does in full, and other runs in part."""

import os

THOROUGH = os.environ.get("DDPSIM_THOROUGH") == "1"


def cases(thorough, every_change):
    """How many random cases this run goes through: the first `every_change` of them, or all."""
    return thorough if THOROUGH else every_change
