"""Other ways of calling attention that are common elsewhere: to be explained, not taken for wrong ideas."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from grader.misconception import Convention, Inputs

Arguments = tuple[Any, ...]
Named = dict[str, Any]


def examples() -> Sequence[Inputs]:
    """Without a mask, with a float mask and with a bool one: (B, H, T, d), and no two sizes equal."""
    source = torch.Generator().manual_seed(17)
    Q = torch.randn(2, 3, 4, 7, generator=source)
    K = torch.randn(2, 3, 5, 7, generator=source)
    V = torch.randn(2, 3, 5, 6, generator=source)
    mask = torch.tensor([[1, 0, 1, 1, 0], [1, 1, 0, 0, 1], [0, 1, 1, 0, 0], [1, 0, 0, 1, 1]])  # (Tq, Tk)
    return (((Q, K, V), {}), ((Q, K, V, mask.float()), {}), ((Q, K, V, mask.bool()), {}))


def _mask(args: Arguments, kwargs: Named) -> Tensor | None:
    mask: Tensor | None = args[3] if len(args) > 3 else kwargs.get("mask")
    return mask


def _with(args: Arguments, kwargs: Named, mask: Tensor | None) -> Inputs:
    """The same call with another mask, given in the same way."""
    if len(args) > 3:
        return (*args[:3], mask), kwargs
    return args, {**kwargs, "mask": mask} if "mask" in kwargs else kwargs


def _key_first(args: Arguments, kwargs: Named) -> Inputs:
    return (args[1], args[0], *args[2:]), kwargs


def _hidden_where_true(args: Arguments, kwargs: Named) -> Inputs:
    mask = _mask(args, kwargs)
    return _with(args, kwargs, None if mask is None else (mask == 0).to(mask.dtype))


def _hidden_where_bool(args: Arguments, kwargs: Named) -> Inputs:
    mask = _mask(args, kwargs)
    return _with(args, kwargs, None if mask is None else mask == 0)


def _additive(args: Arguments, kwargs: Named) -> Inputs:
    mask = _mask(args, kwargs)
    if mask is None:
        return args, kwargs
    return _with(args, kwargs, torch.zeros(mask.shape, dtype=args[0].dtype).masked_fill(mask == 0, -math.inf))


def _bool_only(args: Arguments, kwargs: Named) -> Inputs:
    mask = _mask(args, kwargs)
    return _with(args, kwargs, None if mask is None else mask != 0)


def _ones_for_none(args: Arguments, kwargs: Named) -> Inputs:
    mask = _mask(args, kwargs)
    given = torch.ones(args[0].size(-2), args[1].size(-2)) if mask is None else mask
    return (*args[:3], given), {key: value for key, value in kwargs.items() if key != "mask"}


def _size_fourth(args: Arguments, kwargs: Named) -> Inputs | None:
    if _mask(args, kwargs) is not None:
        return None
    return (*args[:3], args[0].size(-1)), {}


def _slices(dimensions: int) -> Callable[[Arguments, Named], Inputs | None]:
    def translate(args: Arguments, kwargs: Named) -> Inputs | None:
        surplus = args[0].dim() - dimensions
        index = (0,) * surplus
        return tuple(item[index] if isinstance(item, Tensor) and item.dim() > 2 else item for item in args), kwargs

    return translate


def _convention(
    id: str, title: str, words: str, arguments: Callable[[Arguments, Named], Inputs | None], **more: Any
) -> Convention:
    return Convention(id=id, title=title, words=words, examples=examples, arguments=arguments, **more)


CONVENTIONS = (
    _convention(
        "key_first",
        "Takes the keys before the queries",
        "Your function takes the keys first and the queries second. The checks call it with Q, K, V, in this order. "
        "Swap the first two names in the def line.",
        _key_first,
    ),
    _convention(
        "true_is_masked",
        "A mask value of True hides",
        "Your function hides the keys where the mask is True or 1. In this assignment True or 1 means that the query "
        "may look at the key, and False or 0 hides it. Turn your test of the mask round.",
        _hidden_where_true,
        misconceptions=("mask_inverted", "mask_needs_bool", "mask_times_low_added"),
    ),
    _convention(
        "true_is_masked_bool",
        "A bool mask hides where it is True; other masks do not work",
        "Your function takes bool masks only, and hides the keys where the mask is True. In this assignment the mask "
        "may be bool, int or float, and True or a number other than 0 means that the query may look at the key. "
        "Comparing the mask with 0 mends both.",
        _hidden_where_bool,
        misconceptions=("mask_inverted", "mask_needs_bool"),
    ),
    _convention(
        "additive_mask",
        "Adds the mask to the scores",
        "Your function adds the mask to the scores, so it wants 0 where looking is allowed and -infinity where it is "
        "not. In this assignment the mask holds True or 1 where looking is allowed and False or 0 where it is not. "
        "Put -infinity into the scores where the mask is 0.",
        _additive,
        misconceptions=("mask_added", "float_mask_added"),
    ),
    _convention(
        "bool_mask_only",
        "Works with bool masks only",
        "Your function is right for bool masks, but not for masks of numbers. The mask may be bool, int or float: 0 "
        "and False hide a key. Comparing the mask with 0 gives a bool mask in every case.",
        _bool_only,
        misconceptions=("mask_tilde", "mask_where_bool", "float_mask_added"),
    ),
    _convention(
        "mask_required",
        "Works only when a mask is given",
        "Your function is right when it gets a mask, but the mask may be left out: then it is None, and every query "
        "may look at every key. Add a test for None before the mask is used.",
        _ones_for_none,
        misconceptions=("mask_required",),
    ),
    _convention(
        "size_fourth",
        "The fourth argument is d_k, not the mask",
        "Your function takes the number d_k as its fourth argument. The checks give the mask there. Make mask=None "
        "the fourth argument, and compute d_k inside the function: it is the last size of Q.",
        _size_fourth,
        adaptable=False,
    ),
    _convention(
        "three_dimensions_only",
        "Works with three dimensions only",
        "Your function is right for inputs of three dimensions, (batch, positions, features), but not for four: there "
        "may be heads as well, or nothing in front at all. Use operations that work on the last two dimensions, "
        "counted from the end.",
        _slices(3),
        smaller=True,
        adaptable=False,
        misconceptions=("transpose_1_2", "permute_0_2_1", "bmm"),
    ),
    _convention(
        "two_dimensions_only",
        "Works with two dimensions only",
        "Your function is right for two plain matrices, but not with dimensions in front of them, such as the batch "
        "and the heads. Use operations that work on the last two dimensions, counted from the end.",
        _slices(2),
        smaller=True,
        adaptable=False,
        misconceptions=("keys_all_dimensions_reversed",),
    ),
)
