"""Runs cases of torch.distributed._compute_bucket_assignment_by_size through `ddpsim buckets`."""

from command import answer, workload, write_json


def assigned(folder, tensors, limits, tensor_indices=None, sparse=()):
    """The bucket indices that the function would return. Tensors are (numel, dtype) pairs.

    With `tensor_indices`, tensor k belongs to parameter tensor_indices[k], and buckets are in the printed order.
    Without it, the command prints the function's list in reverse.
    """
    order = tensor_indices if tensor_indices is not None else range(len(tensors))
    parameters = [None] * len(tensors)
    for (numel, dtype), index in zip(tensors, order):
        parameters[index] = {"name": f"p{index}", "shape": [numel], "dtype": dtype}
    for index, is_sparse in enumerate(sparse):
        if is_sparse:
            parameters[index]["sparse_gradient"] = True
    ready = list(tensor_indices) if tensor_indices is not None else None
    path = write_json(folder / "case.json", workload(parameters, ready))
    buckets = answer(
        "buckets",
        path,
        "--bucket-limits",
        ",".join(map(str, limits)),
        "--order",
        "definition" if ready is None else "ready",
    )["buckets"]
    if ready is None:
        buckets.reverse()
    return buckets
