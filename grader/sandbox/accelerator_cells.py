"""The recurrent cells that the library runs as one operator on a device and as several on the CPU.

On the emulated device they are made of several, as on the CPU, so that gradients need nothing of their own.
Gate order and formulas: https://docs.pytorch.org/docs/stable/generated/torch.nn.LSTM.html and .../torch.nn.GRU.html
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


def lstm_cell(
    inputs: Tensor, hidden: Tensor, cell: Tensor, input_bias: Tensor | None = None, hidden_bias: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """From the gates' two halves (N, 4H) and the cell (N, H): the next hidden state, cell, and the gates."""
    gates = _plus(hidden, hidden_bias) + _plus(inputs, input_bias)
    enter, forget, new, leave = gates.chunk(4, dim=1)
    next_cell = forget.sigmoid() * cell + enter.sigmoid() * new.tanh()
    return leave.sigmoid() * next_cell.tanh(), next_cell, gates


def gru_cell(
    inputs: Tensor, hidden: Tensor, state: Tensor, input_bias: Tensor | None = None, hidden_bias: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """From the gates' two halves (N, 3H) and the state (N, H): the next state, and the gates."""
    gates = _plus(inputs, input_bias)
    reset_in, update_in, new_in = gates.chunk(3, dim=1)
    reset_hidden, update_hidden, new_hidden = _plus(hidden, hidden_bias).chunk(3, dim=1)
    update = (update_hidden + update_in).sigmoid()
    new = (new_in + new_hidden * (reset_hidden + reset_in).sigmoid()).tanh()
    return (state - new) * update + new, gates


def _plus(values: Tensor, bias: Tensor | None) -> Tensor:
    return values if bias is None else values + bias


CELLS: dict[str, Callable[..., Any]] = {"_thnn_fused_lstm_cell": lstm_cell, "_thnn_fused_gru_cell": gru_cell}


def register() -> Any:
    """Put the cells above the library's derivatives for them. What is returned must live as long as the device."""
    library = torch._C._dispatch_library("IMPL", "aten", "AutogradPrivateUse1", __file__, 0)
    for name, cell in CELLS.items():
        library.impl(name, "AutogradPrivateUse1", cell)
    return library
