"""Wrong ideas about dtypes and devices. See misconceptions.py."""

from __future__ import annotations

from grader.misconception import Misconception

DEVICES = (
    Misconception(
        id="numpy_inside",
        title="NumPy is used inside, which can't hold gradients or tensors of an accelerator",
        explanation="NumPy works on the CPU and knows no gradients: .numpy() stops for a tensor that needs one or "
        "that stands on an accelerator. Every step of attention has an operator in PyTorch.",
        hint="Where do your tensors become arrays?",
        section="What is looked at",
        knobs={"cut": "numpy"},
    ),
    Misconception(
        id="made_on_cpu",
        title="a tensor is made on the CPU while the inputs are on an accelerator",
        explanation="torch.ones, torch.zeros, torch.full, torch.arange and torch.tensor make their result on the "
        "CPU unless they are told otherwise, and two devices can't be mixed in one operation.",
        hint="Which tensors do you create yourself, and on which device?",
        section="What is looked at",
        knobs={"made_on": "cpu"},
        also=({"made_on": "cpu with mask"},),
        seen="common",
    ),
    Misconception(
        id="answered_on_cpu",
        title="the results are moved to the CPU",
        explanation="Whoever calls the function goes on computing where the inputs are. Results on another device "
        "can't be combined with them.",
        hint="On which device are your results when the inputs are on an accelerator?",
        section="What is looked at",
        knobs={"answered_on": "cpu"},
        seen="rare",
    ),
    Misconception(
        id="computed_in_float16",
        title="the computation is done in float16",
        explanation="float16 keeps about three digits. It may be a way to save memory, but the precision that the "
        "inputs have is then lost.",
        hint="Which dtype have your scores?",
        section="What is looked at",
        knobs={"precision": "float16"},
        seen="rare",
    ),
    Misconception(
        id="computed_in_bfloat16",
        title="the computation is done in bfloat16",
        explanation="bfloat16 keeps about two digits. It may be a way to save memory, but the precision that the "
        "inputs have is then lost.",
        hint="Which dtype have your scores?",
        section="What is looked at",
        knobs={"precision": "bfloat16"},
        seen="rare",
    ),
    Misconception(
        id="computed_in_float32",
        title="the computation is done in float32 whatever the inputs are",
        explanation="With float64 inputs half of the digits are lost. Let the dtype of the inputs decide: the "
        "operators keep it by themselves.",
        hint="Which dtype have your scores when the inputs are float64?",
        section="What is looked at",
        knobs={"precision": "float32"},
        seen="rare",
    ),
    Misconception(
        id="answers_in_float32",
        title="the results are float32 whatever the inputs are",
        explanation="Results should have the dtype of the inputs: with float64 digits are lost, and with float16 "
        "the next layer stops because its dtypes differ.",
        hint="Which dtype have your results when the inputs are float64 or float16?",
        section="What is looked at",
        knobs={"answer_dtype": "float32"},
        also=({"answer_dtype": "float32", "precision": "float32"},),
        seen="rare",
    ),
)
