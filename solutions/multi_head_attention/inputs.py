"""Random inputs of the hidden checks. The marker seeds torch first."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn


class Sizes(NamedTuple):
    """All different, so that no two dimensions can be mixed up; H d_k, H d_v, D, C and E differ as well."""

    B: int = 2
    H: int = 3
    Tq: int = 5
    Tk: int = 7
    D: int = 10
    C: int = 8
    E: int = 11
    d_k: int = 2
    d_v: int = 4

    @property
    def output(self) -> tuple[int, ...]:
        return self.B, self.Tq, self.E

    @property
    def weights(self) -> tuple[int, ...]:
        return self.B, self.H, self.Tq, self.Tk


def square(H: int = 2, d: int = 3, Tq: int = 5, Tk: int = 5) -> Sizes:
    """The sizes of a square model, as `nn.MultiheadAttention` has them: D = C = E = H d."""
    return Sizes(B=2, H=H, Tq=Tq, Tk=Tk, D=H * d, C=H * d, E=H * d, d_k=d, d_v=d)


def sequences(sizes: Sizes) -> tuple[Tensor, Tensor]:
    """x (B, Tq, D) and context (B, Tk, C)."""
    return torch.randn(sizes.B, sizes.Tq, sizes.D), torch.randn(sizes.B, sizes.Tk, sizes.C)


def matrices(sizes: Sizes) -> tuple[Tensor, ...]:
    """W_q (H d_k, D), W_k (H d_k, C), W_v (H d_v, C) and W_o (E, H d_v), scaled to keep the size of what they map."""
    shapes = (
        (sizes.H * sizes.d_k, sizes.D),
        (sizes.H * sizes.d_k, sizes.C),
        (sizes.H * sizes.d_v, sizes.C),
        (sizes.E, sizes.H * sizes.d_v),
    )
    return tuple(torch.randn(shape) / shape[1] ** 0.5 for shape in shapes)


def library_of(given: tuple[Tensor, ...], heads: int) -> nn.MultiheadAttention:
    """PyTorch's own module with the four square matrices copied into it, in float64."""
    width = given[0].size(0)
    module = nn.MultiheadAttention(width, heads, bias=False, batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        module.in_proj_weight.copy_(torch.cat(given[:3]))
        module.out_proj.weight.copy_(given[3])
    return module


def matrices_of(module: nn.MultiheadAttention) -> tuple[Tensor, ...]:
    """The four matrices of PyTorch's own module, in float32."""
    return tuple(matrix.detach().float() for matrix in (*module.in_proj_weight.chunk(3), module.out_proj.weight))


def causal(sizes: Sizes) -> Tensor:
    """(Tq, Tk) bool: query i may look at key j if j <= i."""
    return torch.ones(sizes.Tq, sizes.Tk, dtype=torch.bool).tril()


def scattered(sizes: Sizes, heads: int) -> Tensor:
    """(B, heads, Tq, Tk) bool at random; each query keeps at least one key."""
    shape = (sizes.B, heads, sizes.Tq, sizes.Tk)
    kept = torch.rand(shape) < 0.6
    return kept.scatter(-1, torch.randint(sizes.Tk, (*shape[:-1], 1)), True)


def padding(sizes: Sizes) -> Tensor:
    """(B, 1, 1, Tk) bool: each sequence has another length, at least 1 and less than Tk."""
    lengths = torch.randperm(sizes.Tk - 1)[: sizes.B] + 1
    return (torch.arange(sizes.Tk) < lengths[:, None])[:, None, None, :]


def masks(sizes: Sizes) -> list[tuple[str, Tensor | None]]:
    """Masks of every shape that broadcasts, in every dtype, with their names."""
    return [
        ("no mask", None),
        ("causal mask of shape (Tq, Tk), float", causal(sizes).float()),
        ("padding mask of shape (B, 1, 1, Tk), bool", padding(sizes)),
        ("random mask of shape (B, 1, Tq, Tk), int", scattered(sizes, 1).long()),
        ("random mask of shape (B, H, Tq, Tk), bool", scattered(sizes, sizes.H)),
    ]
