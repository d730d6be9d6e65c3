"""Wrong ideas about what the scores are divided by. See misconceptions.py."""

from __future__ import annotations

import math

from grader.misconception import Misconception

SCALE = (
    Misconception(
        id="not_scaled",
        title="the scores are not divided by √d_k",
        explanation="A dot product of d_k products of independent numbers has a typical size of √d_k. Unscaled, it "
        "pushes the softmax towards a single key, the more so the larger d_k is, and the gradient almost vanishes. "
        "Dividing by √d_k brings the scores back to a typical size of 1.",
        hint="What happens between the dot products and the softmax?",
        section="2. Scale",
        knobs={"scale": "none"},
        seen="common",
    ),
    Misconception(
        id="scaled_by_dk",
        title="the scores are divided by d_k instead of √d_k (or by √d_k twice)",
        explanation="A sum of d_k independent products has a *variance* of d_k, so its typical size is √d_k. "
        "Dividing by d_k makes the scores too small: all the weights come out nearly equal.",
        hint="Which quantity grows like d_k, the variance or the typical size? And how often is it divided?",
        section="2. Scale",
        knobs={"scale": "dk"},
        seen="common",
    ),
    Misconception(
        id="scaled_up",
        title="the scores are multiplied by √d_k instead of divided",
        explanation="The dot products are already too large by √d_k. Multiplying makes them larger still, and the "
        "softmax gives nearly everything to one key. Note that dividing by d_k ** -0.5 is multiplying by √d_k.",
        hint="Do your scores get smaller or larger in this step?",
        section="2. Scale",
        knobs={"scale": "times_sqrt"},
    ),
    Misconception(
        id="scaled_up_by_dk",
        title="the scores are multiplied by d_k",
        explanation="The dot products are already too large by √d_k. Multiplying by d_k makes them larger still, "
        "and the softmax gives all the weight to one key.",
        hint="Do your scores get smaller or larger in this step?",
        section="2. Scale",
        knobs={"scale": "times_dk"},
        seen="rare",
    ),
    Misconception(
        id="scaled_by_query_count",
        title="the scores are divided by the square root of the number of queries",
        explanation="A score is a sum over the *features*, so its size depends on how many features there are: d_k, "
        "the last dimension. How many positions the sequence has makes no difference to it.",
        hint="Over which dimension does the dot product sum? Print the number that you divide by.",
        section="2. Scale",
        knobs={"scale": "sqrt_queries"},
        seen="common",
    ),
    Misconception(
        id="scaled_by_key_count",
        title="the scores are divided by the square root of the number of keys",
        explanation="A score is a sum over the *features*, so its size depends on how many features there are: d_k, "
        "the last dimension. How many keys there are makes no difference to it.",
        hint="Over which dimension does the dot product sum? Print the number that you divide by.",
        section="2. Scale",
        knobs={"scale": "sqrt_keys"},
        seen="common",
    ),
    Misconception(
        id="scaled_by_size_1",
        title="the scores are divided by the square root of the size of dimension 1, which holds the heads",
        explanation="Dimension 1 of (batch, heads, positions, features) is the number of heads. The score is a sum "
        "over the features, so d_k is what it must be scaled by, and that is always the last dimension.",
        hint="Print the number that you divide by. Of which dimension is it the size?",
        section="2. Scale",
        knobs={"scale": "sqrt_size_1"},
    ),
    Misconception(
        id="scaled_by_size_0",
        title="the scores are divided by the square root of the size of dimension 0, which holds the batch",
        explanation="How many sequences are processed together must not change the result for any of them. The "
        "score is a sum over the features: d_k, the last dimension, is what it must be scaled by.",
        hint="Print the number that you divide by. Of which dimension is it the size?",
        section="2. Scale",
        knobs={"scale": "sqrt_size_0"},
        seen="rare",
    ),
    Misconception(
        id="scaled_by_model_size",
        title="the scores are divided by √d_model, that is √(heads × d_k)",
        explanation="Each head takes dot products of its own d_k features, not of all d_model of them. So the "
        "typical size is √d_k, whatever the number of heads.",
        hint="How many products are summed in one score of one head?",
        section="2. Scale",
        knobs={"scale": "sqrt_model"},
        seen="common",
    ),
    Misconception(
        id="scaled_by_dv",
        title="the scores are divided by √d_v, the size of a value",
        explanation="The values play no part in the scores. What is summed in a score is the d_k features that a "
        "query and a key have in common; d_v may differ from it.",
        hint="Of which of the three inputs do you take the size?",
        section="2. Scale",
        knobs={"scale": "sqrt_dv"},
    ),
    Misconception(
        id="scaled_by_constant",
        title="the scores are divided by a fixed number instead of √d_k",
        explanation="A fixed number such as √64 is right for one d_k only. d_k is a property of the inputs and must "
        "be read off them at each call.",
        hint="What does your code do when d_k changes?",
        section="2. Scale",
        knobs={"scale": 8.0},
        also=tuple({"scale": math.sqrt(size)} for size in (2, 4, 8, 16, 32, 100, 128, 256, 512, 1024)),
    ),
    Misconception(
        id="root_taken_twice",
        title="the scores are divided by the fourth root of d_k",
        explanation="The square root is taken twice, or only one of Q and K is scaled by the fourth root. The "
        "scores stay too large by that much: their typical size is √d_k before scaling.",
        hint="Print the number that you divide by, for d_k = 16. It should be 4.",
        section="2. Scale",
        knobs={"scale": "fourth_root"},
        seen="rare",
    ),
    Misconception(
        id="scaled_by_square",
        title="the scores are divided by the square of d_k",
        explanation="The typical size of a score is the square *root* of d_k. Divided by the square, all scores are "
        "nearly 0 and all weights nearly equal.",
        hint="Print the number that you divide by, for d_k = 16. It should be 4.",
        section="2. Scale",
        knobs={"scale": "square"},
        seen="rare",
    ),
    Misconception(
        id="scale_negative",
        title="the scores have the wrong sign",
        explanation="With the sign turned round, the key that fits a query worst gets the largest weight.",
        hint="Which key should get the largest weight, the one with the largest or with the smallest dot product?",
        section="2. Scale",
        knobs={"scale": "negative"},
        seen="rare",
    ),
    Misconception(
        id="scale_rounded",
        title="√d_k is rounded down to a whole number",
        explanation="√d_k is a whole number only when d_k is a square. Cut off to a whole number, it is too small "
        "for every other d_k, and the weights come out too sharp.",
        hint="Print the number that you divide by, for d_k = 6. Is it 2.449 or 2?",
        section="2. Scale",
        knobs={"scale": "whole_root"},
    ),
    Misconception(
        id="scaled_by_half",
        title="the scores are divided by d_k / 2 instead of √d_k",
        explanation="Half of d_k and the square root of d_k are the same for d_k = 4 only. The typical size of a "
        "dot product is √d_k.",
        hint="Print the number that you divide by, for d_k = 16. It should be 4.",
        section="2. Scale",
        knobs={"scale": "half"},
        seen="rare",
    ),
    Misconception(
        id="scores_floored",
        title="the scores are divided with //, which rounds down to whole numbers",
        explanation="// is the division of whole numbers: it drops what comes after the point. Scores that differ "
        "by less than 1 become equal, and no gradient gets through.",
        hint="What is 7 / 2, and what is 7 // 2?",
        section="2. Scale",
        knobs={"scale": "floored"},
        seen="rare",
    ),
    Misconception(
        id="scaled_by_deviation",
        title="the scores are divided by their own standard deviation",
        explanation="The standard deviation of the scores depends on all the inputs of the call, so that one "
        "sequence of a batch changes the result of another. √d_k is what the deviation *would be* for independent "
        "numbers, and it is the same for every call.",
        hint="Does the number that you divide by depend on the numbers in Q and K?",
        section="2. Scale",
        knobs={"scale": "std"},
        seen="rare",
    ),
    Misconception(
        id="scaled_only_with_mask",
        title="the scores are scaled only when a mask is given",
        explanation="The scale has nothing to do with the mask. Most likely the line that scales stands inside the "
        "block that handles the mask.",
        hint="Look at the indentation around the mask.",
        section="2. Scale",
        knobs={"scaled_when": "with mask"},
    ),
    Misconception(
        id="scaled_only_without_mask",
        title="the scores are scaled only when no mask is given",
        explanation="The scale has nothing to do with the mask. Most likely the masked scores are made from the "
        "unscaled ones, or the line that scales stands in the branch without a mask.",
        hint="From which scores are the masked ones made?",
        section="2. Scale",
        knobs={"scaled_when": "without mask"},
    ),
    Misconception(
        id="weights_scaled",
        title="the weights are divided by √d_k once more, after the softmax",
        explanation="After the softmax each row sums to 1. Divided by √d_k it sums to 1/√d_k, and the output "
        "shrinks with it. The scale belongs to the scores, before the softmax.",
        hint="What does a row of your weights sum to?",
        section="2. Scale",
        knobs={"scaled_after": True},
        seen="rare",
    ),
    Misconception(
        id="scaled_after_softmax",
        title="√d_k divides the weights after the softmax instead of the scores before it",
        explanation="Then the softmax sees scores that are too large, and the rows sum to 1/√d_k instead of 1. The "
        "scale must act before the softmax, where it changes how sharp the choice is.",
        hint="In which order do scaling and softmax come? What does a row of your weights sum to?",
        section="2. Scale",
        knobs={"scale": "none", "scaled_after": True},
        seen="rare",
    ),
    Misconception(
        id="values_scaled",
        title="the values are divided by √d_k as well",
        explanation="The output is a weighted mean of the values: with weights that sum to 1 it needs no scale. "
        "Only the scores grow with d_k.",
        hint="Which of the tensors do you scale?",
        section="2. Scale",
        knobs={"mix": "scaled V"},
    ),
)
