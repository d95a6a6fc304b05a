"""Arguments of the scripts behind published figures, for facts that the rows leave open.

Rows name a repository or a page, where the script can be read. There is one entry per script, with the file that shows
the arguments. None is derived from a measured value."""

import dataclasses
import re


@dataclasses.dataclass(frozen=True)
class Script:
    source: str  # as in the rows
    page: str  # a pattern in their source_ref
    model: str  # a pattern
    read_in: str  # the file in the repository
    # Tokens per sample, if all samples have the same number.
    sequence: "int | None" = None
    precision: "str | None" = None  # as in an estimate
    # The precision of FSDP, if the one in the row does not hold for it.
    sharded_precision: "str | None" = None
    # Parameters are loaded in bfloat16, without a copy in fp32.
    bf16_parameters: bool = False
    accumulation: int = 1
    checkpointing: str = "none"
    zero_options: tuple = ()  # (stage, {option: value})
    # The links of a pair of GPUs, in the words of a cluster line.
    links: "str | None" = None


SCRIPTS = (
    # From training_scripts/single_node/run_FT.sh of May 2023 and dschat_train_v1/README.md. It is full fine-tuning by
    # DeepSpeed-Chat's main.py with --gradient_accumulation_steps 4 --gradient_checkpointing. There is no --offload (it
    # asserts so), and each sample is padded to --max_seq_len. DeepSpeed's configuration is get_train_ds_config of
    # DeepSpeed-Chat's utils/ds_utils.py. main.py counts the batches of the loader (tqdm, unit="batch"), which are
    # micro-batches.
    Script(
        "LianjiaTech/BELLE",
        "#402",
        "BLOOM",
        "train/training_scripts/single_node/run_FT.sh",
        precision="amp",
        accumulation=4,
        checkpointing="full",
        zero_options=(
            (
                3,
                {
                    "stage3_param_persistence_threshold": 10000,
                    "stage3_max_live_parameters": 30000000,
                    "stage3_prefetch_bucket_size": 30000000,
                },
            ),
        ),
    ),
    # From --block_size 2048 --bf16 --torch_dtype bfloat16, and ds_config.json.
    Script(
        "whyNLP/tinyllama",
        "",
        "TinyLlama",
        "run_clm.sh",
        sequence=2048,
        precision="bf16",
        bf16_parameters=True,
        zero_options=(
            (2, {"overlap_comm": "true", "reduce_bucket_size": 200000000, "allgather_bucket_size": 200000000}),
        ),
    ),
    Script("allenai/OLMo", "", "OLMo 1B", "configs/official/OLMo-1B.yaml", sequence=2048, precision="bf16"),
    # The command on the page is cut short after "--block_size 12". It cannot be 12: then batches several times the
    # stated largest ones would fit. Nor can it be the default of 1024, which needs 97 GiB for the first of them. The
    # same author's next page uses the same script with 128 (accelerate-deepspeed.md). With 128, each batch of the page
    # is predicted to fit into 24 GB, with 256 only one. FSDP's configuration is printed there: mixed_precision 'no',
    # because mixed precision "currently has few issues" under FSDP. The documentation of transformers describes the
    # authors' pair of cards (perf_train_gpu_many): "2x TITAN RTX 24GB each + NVlink with 2 NVLinks".
    Script(
        "huggingface/blog",
        "pytorch-fsdp",
        "GPT-2",
        "pytorch-fsdp.md",
        sequence=128,
        sharded_precision="fp32",
        links="nvlink:2x25GBps",
    ),
    Script(
        "huggingface/blog",
        "accelerate-deepspeed",
        "GPT-XL",
        "accelerate-deepspeed.md",
        sequence=128,
        links="nvlink:2x25GBps",
    ),
)

SILENT = Script("", "", "", "")


def script_of(row):
    """The script behind a row, or one without arguments."""
    for script in SCRIPTS:
        if (
            row["source"] == script.source
            and re.search(script.page, row["source_ref"])
            and re.search(script.model, row["model"])
        ):
            return script
    return SILENT
