"""What code does on an accelerator, as data: each behaviour with its outcome on a real one and on the emulated one.

Each code is an expression, or statements that set `result`. It sees Q, K (2, 3, 5, 4) and M, a lower-triangular (5, 5)
mask of ones, on the device, and C, a (5, 5) CPU tensor of random numbers. The outcome is one of
  "device"   a tensor on the device     "cpu"      a tensor on the CPU
  "value"    no tensor                  "refused"  an exception
Unless `numbers` is False, what is not refused must be equal to what the same code gives with every tensor on the CPU.

`python tests/device_behaviours.py cuda:0` runs the table on a real accelerator and prints what differs.
Sources are the library's documentation and, where that is silent, the source file that decides (tag v2.13.0).
"""

from __future__ import annotations

import copy
import math
import sys
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

DOC = "https://docs.pytorch.org/docs/stable/"
CUDA = DOC + "notes/cuda.html"
FACTORIES = DOC + "tensor_attributes.html#torch-device"
TO = DOC + "generated/torch.Tensor.to.html"
CPU = DOC + "generated/torch.Tensor.cpu.html"
NUMPY = DOC + "generated/torch.Tensor.numpy.html"
ITEM = DOC + "generated/torch.Tensor.item.html"
TENSOR = DOC + "generated/torch.tensor.html"
LIKE = DOC + "generated/torch.zeros_like.html"
NEW = DOC + "generated/torch.Tensor.new_tensor.html"
INDEXING = "aten/src/ATen/native/TensorAdvancedIndexing.cpp"
ITERATOR = "aten/src/ATen/TensorIterator.cpp (compute_types: CPU scalars join, others must agree)"
WHERE = "aten/src/ATen/native/TensorCompare.cpp (where_self_out: CPU scalars join)"
MASKED_FILL = "aten/src/ATen/native/cuda/Indexing.cu (masked_fill__cuda: the mask must be on the device)"
MODULE = DOC + "generated/torch.nn.Module.html"
AUTOGRAD = DOC + "notes/autograd.html"


@dataclass(frozen=True)
class Behaviour:
    """One thing that code may do, and what comes of it."""

    name: str
    code: str
    real: str
    """The outcome on a real accelerator (CUDA)."""
    source: str
    emulated: str = ""
    """The outcome on the emulated one where it differs; see docs/devices.md for why."""
    numbers: bool = True


BEHAVIOURS = (
    # Making tensors
    Behaviour("ones on the device", "torch.ones(5, 5, device=Q.device)", "device", FACTORIES),
    Behaviour("ones without a device", "torch.ones(5, 5)", "cpu", FACTORIES),
    Behaviour("arange on the device", "torch.arange(5, device=Q.device)", "device", FACTORIES),
    Behaviour("full of -inf", "torch.full((5, 5), float('-inf'), device=Q.device)", "device", FACTORIES),
    Behaviour("full of a device scalar", "torch.full((2,), M[0, 0], device=Q.device)", "device", FACTORIES),
    Behaviour("eye", "torch.eye(5, device=Q.device)", "device", FACTORIES),
    Behaviour("linspace", "torch.linspace(0, 1, 5, device=Q.device)", "device", FACTORIES),
    Behaviour("tril_indices", "torch.tril_indices(5, 5, device=Q.device)", "device", FACTORIES),
    Behaviour("random numbers", "torch.randn(3, device=Q.device)", "device", FACTORIES, numbers=False),
    Behaviour("empty, then filled", "torch.empty(3, device=Q.device).fill_(2)", "device", FACTORIES),
    Behaviour("tensor from a number", "torch.tensor(2.5, device=Q.device)", "device", TENSOR),
    Behaviour("tensor from a list", "torch.tensor([1, 2.5], device=Q.device, dtype=torch.float64)", "device", TENSOR),
    Behaviour("tensor from a tensor keeps its device", "torch.tensor(Q)", "device", TENSOR),
    Behaviour("tensor from device scalars", "torch.tensor([Q[0, 0, 0, 0], 1.0])", "cpu", TENSOR),
    Behaviour("as_tensor of a CPU tensor", "torch.as_tensor(C, device=Q.device)", "device", TENSOR),
    Behaviour("as_tensor of a list", "torch.as_tensor([1, 2], device=Q.device)", "device", TENSOR),
    Behaviour("asarray", "torch.asarray([1.0, 2.0], device=Q.device)", "device", TENSOR),
    Behaviour("zeros_like", "torch.zeros_like(Q)", "device", LIKE),
    Behaviour("ones_like with another dtype", "torch.ones_like(Q, dtype=torch.bool)", "device", LIKE),
    Behaviour("zeros_like on the CPU", "torch.zeros_like(Q, device='cpu')", "cpu", LIKE),
    Behaviour("new_ones", "Q.new_ones(5, 5)", "device", NEW),
    Behaviour("new_tensor", "Q.new_tensor([1, 2])", "device", NEW),
    Behaviour("new_zeros of a CPU tensor on the device", "C.new_zeros(3, device=Q.device)", "device", NEW),
    Behaviour("triu of ones as a mask", "torch.triu(torch.ones(5, 5, device=Q.device), 1).bool()", "device", FACTORIES),
    Behaviour(
        "device given as an index", "torch.zeros(2, device=Q.device.index or 0)", "device", FACTORIES, numbers=False
    ),
    # Moving tensors
    Behaviour("to a device", "C.to(Q.device)", "device", TO),
    Behaviour("to another tensor's device", "C.to(Q)", "device", TO),
    Behaviour("to device and dtype", "C.to(Q.device, torch.float64)", "device", TO),
    Behaviour("type_as", "C.type_as(Q)", "device", TO),
    Behaviour("to the CPU", "Q.to('cpu')", "cpu", TO),
    Behaviour("cpu()", "Q.cpu()", "cpu", CPU),
    Behaviour("to the CPU and back", "(Q.cpu() * 2).to(Q.device)", "device", CPU),
    Behaviour("dtype only", "Q.double()", "device", TO),
    Behaviour("half precision", "Q.half() @ K.half().transpose(-2, -1)", "device", TO, numbers=False),
    Behaviour("type of the CPU", "Q.type(torch.FloatTensor)", "cpu", DOC + "generated/torch.Tensor.type.html"),
    Behaviour("a CPU tensor copied into a device tensor", "M.clone().copy_(C)", "device", CUDA),
    Behaviour("a device tensor copied into a CPU tensor", "C.clone().copy_(M)", "cpu", CUDA),
    # Numbers out of tensors
    Behaviour("item", "Q[0, 0, 0, 0].item()", "value", ITEM),
    Behaviour("float", "float(Q[0, 0, 0, 0])", "value", ITEM),
    Behaviour("bool in an if", "1 if (M == 0).any() else 2", "value", ITEM),
    Behaviour("math.sqrt of a device scalar", "math.sqrt(M.sum())", "value", ITEM),
    Behaviour("range of a device scalar", "list(range(M.sum().long()))", "value", ITEM),
    Behaviour("tolist", "M.tolist()", "value", DOC + "generated/torch.Tensor.tolist.html"),
    Behaviour("format of a device scalar", "f'{Q[0, 0, 0, 0]:.3f}'", "value", ITEM),
    Behaviour("print", "str(M)[:7]", "value", DOC + "generated/torch.set_printoptions.html"),
    Behaviour("len and iteration", "len(M) + sum(1 for row in M)", "value", DOC + "tensors.html"),
    Behaviour("numpy", "M.numpy()", "refused", NUMPY, numbers=False),
    Behaviour("numpy by force", "M.numpy(force=True).sum()", "value", NUMPY),
    Behaviour("np.asarray", "np.asarray(M)", "refused", NUMPY, numbers=False),
    Behaviour("numpy through the CPU", "torch.from_numpy(M.cpu().numpy()).to(M.device)", "device", NUMPY),
    # Devices that meet
    Behaviour("device and CPU tensor", "M * C", "refused", ITERATOR),
    Behaviour("matmul with a CPU tensor", "M @ C", "refused", CUDA),
    Behaviour("a CPU scalar counts as a number", "M + torch.tensor(2.0)", "device", ITERATOR),
    Behaviour("a CPU scalar on the left", "torch.sqrt(torch.tensor(4.0)) * M", "device", ITERATOR),
    Behaviour("a one-element CPU vector does not", "M + torch.ones(1)", "refused", ITERATOR),
    Behaviour("CPU scalar and device scalar", "C.sum() * 0 + M.sum()", "device", ITERATOR),
    Behaviour("CPU tensor and device scalar", "C + M.sum()", "refused", ITERATOR),
    Behaviour("adding a CPU tensor in place", "M.clone().add_(C)", "refused", ITERATOR),
    Behaviour("adding to a CPU tensor in place", "C.clone().add_(M)", "refused", ITERATOR),
    Behaviour("adding a device scalar to a CPU scalar in place", "C.sum().add_(M.sum())", "refused", ITERATOR),
    Behaviour("cat", "torch.cat([M, C])", "refused", CUDA),
    Behaviour("stack of scalars", "torch.stack([M.sum(), C.sum()])", "refused", CUDA),
    Behaviour("equal", "torch.equal(M, C)", "refused", CUDA),
    Behaviour("where with a CPU condition", "torch.where(C > 0, M, M)", "refused", WHERE),
    Behaviour("where with a CPU scalar", "torch.where(M == 0, torch.tensor(-1e9), M)", "device", WHERE),
    Behaviour("where with a number", "torch.where(M == 0, float('-inf'), M)", "device", WHERE),
    Behaviour("masked_fill", "M.masked_fill(M == 0, float('-inf'))", "device", MASKED_FILL),
    Behaviour("masked_fill with a CPU mask", "M.masked_fill(C > 0, 0.0)", "refused", MASKED_FILL),
    Behaviour(
        "masked_fill with a CPU scalar as mask", "M.masked_fill(torch.tensor(True), 0.0)", "refused", MASKED_FILL
    ),
    Behaviour(
        "masked_fill with a CPU scalar as value", "M.masked_fill(M == 0, torch.tensor(3.0))", "device", MASKED_FILL
    ),
    # Indexing
    Behaviour("a CPU index into a device tensor", "M[torch.tensor([0, 2])]", "device", INDEXING),
    Behaviour("a CPU mask into a device tensor", "M[C > 0]", "device", INDEXING),
    Behaviour("a device index into a CPU tensor", "C[M[1].long()]", "refused", INDEXING),
    Behaviour("a list as index", "M[[0, 1], [2, 0]]", "device", INDEXING),
    Behaviour("index_select with a CPU index", "M.index_select(0, torch.tensor([0]))", "refused", CUDA),
    Behaviour("gather with a CPU index", "M.gather(0, torch.zeros(1, 5).long())", "refused", CUDA),
    Behaviour("embedding with CPU tokens", "F.embedding(torch.tensor([0, 1]), M)", "refused", CUDA),
    Behaviour("assign a number at an index", "result = M.clone(); result[0, 1] = 5", "device", INDEXING),
    Behaviour("assign a number under a mask", "result = M.clone(); result[M == 0] = -1e9", "device", INDEXING),
    Behaviour("assign a number under a CPU mask", "result = M.clone(); result[C > 0] = 7.0", "device", INDEXING),
    Behaviour("assign at a list of rows", "result = M.clone(); result[[0, 3]] = 2.0", "device", INDEXING),
    Behaviour("assign a CPU tensor to a slice copies", "result = M.clone(); result[0:2] = C[0:2]", "device", CUDA),
    Behaviour(
        "assign a CPU tensor at an index", "result = M.clone(); result[torch.tensor([0])] = C[:1]", "refused", INDEXING
    ),
    Behaviour("assign a device scalar to a CPU element", "result = C.clone(); result[0, 0] = M.sum()", "cpu", CUDA),
    # Computing
    Behaviour("einsum", "torch.einsum('bhqd,bhkd->bhqk', Q, K)", "device", CUDA),
    Behaviour("softmax", "F.softmax(Q @ K.transpose(-2, -1), dim=-1)", "device", CUDA),
    Behaviour("view and transpose", "Q.transpose(1, 2).contiguous().view(2, 5, 12)", "device", CUDA),
    Behaviour("expand", "M.expand(2, 3, 5, 5).reshape(-1, 5)", "device", CUDA),
    Behaviour("in place on a slice", "result = M.clone(); result[1:3] += 1; result[:, 0].mul_(3)", "device", CUDA),
    Behaviour(
        "changing the shape in place",
        "result = M.clone(); result.unsqueeze_(0); result.transpose_(1, 2)",
        "device",
        CUDA,
    ),
    Behaviour("out=", "torch.add(M, M, out=torch.empty(0, device=M.device))", "device", CUDA),
    Behaviour("max with indices", "M.max(-1).indices", "device", CUDA),
    Behaviour("nan_to_num", "torch.nan_to_num(M / M)", "device", CUDA),
    Behaviour("deepcopy", "copy.deepcopy(M)", "device", DOC + "tensors.html"),
    Behaviour("no_grad", "with torch.no_grad():\n    result = (Q @ K.mT).softmax(-1)", "device", AUTOGRAD),
    Behaviour(
        "inference_mode", "with torch.inference_mode():\n    result = (Q @ K.mT).softmax(-1)[0]", "device", AUTOGRAD
    ),
    Behaviour(
        "gradient",
        "q = Q.clone().requires_grad_()\nresult, = torch.autograd.grad((q @ K.mT).softmax(-1).pow(2).sum(), q)",
        "device",
        AUTOGRAD,
    ),
    Behaviour(
        "backward", "q = Q.clone().requires_grad_()\n(q * K).sum().backward()\nresult = q.grad", "device", AUTOGRAD
    ),
    Behaviour("vmap", "torch.vmap(lambda row: row @ M)(M)", "device", DOC + "generated/torch.vmap.html"),
    Behaviour("complex conjugate", "(torch.polar(M, M).conj() * 2).imag", "device", CUDA),
    Behaviour("index_fill with a CPU scalar", "M.index_fill(0, M[1].long(), torch.tensor(3.0))", "device", INDEXING),
    Behaviour(
        "lengths of a padded sequence stay on the CPU",
        "nn.utils.rnn.pack_padded_sequence(Q[0], torch.tensor([5, 4, 2]), batch_first=True).batch_sizes",
        "cpu",
        DOC + "generated/torch.nn.utils.rnn.pack_padded_sequence.html",
    ),
    Behaviour("dropout in training", "F.dropout(M, 0.5)", "device", CUDA, numbers=False),
    Behaviour("a layer made on the CPU", "nn.Linear(4, 4)(Q)", "refused", MODULE),
    Behaviour("a layer moved", "nn.Linear(4, 4).to(Q.device)(Q)", "device", MODULE, numbers=False),
    Behaviour("a layer made there", "nn.Linear(4, 4, device=Q.device)(Q)", "device", MODULE, numbers=False),
    Behaviour(
        "autocast",
        "with torch.autocast(Q.device.type, enabled=False):\n    result = Q @ K.mT",
        "device",
        DOC + "amp.html",
    ),
    # Asking about devices
    Behaviour("is_cpu", "Q.is_cpu", "value", FACTORIES, numbers=False),
    Behaviour("get_device", "Q.get_device()", "value", FACTORIES, numbers=False),
    Behaviour("devices compare", "Q.device == K.device", "value", FACTORIES),
    Behaviour(
        "a default device",
        "with torch.device(Q.device):\n    result = torch.tensor([1.0]) + torch.ones(1)",
        "device",
        FACTORIES,
    ),
    Behaviour("asking is_cuda first", "C.cuda() if Q.is_cuda else C", "device", CUDA),
    # Where the emulated accelerator differs on purpose or from need
    Behaviour("cuda by name", "torch.ones(5, 5, device='cuda')", "device", CUDA, emulated="refused", numbers=False),
    Behaviour("cuda() unasked", "C.cuda()", "device", CUDA, emulated="refused", numbers=False),
    Behaviour(
        "a generator on the device",
        "torch.Generator(device=Q.device)",
        "value",
        DOC + "generated/torch.Generator.html",
        emulated="refused",
        numbers=False,
    ),
    Behaviour("dlpack", "torch.from_dlpack(M)", "device", DOC + "dlpack.html", emulated="refused"),
    Behaviour("sparse tensors", "M.to_sparse().to_dense()", "device", DOC + "sparse.html", emulated="refused"),
    Behaviour(
        "nested tensors",
        "torch.nested.nested_tensor([M]).unbind()[0]",
        "device",
        DOC + "nested.html",
        emulated="refused",
    ),
    Behaviour("synchronize", "torch.cuda.synchronize()", "value", CUDA, emulated="refused", numbers=False),
)


@dataclass(frozen=True)
class Outcome:
    """What a code did: one of the four words, and the value or the exception."""

    word: str
    value: Any


def run(behaviour: Behaviour, place: Any) -> Outcome:
    """Run the code with Q, K and M put where `place` (a function of a CPU tensor) puts them."""
    made = torch.Generator().manual_seed(5)
    names: dict[str, Any] = {"torch": torch, "F": F, "nn": nn, "np": np, "math": math, "copy": copy}
    names["Q"], names["K"] = (place(torch.randn(2, 3, 5, 4, generator=made)) for _ in range(2))
    names["C"] = torch.randn(5, 5, generator=made)
    names["M"] = place(torch.ones(5, 5).tril())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some of these are warned about, on every device
        try:
            try:
                code = compile(behaviour.code, behaviour.name, "eval")
            except SyntaxError:
                exec(compile(behaviour.code, behaviour.name, "exec"), names)
                value = names["result"]
            else:
                value = eval(code, names)
        except Exception as error:
            return Outcome("refused", error)
    if isinstance(value, Tensor):
        return Outcome("cpu" if value.device.type == "cpu" else "device", value)
    return Outcome("value", value)


def main(device: str) -> int:
    """Print each behaviour whose outcome on a real accelerator is not the table's; how many there are."""
    differing = 0
    for behaviour in BEHAVIOURS:
        outcome = run(behaviour, lambda tensor: tensor.to(device))
        if outcome.word != behaviour.real:
            differing += 1
            print(f"{behaviour.name}: {behaviour.real} expected, {outcome.word} seen: {outcome.value!r}"[:300])
    print(f"{len(BEHAVIOURS) - differing} of {len(BEHAVIOURS)} as in the table on {device}")
    return differing


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1]), 1))
