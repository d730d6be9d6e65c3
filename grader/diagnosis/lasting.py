"""What is worked out once for a bank and serves every submission that a marker diagnoses."""

from __future__ import annotations

import functools

import torch

from grader.call import Call
from grader.diagnosis.catalogue import Catalogue
from grader.diagnosis.whatif import WhatIf
from grader.misconception import Bank


@functools.lru_cache(maxsize=4)
def catalogue_of(bank: Bank) -> Catalogue:
    """The bank's catalogue, made once: markers diagnose many submissions with one bank."""
    return Catalogue(bank)


@functools.lru_cache(maxsize=4)
def questions_of(bank: Bank) -> tuple[WhatIf, ...]:
    """What the student's code may be asked further, with the bank's own answers."""
    catalogue = catalogue_of(bank)
    with torch.inference_mode(False):  # they are sent to the student's code
        return tuple(WhatIf(catalogue, Call(args, kwargs, "cpu"), None) for args, kwargs in bank.probes())


@functools.lru_cache(maxsize=4)
def quiet_of(bank: Bank) -> int:
    """The items that change none of the bank's own answers to those questions: what they do shows elsewhere."""
    catalogue, quiet = catalogue_of(bank), -1
    for question in questions_of(bank):
        question.share()
        for item in catalogue.ideas:
            if quiet & item.bit and any(
                question.node(name, item.bit) is not question.node(name, 0) for name in bank.returns
            ):
                quiet ^= item.bit
    return quiet
