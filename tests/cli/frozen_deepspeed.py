"""Trainings of models with frozen parameters under DeepSpeed's ZeRO, in the format of deepspeed_trainings.py.

main(FOLDER, RANK, RANKS, EVERY)
"""

from deepspeed_trainings import train_all

# Nothing before these trains, so backward does not reach them.
BACKBONE = "embedding+layers.0+layers.1"
# Backward passes through these.
WITHIN = "layers.1+layers.2"
INSIDE = "layers.0.up+layers.1.up+layers.2.up+layers.3.up"


def cases(ranks):
    for stage in (1, 2):
        for frozen in (BACKBONE, INSIDE):
            yield "numbered", stage, {"reduce_bucket_size": 1000, "frozen": frozen}
        yield "numbered", stage, {"reduce_bucket_size": 1000, "overlap_comm": True, "frozen": WITHIN}
    kept = {"stage3_param_persistence_threshold": 0, "reduce_bucket_size": 1000}
    let_go = {**kept, "stage3_max_reuse_distance": 0}
    for frozen in (BACKBONE, WITHIN, INSIDE):
        yield "numbered", 3, {"frozen": frozen}
        yield "numbered", 3, {**kept, "frozen": frozen}
        yield "numbered", 3, {**let_go, "stage3_prefetch_bucket_size": 0, "frozen": frozen}
        yield "numbered", 3, {**let_go, "stage3_param_persistence_threshold": 100, "frozen": frozen}
        if ranks == 2:
            yield "numbered", 3, {**let_go, "stage3_prefetch_bucket_size": 300, "frozen": frozen}


def main(*arguments):
    train_all(cases, *arguments)
