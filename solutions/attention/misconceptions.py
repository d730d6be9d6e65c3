"""The wrong ideas about attention: each sets a knob of `knobs.py` and says what to learn from it.

A title completes "Your result is exactly what one gets when ...". An explanation says what the idea does to the
numbers and why the right way is right. A hint says where to look and does not give the line away.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from knobs import STEPS
from torch import Tensor

from grader.misconception import Bank, Inputs, Misconception

# --- scores ---

SCORES = (
    Misconception(
        id="scores_query_query",
        title="the queries are compared with the queries instead of the keys",
        explanation="Q Qᵀ tells how much each query resembles the other queries; the keys then play no part at all. "
        "Attention asks how well each query fits each *key*, so one of the two factors must come from K.",
        hint="Which two tensors go into the first matrix product?",
        section="Scores",
        knobs={"product": "QQ"},
    ),
    Misconception(
        id="scores_key_key",
        title="the keys are compared with the keys instead of the queries",
        explanation="K Kᵀ tells how much the keys resemble each other; what the queries ask for is ignored. "
        "Attention asks how well each *query* fits each key, so one of the two factors must come from Q.",
        hint="Which two tensors go into the first matrix product?",
        section="Scores",
        knobs={"product": "KK"},
        seen="rare",
    ),
    Misconception(
        id="scores_transposed",
        title="the scores are computed as K Qᵀ, with a row for each key",
        explanation="In K Qᵀ the rows are keys and the columns are queries. The softmax then runs over the queries, "
        "and each *key* shares itself out. Rows must be queries: query i, key j belongs at row i, column j.",
        hint="Which size should the second last dimension of the scores have: that of the queries or of the keys?",
        section="Scores",
        knobs={"product": "KQ"},
    ),
    Misconception(
        id="scores_query_value",
        title="the queries are compared with the values instead of the keys",
        explanation="Q Vᵀ compares a query with what a position gives away, not with what it offers to be found by. "
        "The keys decide *how much* is taken, the values decide *what* is taken.",
        hint="What are the three inputs for? Only two of them decide the weights.",
        section="Scores",
        knobs={"product": "QV"},
        seen="rare",
    ),
    Misconception(
        id="keys_reshaped",
        title="the keys are reshaped where they should be transposed",
        explanation="reshape and view keep the numbers in the order in which they lie in memory and only cut them "
        "into rows of another length. So numbers of different keys end up in one column. A transpose moves each "
        "number to its mirrored place and keeps each key together.",
        hint="Print a small matrix, say torch.arange(6).reshape(2, 3), turned both ways.",
        section="Scores",
        knobs={"product": "reshaped"},
    ),
    Misconception(
        id="keys_not_transposed",
        title="the keys are not transposed before the product",
        explanation="A matrix product multiplies rows by columns. Only when each key is a *column* does it give the "
        "dot product of each query with each key. Without the transpose the sizes fit by accident, when there are "
        "as many keys as features.",
        hint="Write the shapes of both factors beside each other. Which two sizes must be equal, and why?",
        section="Scores",
        knobs={"product": "untransposed"},
    ),
    Misconception(
        id="keys_all_dimensions_reversed",
        title="all dimensions of the keys are reversed, as K.T does",
        explanation="K.T turns *all* the dimensions round: the batch comes last and the features come first. With a "
        "batch and heads in front, only the last two dimensions must change places.",
        hint="Print K.T.shape for a tensor with four dimensions.",
        section="Scores",
        knobs={"product": "all_reversed"},
        seen="common",
    ),
    Misconception(
        id="transpose_1_2",
        title="dimensions 1 and 2 of the keys are swapped, whatever the number of dimensions",
        explanation="Dimensions 1 and 2 are positions and features only when there are three dimensions. With heads "
        "there are four, and then they are heads and positions. Counting from the end names the right two "
        "dimensions in both cases.",
        hint="How can one name the last two dimensions, however many there are?",
        section="Scores",
        knobs={"product": "transpose_1_2"},
        seen="common",
    ),
    Misconception(
        id="permute_0_2_1",
        title="the keys are permuted as if they had three dimensions",
        explanation="permute(0, 2, 1) names three dimensions, so it works for (batch, positions, features) only. "
        "Attention has to work with any leading dimensions, such as a batch and heads, or none.",
        hint="How can one swap the last two dimensions, however many there are?",
        section="Scores",
        knobs={"product": "permute_0_2_1"},
    ),
    Misconception(
        id="bmm",
        title="torch.bmm is used, which takes three dimensions only",
        explanation="bmm multiplies batches of matrices: exactly one dimension in front. With a batch *and* heads "
        "there are two. The operator @ (torch.matmul) takes any number of leading dimensions.",
        hint="Which matrix product works for any number of leading dimensions?",
        section="Scores",
        knobs={"product": "bmm"},
    ),
    Misconception(
        id="heads_as_positions",
        title="the heads attend to each other instead of the positions",
        explanation="Dimensions 1 (heads) and 2 (positions) are swapped before the product, so that at each "
        "position the heads are compared with one another. The inputs are already (batch, heads, positions, "
        "features): the positions must be compared, separately in each head.",
        hint="What do the rows and columns of your scores stand for? Look at their shape.",
        section="Scores",
        knobs={"product": "heads"},
        seen="rare",
    ),
    Misconception(
        id="heads_summed",
        title="the keys of all heads are added up, so that the heads are mixed",
        explanation="Each head must compare its own queries with its own keys. Where a dimension's letter appears "
        "in only one of the inputs of an einsum and not in the result, einsum sums over it: here over the heads.",
        hint="Follow the letter for the heads through your einsum, or the dimension through your product.",
        section="Scores",
        knobs={"product": "heads_summed"},
        seen="rare",
    ),
    Misconception(
        id="elementwise_product",
        title="queries and keys are multiplied element by element",
        explanation="Q * K pairs query i with key i only, and does not add up. The score of query i and key j is a "
        "dot product: multiply feature by feature, then sum, for *all* pairs i, j. A matrix product does that.",
        hint="What is the shape of the result of * and of @?",
        section="Scores",
        knobs={"product": "elementwise"},
        seen="rare",
    ),
    Misconception(
        id="cosine",
        title="queries and keys are brought to length 1 first (cosine similarity)",
        explanation="Dividing by the lengths keeps only the direction. In attention the length matters: a long "
        "query makes a sharper choice, and a long key is found more easily. The scale is √d_k, the same for all "
        "pairs.",
        hint="By what does the handout divide the dot products, and by what does your code?",
        section="Scores",
        knobs={"product": "cosine"},
        seen="rare",
    ),
    Misconception(
        id="distance",
        title="queries and keys are compared by their squared distance instead of their dot product",
        explanation="The squared distance contains the lengths of query and key as well as their dot product. Long "
        "keys are far away from everything, so they lose weight that the dot product would give them.",
        hint="Which measure of likeness does the handout use?",
        section="Scores",
        knobs={"product": "distance"},
        seen="rare",
    ),
    Misconception(
        id="absolute_scores",
        title="the sign of the scores is dropped",
        explanation="A negative dot product means that the key points away from the query: it should get little "
        "weight. Without the sign it gets as much weight as one that fits.",
        hint="What does it mean when a dot product is negative?",
        section="Scores",
        knobs={"product": "absolute"},
        seen="rare",
    ),
)

# --- scale ---

SCALE = (
    Misconception(
        id="not_scaled",
        title="the scores are not divided by √d_k",
        explanation="A dot product of d_k products of independent numbers has a typical size of √d_k. Unscaled, it "
        "pushes the softmax towards a single key, the more so the larger d_k is, and the gradient almost vanishes. "
        "Dividing by √d_k brings the scores back to a typical size of 1.",
        hint="What happens between the dot products and the softmax?",
        section="Scale",
        knobs={"scale": "none"},
        seen="common",
    ),
    Misconception(
        id="scaled_by_dk",
        title="the scores are divided by d_k instead of √d_k (or by √d_k twice)",
        explanation="A sum of d_k independent products has a *variance* of d_k, so its typical size is √d_k. "
        "Dividing by d_k makes the scores too small: all the weights come out nearly equal.",
        hint="Which quantity grows like d_k, the variance or the typical size? And how often is it divided?",
        section="Scale",
        knobs={"scale": "dk"},
        seen="common",
    ),
    Misconception(
        id="scaled_up",
        title="the scores are multiplied by √d_k instead of divided",
        explanation="The dot products are already too large by √d_k. Multiplying makes them larger still, and the "
        "softmax gives nearly everything to one key. Note that dividing by d_k ** -0.5 is multiplying by √d_k.",
        hint="Do your scores get smaller or larger in this step?",
        section="Scale",
        knobs={"scale": "times_sqrt"},
    ),
    Misconception(
        id="scaled_up_by_dk",
        title="the scores are multiplied by d_k",
        explanation="The dot products are already too large by √d_k. Multiplying by d_k makes them larger still, "
        "and the softmax gives all the weight to one key.",
        hint="Do your scores get smaller or larger in this step?",
        section="Scale",
        knobs={"scale": "times_dk"},
        seen="rare",
    ),
    Misconception(
        id="scaled_by_query_count",
        title="the scores are divided by the square root of the number of queries",
        explanation="A score is a sum over the *features*, so its size depends on how many features there are: d_k, "
        "the last dimension. How many positions the sequence has makes no difference to it.",
        hint="Over which dimension does the dot product sum? Print the number that you divide by.",
        section="Scale",
        knobs={"scale": "sqrt_queries"},
        seen="common",
    ),
    Misconception(
        id="scaled_by_key_count",
        title="the scores are divided by the square root of the number of keys",
        explanation="A score is a sum over the *features*, so its size depends on how many features there are: d_k, "
        "the last dimension. How many keys there are makes no difference to it.",
        hint="Over which dimension does the dot product sum? Print the number that you divide by.",
        section="Scale",
        knobs={"scale": "sqrt_keys"},
        seen="common",
    ),
    Misconception(
        id="scaled_by_size_1",
        title="the scores are divided by the square root of the size of dimension 1, which holds the heads",
        explanation="Dimension 1 of (batch, heads, positions, features) is the number of heads. The score is a sum "
        "over the features, so d_k is what it must be scaled by, and that is always the last dimension.",
        hint="Print the number that you divide by. Of which dimension is it the size?",
        section="Scale",
        knobs={"scale": "sqrt_size_1"},
    ),
    Misconception(
        id="scaled_by_size_0",
        title="the scores are divided by the square root of the size of dimension 0, which holds the batch",
        explanation="How many sequences are processed together must not change the result for any of them. The "
        "score is a sum over the features: d_k, the last dimension, is what it must be scaled by.",
        hint="Print the number that you divide by. Of which dimension is it the size?",
        section="Scale",
        knobs={"scale": "sqrt_size_0"},
        seen="rare",
    ),
    Misconception(
        id="scaled_by_model_size",
        title="the scores are divided by √d_model, that is √(heads × d_k)",
        explanation="Each head takes dot products of its own d_k features, not of all d_model of them. So the "
        "typical size is √d_k, whatever the number of heads.",
        hint="How many products are summed in one score of one head?",
        section="Scale",
        knobs={"scale": "sqrt_model"},
        seen="common",
    ),
    Misconception(
        id="scaled_by_dv",
        title="the scores are divided by √d_v, the size of a value",
        explanation="The values play no part in the scores. What is summed in a score is the d_k features that a "
        "query and a key have in common; d_v may differ from it.",
        hint="Of which of the three inputs do you take the size?",
        section="Scale",
        knobs={"scale": "sqrt_dv"},
    ),
    Misconception(
        id="scaled_by_constant",
        title="the scores are divided by a fixed number instead of √d_k",
        explanation="A fixed number such as √64 is right for one d_k only. d_k is a property of the inputs and must "
        "be read off them at each call.",
        hint="What does your code do when d_k changes?",
        section="Scale",
        knobs={"scale": 8.0},
        also=tuple({"scale": math.sqrt(size)} for size in (2, 4, 8, 16, 32, 100, 128, 256, 512, 1024)),
    ),
    Misconception(
        id="root_taken_twice",
        title="the scores are divided by the fourth root of d_k",
        explanation="The square root is taken twice, or only one of Q and K is scaled by the fourth root. The "
        "scores stay too large by that much: their typical size is √d_k before scaling.",
        hint="Print the number that you divide by, for d_k = 16. It should be 4.",
        section="Scale",
        knobs={"scale": "fourth_root"},
        seen="rare",
    ),
    Misconception(
        id="scaled_by_square",
        title="the scores are divided by the square of d_k",
        explanation="The typical size of a score is the square *root* of d_k. Divided by the square, all scores are "
        "nearly 0 and all weights nearly equal.",
        hint="Print the number that you divide by, for d_k = 16. It should be 4.",
        section="Scale",
        knobs={"scale": "square"},
        seen="rare",
    ),
    Misconception(
        id="scale_negative",
        title="the scores have the wrong sign",
        explanation="With the sign turned round, the key that fits a query worst gets the largest weight.",
        hint="Which key should get the largest weight, the one with the largest or with the smallest dot product?",
        section="Scale",
        knobs={"scale": "negative"},
        seen="rare",
    ),
    Misconception(
        id="scale_rounded",
        title="√d_k is rounded down to a whole number",
        explanation="√d_k is a whole number only when d_k is a square. Cut off to a whole number, it is too small "
        "for every other d_k, and the weights come out too sharp.",
        hint="Print the number that you divide by, for d_k = 6. Is it 2.449 or 2?",
        section="Scale",
        knobs={"scale": "whole_root"},
    ),
    Misconception(
        id="scaled_by_half",
        title="the scores are divided by d_k / 2 instead of √d_k",
        explanation="Half of d_k and the square root of d_k are the same for d_k = 4 only. The typical size of a "
        "dot product is √d_k.",
        hint="Print the number that you divide by, for d_k = 16. It should be 4.",
        section="Scale",
        knobs={"scale": "half"},
        seen="rare",
    ),
    Misconception(
        id="scores_floored",
        title="the scores are divided with //, which rounds down to whole numbers",
        explanation="// is the division of whole numbers: it drops what comes after the point. Scores that differ "
        "by less than 1 become equal, and no gradient gets through.",
        hint="What is 7 / 2, and what is 7 // 2?",
        section="Scale",
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
        section="Scale",
        knobs={"scale": "std"},
        seen="rare",
    ),
    Misconception(
        id="scaled_only_with_mask",
        title="the scores are scaled only when a mask is given",
        explanation="The scale has nothing to do with the mask. Most likely the line that scales stands inside the "
        "block that handles the mask.",
        hint="Look at the indentation around the mask.",
        section="Scale",
        knobs={"scaled_when": "with mask"},
    ),
    Misconception(
        id="scaled_only_without_mask",
        title="the scores are scaled only when no mask is given",
        explanation="The scale has nothing to do with the mask. Most likely the masked scores are made from the "
        "unscaled ones, or the line that scales stands in the branch without a mask.",
        hint="From which scores are the masked ones made?",
        section="Scale",
        knobs={"scaled_when": "without mask"},
    ),
    Misconception(
        id="weights_scaled",
        title="the weights are divided by √d_k once more, after the softmax",
        explanation="After the softmax each row sums to 1. Divided by √d_k it sums to 1/√d_k, and the output "
        "shrinks with it. The scale belongs to the scores, before the softmax.",
        hint="What does a row of your weights sum to?",
        section="Scale",
        knobs={"scaled_after": True},
        seen="rare",
    ),
    Misconception(
        id="scaled_after_softmax",
        title="√d_k divides the weights after the softmax instead of the scores before it",
        explanation="Then the softmax sees scores that are too large, and the rows sum to 1/√d_k instead of 1. The "
        "scale must act before the softmax, where it changes how sharp the choice is.",
        hint="In which order do scaling and softmax come? What does a row of your weights sum to?",
        section="Scale",
        knobs={"scale": "none", "scaled_after": True},
        seen="rare",
    ),
    Misconception(
        id="values_scaled",
        title="the values are divided by √d_k as well",
        explanation="The output is a weighted mean of the values: with weights that sum to 1 it needs no scale. "
        "Only the scores grow with d_k.",
        hint="Which of the tensors do you scale?",
        section="Scale",
        knobs={"mix": "scaled V"},
    ),
)

# --- mask ---

MASK = (
    Misconception(
        id="mask_ignored",
        title="the mask is never applied",
        explanation="Queries look at keys that they must not see. The usual reason is `scores.masked_fill(...)` on "
        "a line of its own: it does not change scores, it returns a *new* tensor, and that one is lost.",
        hint="Where does the result of masking go?",
        section="Mask",
        knobs={"reads": "ignored"},
        seen="common",
    ),
    Misconception(
        id="mask_inverted",
        title="the mask is used the wrong way round: keys are hidden where it is True or 1",
        explanation="In this assignment True or 1 means that the query *may* look. Hiding those keys leaves exactly "
        "the forbidden ones; with a causal mask each position sees only the future, and the last one sees nothing, "
        "which gives NaN.",
        hint="What does a 1 in the mask mean here? Other libraries use the opposite.",
        section="Mask",
        knobs={"reads": "inverted"},
        seen="common",
    ),
    Misconception(
        id="mask_transposed",
        title="the mask is transposed: rows and columns are swapped",
        explanation="Row i of the mask belongs to query i, column j to key j. Transposed, a causal mask lets each "
        "position look at the future and hides the past.",
        hint="Which dimension of the mask belongs to the queries?",
        section="Mask",
        knobs={"reads": "transposed"},
        seen="rare",
    ),
    Misconception(
        id="mask_of_first_item",
        title="the mask of the first item of the batch is used for all of them",
        explanation="Each sequence of a batch has its own padding, so each needs its own mask. Taking mask[0] hides "
        "the wrong keys of all the others.",
        hint="Do you index into the mask?",
        section="Mask",
        knobs={"reads": "first item"},
        seen="rare",
    ),
    Misconception(
        id="mask_of_first_head",
        title="the mask of the first head is used for all heads",
        explanation="A mask may have a dimension for the heads, and then each head has its own. Broadcasting "
        "already handles a mask with one head.",
        hint="Do you index into the mask?",
        section="Mask",
        knobs={"reads": "first head"},
        seen="rare",
    ),
    Misconception(
        id="mask_of_first_query",
        title="the first row of the mask is used for all queries",
        explanation="Each query has its own row in the mask: with a causal mask the first query sees one key, the "
        "last one sees all. With the first row for all of them, everybody sees what the first may see.",
        hint="Do you index into the mask or reduce it?",
        section="Mask",
        knobs={"reads": "first row"},
        seen="rare",
    ),
    Misconception(
        id="mask_unsqueezed",
        title="a dimension is added to the mask in front of the heads, whatever its shape",
        explanation="The mask already broadcasts to the shape of the scores. One more dimension shifts the others "
        "by one place: rows are taken for heads, or the result gets five dimensions.",
        hint="Compare the shape of the mask with that of the scores, counted from the end.",
        section="Mask",
        knobs={"reads": "unsqueezed"},
    ),
    Misconception(
        id="mask_leaky",
        title="one key too many is let through: the one after each key that is allowed",
        explanation="The mask is off by one. With a causal mask each position sees one step into the future, which "
        "is just the word that it should predict.",
        hint="Test with three positions, and look at which weights are 0.",
        section="Mask",
        knobs={"reads": "leaky"},
        seen="rare",
    ),
    Misconception(
        id="own_causal_mask",
        title="a causal mask of its own is used in every call, whatever mask is given",
        explanation="The function must use the mask that it is given: none, padding, or any other. A built-in "
        "triangle passes every test with a causal mask and fails in every other use.",
        hint="Where does the mask that you apply come from?",
        section="Mask",
        knobs={"own": "causal"},
        seen="common",
    ),
    Misconception(
        id="own_causal_mask_if_given",
        title="a causal mask of its own is used whenever a mask is given",
        explanation="The mask that is given is taken as a switch, and its content is ignored. But it says *which* "
        "keys are allowed, and it need not be a triangle: padding masks are not.",
        hint="Do the numbers in the mask matter to your code?",
        section="Mask",
        knobs={"own": "causal", "own_when": "with mask"},
    ),
    Misconception(
        id="own_causal_mask_too",
        title="a causal mask is applied in addition to the mask that is given",
        explanation="Keys that the given mask allows are hidden when they come later in the sequence. The function "
        "must not add a rule of its own: an encoder, for instance, may look ahead.",
        hint="How many masks does your code apply?",
        section="Mask",
        knobs={"own": "causal", "own_when": "both"},
    ),
    Misconception(
        id="own_strict_mask",
        title="a causal mask of its own hides the diagonal as well",
        explanation="A position may look at itself: j <= i. With the diagonal hidden the first position sees "
        "nothing at all, which gives NaN. And the function should use the mask that it is given, not one of its "
        "own.",
        hint="Print your triangle for three positions: what stands on its diagonal?",
        section="Mask",
        knobs={"own": "strict"},
        also=({"own": "strict", "own_when": "with mask"}, {"own": "strict", "own_when": "both"}),
    ),
    Misconception(
        id="own_mask_ahead",
        title="a causal mask of its own lets each position see one step into the future",
        explanation="The triangle is off by one: j <= i + 1. Each position sees the next one, which is what it "
        "should predict. And the function should use the mask that it is given, not one of its own.",
        hint="Print your triangle for three positions: what stands just above its diagonal?",
        section="Mask",
        knobs={"own": "ahead"},
        also=({"own": "ahead", "own_when": "with mask"}, {"own": "ahead", "own_when": "both"}),
        seen="rare",
    ),
    Misconception(
        id="own_mask_reversed",
        title="a triangle of its own lets each position see only itself and the future",
        explanation="The upper triangle is kept where the lower one was meant: each position looks ahead and never "
        "back. And the function should use the mask that it is given, not one of its own.",
        hint="Print your triangle for three positions. What may the first one see?",
        section="Mask",
        knobs={"own": "reversed"},
        also=({"own": "reversed", "own_when": "with mask"}, {"own": "reversed", "own_when": "both"}),
    ),
    Misconception(
        id="filled_with_zero",
        title="forbidden scores are set to 0 (or multiplied by the mask) before the softmax",
        explanation="e to the power 0 is 1, not 0. A forbidden key with score 0 still gets weight, often more than "
        "an allowed key with a negative score. Only -∞ gives a weight of exactly 0.",
        hint="What does the softmax make of the number that you put into forbidden places?",
        section="Mask",
        knobs={"fill": 0.0},
        seen="common",
    ),
    Misconception(
        id="filled_with_tiny",
        title="forbidden scores are set to a tiny number such as 1e-9 instead of a hugely negative one",
        explanation="1e-9 is almost 0, and e to the power 0 is 1. So the forbidden keys keep a full share. -1e9 was "
        "meant: the minus sign belongs in front of the number, not only into its exponent.",
        hint="Is the number that you fill in hugely negative or nearly 0? Print it.",
        section="Mask",
        knobs={"fill": 1e-9},
        also=tuple({"fill": value} for value in (-1e-9, 1e-10, 1e-8, 1e-6, 1e-5, 1e-12)),
        seen="common",
    ),
    Misconception(
        id="filled_too_high",
        title="forbidden scores are set to a number that is not low enough",
        explanation="Softmax compares the scores. A fill of -1 or -10 is small beside some scores and large beside "
        "others, so that forbidden keys still get a little weight. Only -∞, or a number far below every possible "
        "score, gives exactly 0.",
        hint="What is e to the power of the number that you fill in?",
        section="Mask",
        knobs={"fill": -10.0},
        also=tuple({"fill": float(value)} for value in (-1, -2, -5, -20, -50, -100)),
    ),
    Misconception(
        id="filled_positive",
        title="forbidden scores are set to a hugely positive number",
        explanation="The largest score wins the softmax, so all the weight goes to the forbidden keys. A hugely "
        "*negative* number keeps them out.",
        hint="Look at the sign of the number that you fill in.",
        section="Mask",
        knobs={"fill": 1e9},
        also=({"fill": math.inf}, {"fill": 1e4}, {"fill": 1e10}, {"fill": 1e20}, {"fill": 1.0}),
        seen="rare",
    ),
    Misconception(
        id="mask_added",
        title="the mask is added to the scores as 0 and 1",
        explanation="Adding 1 to the allowed scores multiplies their shares by e; it forbids nothing. A mask that "
        "is added must hold 0 where looking is allowed and -∞ where it is not.",
        hint="What should be added to a forbidden score so that its weight becomes 0?",
        section="Mask",
        knobs={"masking": "added"},
        seen="common",
    ),
    Misconception(
        id="float_mask_added",
        title="a float mask is added to the scores, though it holds 0 and 1 here",
        explanation="In some libraries a float mask holds 0 and -∞ and is added. In this assignment a float mask "
        "means the same as a bool one: 0 forbids, everything else allows.",
        hint="Do bool and float masks take the same way through your code?",
        section="Mask",
        knobs={"masking": "float_added"},
        seen="rare",
    ),
    Misconception(
        id="mask_times_low_added",
        title="mask × -1e9 is added to the scores, which hides the keys that are allowed",
        explanation="Where the mask is 1 this adds -1e9, and 1 means *allowed*. So exactly the wrong keys are hidden.",
        hint="For a mask value of 1, and for 0, work out by hand what is added.",
        section="Mask",
        knobs={"masking": "times_low"},
        seen="common",
    ),
    Misconception(
        id="mask_times_infinity",
        title="(1 - mask) × -∞ is added to the scores, and 0 × ∞ is NaN",
        explanation="For an allowed key this is 0 × -∞, which is not 0 but NaN, and one NaN spoils its whole row. "
        "Choose between two values, instead of multiplying by infinity.",
        hint="What does Python give for 0 * float('-inf')?",
        section="Mask",
        knobs={"masking": "times_inf"},
    ),
    Misconception(
        id="masked_after_softmax",
        title="the weights are set to 0 after the softmax, and the rest is not brought back to a sum of 1",
        explanation="The softmax has already shared out the whole among all keys, forbidden ones included. Taking "
        "their shares away afterwards leaves rows that sum to less than 1. Masked before the softmax, the others "
        "share everything.",
        hint="What does a row of your weights sum to under a mask?",
        section="Mask",
        knobs={"masking": "after"},
    ),
    Misconception(
        id="weights_filled_low",
        title="the mask puts -∞ into the weights after the softmax instead of the scores before it",
        explanation="-∞ is meant for the softmax, which turns it into a weight of 0. After the softmax it stays, "
        "and the output becomes -∞ or NaN.",
        hint="In which order do masking and softmax come?",
        section="Mask",
        knobs={"masking": "after_low"},
    ),
    Misconception(
        id="output_before_mask",
        title="the output is mixed with weights from before the mask",
        explanation="The returned weights are masked, but the output is computed with others that still let "
        "forbidden keys through.",
        hint="Which variable goes into the last matrix product?",
        section="Mask",
        knobs={"mix": "unmasked"},
        seen="rare",
    ),
    Misconception(
        id="weights_before_mask",
        title="the returned weights are those from before the mask",
        explanation="The output is right, but the second value shows weights on forbidden keys. Whoever looks at "
        "them sees another attention than the one that was used.",
        hint="Which variable do you return as the weights?",
        section="Mask",
        knobs={"answered": "unmasked"},
        seen="rare",
    ),
    Misconception(
        id="mask_required",
        title="a call without a mask stops with an error, because there is no test for None",
        explanation="mask=None means that every query may look at every key. None can't be compared or filled in "
        "like a tensor, so that case needs a branch of its own.",
        hint="What does your code do with the mask when it is None?",
        section="Mask",
        knobs={"none_test": False},
        seen="common",
    ),
    Misconception(
        id="mask_truth_value",
        title="the mask itself is used as a condition, as in `if mask:`",
        explanation="A tensor of many numbers is neither true nor false, so Python stops. What you want to know is "
        "whether there is a mask at all.",
        hint="How does one ask whether a variable is None?",
        section="Mask",
        knobs={"truth_test": True},
        seen="common",
    ),
    Misconception(
        id="mask_tilde",
        title="~ is used on a mask that is not bool",
        explanation='~ means "not" for bool tensors only. On whole numbers it flips bits (~1 is -2), and on floats '
        "it stops with an error. The mask may be bool, int or float here, so turn it into a bool first, by "
        "comparing.",
        hint="Try your function with mask.float() and with mask.int().",
        section="Mask",
        knobs={"needs": "tilde"},
    ),
    Misconception(
        id="mask_needs_bool",
        title="the mask is handed to masked_fill as it is: it must be bool there, and True means hide",
        explanation="masked_fill fills where its mask is True, which are the allowed keys here, and it stops for "
        "int and float masks. Comparing the mask with 0 solves both.",
        hint="What does masked_fill want to know: where to look, or where to fill?",
        section="Mask",
        knobs={"needs": "masked_fill", "reads": "inverted"},
    ),
    Misconception(
        id="mask_where_bool",
        title="torch.where gets the mask as it is, which works for bool masks only",
        explanation="The condition of torch.where must be bool. The mask may also be int or float here, so make it "
        "a condition by comparing it.",
        hint="Try your function with mask.float() and with mask.int().",
        section="Mask",
        knobs={"needs": "where"},
    ),
    Misconception(
        id="mask_subtracted",
        title="the mask is subtracted from 1, which stops for bool masks",
        explanation="`1 - mask` is not defined for a bool tensor. The mask may be bool, int or float here: "
        "comparing it gives a bool in every case.",
        hint="Try your function with a bool mask.",
        section="Mask",
        knobs={"needs": "minus"},
    ),
    Misconception(
        id="mask_overwritten",
        title="the mask that was given is changed in place",
        explanation="The mask belongs to the caller, who will use it again, for instance in the next layer. An "
        "assignment such as mask[...] = ..., or a method whose name ends in _, changes the caller's tensor.",
        hint="Is the mask the same before and after the call?",
        section="Mask",
        knobs={"in_place": "mask filled"},
        also=({"in_place": "mask to bias"}, {"in_place": "mask inverted"}),
        seen="rare",
    ),
)

# --- softmax ---

SOFTMAX = (
    Misconception(
        id="softmax_over_queries",
        title="the softmax runs over the queries, the second last dimension",
        explanation="Then the columns sum to 1 instead of the rows: the queries compete for each key. Each *query* "
        "has one whole to share out among the keys, so the softmax runs over the last dimension.",
        hint="Which sums of your weights are 1: those over a row or over a column?",
        section="Softmax",
        knobs={"softmax": "queries"},
        seen="common",
    ),
    Misconception(
        id="softmax_over_dim_0",
        title="the softmax runs over dimension 0, which holds the batch",
        explanation="Then the sequences of a batch compete with each other, though they have nothing to do with one "
        "another. Each query has one whole to share out among its keys: the last dimension.",
        hint="Which sums of your weights are 1?",
        section="Softmax",
        knobs={"softmax": "dim_0"},
        seen="common",
    ),
    Misconception(
        id="softmax_over_dim_1",
        title="the softmax runs over dimension 1, which holds the heads",
        explanation="Then the heads compete with each other for each pair of positions. Each query has one whole to "
        "share out among its keys: the last dimension, however many there are.",
        hint="Which sums of your weights are 1?",
        section="Softmax",
        knobs={"softmax": "dim_1"},
        seen="common",
    ),
    Misconception(
        id="softmax_over_dim_2",
        title="the softmax runs over dimension 2, which is the last one only without heads",
        explanation="With (batch, positions, features) dimension 2 of the scores holds the keys. With heads it "
        "holds the queries. Counted from the end, the keys are always the last dimension.",
        hint="How can one name the last dimension, however many there are?",
        section="Softmax",
        knobs={"softmax": "dim_2"},
    ),
    Misconception(
        id="softmax_without_dim",
        title="the softmax is given no dimension, so that the library picks one",
        explanation="Without `dim` PyTorch guesses from the number of dimensions (and warns): the batch for three, "
        "the heads for four. It has to be the keys.",
        hint="Read the warning that the softmax prints.",
        section="Softmax",
        knobs={"softmax": "undimensioned"},
        seen="common",
    ),
    Misconception(
        id="softmax_over_matrix",
        title="the softmax runs over all pairs of queries and keys at once",
        explanation="Then all the weights of a head together sum to 1, and each query gets only a part of it. Each "
        "query has one whole of its own to share out.",
        hint="What does a single row of your weights sum to?",
        section="Softmax",
        knobs={"softmax": "matrix"},
    ),
    Misconception(
        id="softmax_over_everything",
        title="the weights are divided by the sum over the whole tensor",
        explanation="Then the weights of all sequences, heads and queries together sum to 1. Each query has one "
        "whole of its own to share out, so the sum must run over its keys only.",
        hint="Over which dimension do you sum? What does a row of your weights sum to?",
        section="Softmax",
        knobs={"softmax": "everything"},
    ),
    Misconception(
        id="no_softmax",
        title="there is no softmax: the scores are used as weights",
        explanation="Scores can be negative and sum to anything, so the output is no mean of the values. The "
        "softmax turns each row into positive shares that sum to 1.",
        hint="Are your weights positive, and do they sum to 1?",
        section="Softmax",
        knobs={"softmax": "none"},
        seen="rare",
    ),
    Misconception(
        id="log_softmax",
        title="the log-softmax is taken in place of the softmax",
        explanation="The log-softmax is the logarithm of the shares: all negative, and good for a loss. Mixing "
        "needs the shares themselves.",
        hint="Are your weights between 0 and 1?",
        section="Softmax",
        knobs={"softmax": "log"},
        seen="rare",
    ),
    Misconception(
        id="sigmoid",
        title="a sigmoid is taken in place of the softmax",
        explanation="The sigmoid treats each key by itself: the weights of a row sum to anything between 0 and the "
        "number of keys. The softmax makes the keys compete for one whole.",
        hint="What does a row of your weights sum to?",
        section="Softmax",
        knobs={"softmax": "sigmoid"},
        seen="rare",
    ),
    Misconception(
        id="tanh",
        title="tanh is taken in place of the softmax",
        explanation="tanh gives numbers between -1 and 1 that do not sum to 1, and negative ones subtract values. "
        "The softmax turns each row into positive shares.",
        hint="Are your weights positive, and do they sum to 1?",
        section="Softmax",
        knobs={"softmax": "tanh"},
        seen="rare",
    ),
    Misconception(
        id="relu",
        title="ReLU is taken in place of the softmax",
        explanation="ReLU sets negative scores to 0 and keeps the others as they are; they do not sum to 1. The "
        "softmax turns each row into shares of one whole.",
        hint="What does a row of your weights sum to?",
        section="Softmax",
        knobs={"softmax": "relu"},
        seen="rare",
    ),
    Misconception(
        id="exp_overflows",
        title="exponentials of large scores overflow, because nothing is subtracted first",
        explanation="e to the power 89 does not fit into float32: it becomes ∞, and ∞/∞ is NaN. Subtracting the "
        "same number from all scores of a row leaves the shares as they are; with the largest score subtracted, no "
        "power is above 1.",
        hint="Try scores of about 100. What does exp give?",
        section="Softmax",
        knobs={"shift": False},
    ),
    Misconception(
        id="not_normalised",
        title="the exponentials are not divided by their sum",
        explanation="e to the power of the scores makes them positive, but they do not sum to 1 yet. Without the "
        "division the output grows with the number of keys.",
        hint="What does a row of your weights sum to?",
        section="Softmax",
        knobs={"softmax": "powers"},
        also=({"softmax": "shifted_powers"},),
    ),
    Misconception(
        id="no_exponential",
        title="the scores are divided by their sum, without the exponential",
        explanation="Scores can be negative, so their sum can be close to 0 or negative, and so can the shares. The "
        "exponential makes them positive first.",
        hint="Are your weights all positive?",
        section="Softmax",
        knobs={"softmax": "linear"},
    ),
    Misconception(
        id="softmax_twice",
        title="the softmax is taken twice",
        explanation="The second softmax gets numbers between 0 and 1, so its shares are nearly equal, and a weight "
        "of 0 becomes a weight above 0: forbidden keys come back.",
        hint="How often does the softmax act between the scores and the output?",
        section="Softmax",
        knobs={"softmax": "twice"},
    ),
    Misconception(
        id="softmin",
        title="the softmax is taken of the negative scores",
        explanation="Then the key with the *lowest* score gets the largest weight, and masked keys get everything.",
        hint="Which key should get the largest weight?",
        section="Softmax",
        knobs={"softmax": "negated"},
        seen="rare",
    ),
    Misconception(
        id="hard_choice",
        title="all the weight goes to the key with the largest score",
        explanation="argmax picks one key and throws the others away, and no gradient gets through it. The softmax "
        "is its smooth form: the best key gets most, the others get their share.",
        hint="How many of the weights in a row are above 0?",
        section="Softmax",
        knobs={"softmax": "hardest"},
        seen="rare",
    ),
    Misconception(
        id="softmax_plus_one",
        title="1 is added to the sum by which the exponentials are divided",
        explanation="The rows then sum to less than 1, as if there were one more key with score 0 and no value. A "
        "guard against division by 0 must be far smaller than the sum.",
        hint="What does a row of your weights sum to?",
        section="Softmax",
        knobs={"softmax": "plus_one"},
        seen="rare",
    ),
    Misconception(
        id="powers_of_two",
        title="powers of 2 are taken in place of powers of e",
        explanation="2 to the power x is e to the power 0.693 x, so the choice is less sharp, as if the scores were "
        "scaled down by 0.693.",
        hint="Which base has the exponential function?",
        section="Softmax",
        knobs={"softmax": "base_2"},
        seen="rare",
    ),
    Misconception(
        id="sum_without_keepdim",
        title="the sum over the keys loses its dimension before the division",
        explanation="sum(-1) gives a tensor with one dimension less. Dividing by it lines the sums up with the "
        "wrong dimension: an error at best, wrong numbers when the sizes happen to agree. keepdim=True keeps a "
        "dimension of size 1 in its place.",
        hint="Compare the shapes on both sides of the division.",
        section="Softmax",
        knobs={"softmax": "no_keepdim"},
    ),
    Misconception(
        id="rows_of_length_one",
        title="each row of scores is divided by its length (F.normalize) in place of the softmax",
        explanation="Then the *squares* of a row sum to 1, and negative scores stay negative. The softmax makes "
        "shares that are positive and sum to 1.",
        hint="Are your weights positive, and do they sum to 1?",
        section="Softmax",
        knobs={"softmax": "length"},
        seen="rare",
    ),
    Misconception(
        id="weights_rounded",
        title="the weights are rounded",
        explanation="Rounding throws away all but a few digits, makes small weights 0, and lets no gradient "
        "through. Round only what you print.",
        hint="How many digits after the point do your weights have?",
        section="Softmax",
        knobs={"decimals": 4},
        also=({"decimals": 3}, {"decimals": 2}, {"decimals": 5}, {"decimals": 6}),
        seen="rare",
    ),
    Misconception(
        id="dropout_left_on",
        title="dropout sets some weights to 0 and enlarges the others",
        explanation="Dropout belongs to training only, and the task does not ask for it. It makes the result random "
        "and rows that do not sum to 1. F.dropout is on by default: it does not know whether the model is in "
        "training.",
        hint="Call your function twice with the same inputs. Is the answer the same?",
        section="Softmax",
        knobs={"dropout": True},
    ),
)

# --- mix and answer ---

MIX = (
    Misconception(
        id="mixes_keys",
        title="the keys are mixed instead of the values",
        explanation="Keys are for being found; what is handed out are the values. The output must be made of rows "
        "of V, and its last size is d_v.",
        hint="Which tensor stands in the last matrix product?",
        section="Mix",
        knobs={"mix": "K"},
    ),
    Misconception(
        id="mixes_queries",
        title="the queries are mixed instead of the values",
        explanation="What is handed out are the values. The output must be made of rows of V, and its last size is "
        "d_v.",
        hint="Which tensor stands in the last matrix product?",
        section="Mix",
        knobs={"mix": "Q"},
        seen="rare",
    ),
    Misconception(
        id="mix_transposed",
        title="the weights are transposed before they are multiplied by the values",
        explanation="Row i of the weights belongs to query i. Transposed, output i collects what all the queries "
        "gave to key i, with shares that do not sum to 1.",
        hint="Write the shapes of both factors beside each other, for different numbers of queries and keys.",
        section="Mix",
        knobs={"mix": "transposed"},
    ),
    Misconception(
        id="mixes_with_scores",
        title="the values are mixed with the scores instead of the weights",
        explanation="The returned weights are right, but the output is computed from what went *into* the softmax. "
        "Scores do not sum to 1, so that the output is no mean of the values.",
        hint="Which variable goes into the last matrix product?",
        section="Mix",
        knobs={"mix": "scores"},
    ),
    Misconception(
        id="plain_mean",
        title="each query gets the plain mean of all the values",
        explanation="The weights are not used: every query gets the same. Attention is a *weighted* mean, with the "
        "weights of the query's own row.",
        hint="Are the rows of your output all the same?",
        section="Mix",
        knobs={"mix": "mean"},
        seen="rare",
    ),
    Misconception(
        id="returns_values",
        title="the output is V itself",
        explanation='The weights are not used. In an einsum such as "bhqk,bhqd->bhqd" the letter k is summed in the '
        "weights alone, which gives 1, and V comes out unchanged.",
        hint="Compare your output with V.",
        section="Mix",
        knobs={"mix": "V itself"},
        seen="rare",
    ),
    Misconception(
        id="weights_summed_over_queries",
        title="the weights are summed over the queries before they meet the values",
        explanation='In an einsum such as "bhqk,bhkd->bhkd" the letter q is summed away. What is left is how much '
        "each key got from all queries together; but each query needs a row of its own.",
        hint="Which letter is missing after the arrow, and which one should be?",
        section="Mix",
        knobs={"mix": "summed"},
        seen="rare",
    ),
    Misconception(
        id="best_value_only",
        title="each query gets only the value of its best key",
        explanation="The weights are right, but the output picks one row of V by argmax. All keys should "
        "contribute, each with its weight, and argmax lets no gradient through.",
        hint="How many rows of V go into one row of the output?",
        section="Mix",
        knobs={"mix": "best"},
        seen="rare",
    ),
    Misconception(
        id="heads_merged",
        title="the heads are joined in the output",
        explanation="Joining the heads to (batch, positions, heads × d_v) is the last step of *multi-head* "
        "attention. This function keeps the leading dimensions as they came.",
        hint="Compare the shape of your output with the table in the handout.",
        section="Mix",
        knobs={"mix": "merged"},
    ),
    Misconception(
        id="heads_merged_without_transpose",
        title="the heads are joined in the output, without moving them beside the features first",
        explanation="reshape keeps the order in memory, so that numbers of different positions get mixed. And this "
        "function should not join the heads at all: it keeps the leading dimensions as they came.",
        hint="Compare the shape of your output with the table in the handout.",
        section="Mix",
        knobs={"mix": "merged badly"},
        seen="rare",
    ),
    Misconception(
        id="output_turned",
        title="the last two dimensions of the output are swapped",
        explanation="The output has a row for each query: (..., Tq, d_v). One transpose too many turned it round.",
        hint="Compare the shape of your output with the table in the handout.",
        section="Mix",
        knobs={"mix": "turned"},
        seen="rare",
    ),
    Misconception(
        id="returns_scores",
        title="the masked scores are returned where the weights are asked for",
        explanation="The output is right, but the second value is what went into the softmax. The weights are what "
        "came out of it: between 0 and 1, with a sum of 1 in each row.",
        hint="Which variable do you return as the weights?",
        section="Mix",
        knobs={"answered": "scores"},
        seen="common",
    ),
    Misconception(
        id="returns_raw_scores",
        title="the unscaled dot products are returned where the weights are asked for",
        explanation="The output is right, but the second value is the first thing that you computed. The weights "
        "are what comes out of the softmax.",
        hint="Which variable do you return as the weights?",
        section="Mix",
        knobs={"answered": "raw"},
        seen="rare",
    ),
    Misconception(
        id="returns_weights_transposed",
        title="the returned weights have their rows and columns swapped",
        explanation="The output is right, but in the second value the rows belong to the keys. Row i must hold the "
        "weights of query i.",
        hint="Compare the shape of your weights with the table in the handout, for Tq and Tk that differ.",
        section="Mix",
        knobs={"answered": "transposed"},
        seen="rare",
    ),
    Misconception(
        id="returns_head_mean",
        title="the mean over the heads is returned as the weights",
        explanation="Some libraries average the weights over the heads for display. Here each head keeps its own: "
        "the weights have the same leading dimensions as the inputs.",
        hint="Compare the shape of your weights with the table in the handout.",
        section="Mix",
        knobs={"answered": "head mean"},
        seen="rare",
    ),
    Misconception(
        id="loop_stops_early",
        title="the last query is left out",
        explanation="Its row stays 0. A loop over range(n) already ends with n - 1; range(n - 1) leaves one out.",
        hint="Look at the last row of your weights.",
        section="Mix",
        knobs={"skipped": "last query"},
        seen="rare",
    ),
    Misconception(
        id="loop_starts_late",
        title="the first query is left out",
        explanation="Its row stays 0. Positions are counted from 0, so a loop that starts at 1 leaves the first one "
        "out.",
        hint="Look at the first row of your weights.",
        section="Mix",
        knobs={"skipped": "first query"},
        seen="rare",
    ),
    Misconception(
        id="head_left_out",
        title="the last head is left out",
        explanation="Its weights and its output stay 0. A loop over range(n) already ends with n - 1.",
        hint="Look at the results of each head by itself.",
        section="Mix",
        knobs={"skipped": "last head"},
        seen="rare",
    ),
    Misconception(
        id="first_head_only",
        title="only the first head is computed",
        explanation="The results of all other heads stay 0. The operators used here treat all leading dimensions at "
        "once; no index into them is needed.",
        hint="Do you index into the heads, or return from inside a loop?",
        section="Mix",
        knobs={"skipped": "later heads"},
        seen="rare",
    ),
    Misconception(
        id="item_left_out",
        title="the last item of the batch is left out",
        explanation="Its weights and its output stay 0. A loop over range(n) already ends with n - 1.",
        hint="Look at the results of each item of the batch by itself.",
        section="Mix",
        knobs={"skipped": "last item"},
        seen="rare",
    ),
    Misconception(
        id="first_item_only",
        title="only the first item of the batch is computed",
        explanation="The results of all other items stay 0. The operators used here treat all leading dimensions at "
        "once; no index into them is needed.",
        hint="Do you index into the batch, or return from inside a loop?",
        section="Mix",
        knobs={"skipped": "later items"},
        seen="rare",
    ),
    Misconception(
        id="query_scaled_in_place",
        title="the queries that were given are divided in place",
        explanation="Q /= ... does not make a new tensor: it changes the caller's, who will use it again, and a "
        "second call with the same Q is scaled twice. It also stops with an error where Q needs a gradient.",
        hint="Is Q the same before and after the call?",
        section="Scale",
        knobs={"in_place": "queries"},
    ),
    Misconception(
        id="key_scaled_in_place",
        title="the keys that were given are divided in place",
        explanation="K /= ... does not make a new tensor: it changes the caller's, who will use it again, and a "
        "second call with the same K is scaled twice. It also stops with an error where K needs a gradient.",
        hint="Is K the same before and after the call?",
        section="Scale",
        knobs={"in_place": "keys"},
        seen="rare",
    ),
    Misconception(
        id="scores_detached",
        title="no gradient reaches the queries and the keys, because the scores are cut off from them",
        explanation=".detach(), .data, torch.no_grad() and torch.tensor(scores) make a tensor that has forgotten "
        "how it was computed. The numbers are right, but training could never improve the queries and keys.",
        hint="After a backward pass, is Q.grad None?",
        section="Mix",
        knobs={"cut": "scores"},
    ),
    Misconception(
        id="everything_detached",
        title="no gradient reaches any of the inputs",
        explanation=".detach(), .data, torch.no_grad() and torch.tensor(...) make a tensor that has forgotten how "
        "it was computed. The numbers are right, but nothing in front of this function could ever be trained.",
        hint="Does your output have requires_grad=True when the inputs have it?",
        section="Mix",
        knobs={"cut": "everything"},
    ),
    Misconception(
        id="mix_detached",
        title="no gradient gets from the output to the weights",
        explanation="The weights are cut off before they are mixed with the values, so that training on the output "
        "would change the values only.",
        hint="After a backward pass from the output alone, is Q.grad 0 or None?",
        section="Mix",
        knobs={"cut": "mix"},
        seen="rare",
    ),
    Misconception(
        id="returned_weights_detached",
        title="no gradient gets through the returned weights",
        explanation="The weights are cut off before they are returned. A loss that uses them, such as one that "
        "rewards sharp attention, could not train anything.",
        hint="Does the second value have requires_grad=True when the inputs have it?",
        section="Mix",
        knobs={"cut": "answered weights"},
        seen="rare",
    ),
    Misconception(
        id="keys_detached",
        title="no gradient reaches the keys",
        explanation="The keys are cut off from their history before they are used, so that training could never "
        "improve them.",
        hint="After a backward pass, is K.grad None?",
        section="Mix",
        knobs={"cut": "keys"},
        seen="rare",
    ),
    Misconception(
        id="values_detached",
        title="no gradient reaches the values",
        explanation="The values are cut off from their history before they are mixed, so that training could never "
        "improve them.",
        hint="After a backward pass, is V.grad None?",
        section="Mix",
        knobs={"cut": "values"},
        seen="rare",
    ),
)

# --- dtypes and devices ---

DEVICES = (
    Misconception(
        id="numpy_inside",
        title="NumPy is used inside, which can't hold gradients or tensors of an accelerator",
        explanation="NumPy works on the CPU and knows no gradients: .numpy() stops for a tensor that needs one or "
        "that stands on an accelerator. Every step of attention has an operator in PyTorch.",
        hint="Where do your tensors become arrays?",
        section="Devices",
        knobs={"cut": "numpy"},
    ),
    Misconception(
        id="made_on_cpu",
        title="a tensor is made on the CPU while the inputs are on an accelerator",
        explanation="torch.ones, torch.zeros, torch.full, torch.arange and torch.tensor make their result on the "
        "CPU unless they are told otherwise, and two devices can't be mixed in one operation.",
        hint="Which tensors do you create yourself, and on which device?",
        section="Devices",
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
        section="Devices",
        knobs={"answered_on": "cpu"},
        seen="rare",
    ),
    Misconception(
        id="computed_in_float16",
        title="the computation is done in float16",
        explanation="float16 keeps about three digits. It may be a way to save memory, but the precision that the "
        "inputs have is then lost.",
        hint="Which dtype have your scores?",
        section="Devices",
        knobs={"precision": "float16"},
        seen="rare",
    ),
    Misconception(
        id="computed_in_bfloat16",
        title="the computation is done in bfloat16",
        explanation="bfloat16 keeps about two digits. It may be a way to save memory, but the precision that the "
        "inputs have is then lost.",
        hint="Which dtype have your scores?",
        section="Devices",
        knobs={"precision": "bfloat16"},
        seen="rare",
    ),
    Misconception(
        id="computed_in_float32",
        title="the computation is done in float32 whatever the inputs are",
        explanation="With float64 inputs half of the digits are lost. Let the dtype of the inputs decide: the "
        "operators keep it by themselves.",
        hint="Which dtype have your scores when the inputs are float64?",
        section="Devices",
        knobs={"precision": "float32"},
        seen="rare",
    ),
    Misconception(
        id="answers_in_float32",
        title="the results are float32 whatever the inputs are",
        explanation="Results should have the dtype of the inputs: with float64 digits are lost, and with float16 "
        "the next layer stops because its dtypes differ.",
        hint="Which dtype have your results when the inputs are float64 or float16?",
        section="Devices",
        knobs={"answer_dtype": "float32"},
        also=({"answer_dtype": "float32", "precision": "float32"},),
        seen="rare",
    ),
)


# --- calls that tell ideas apart ---


def _inputs(
    lead: tuple[int, ...], tq: int, tk: int, dk: int, dv: int, seed: int, dtype: torch.dtype = torch.float64
) -> tuple[Tensor, Tensor, Tensor]:
    source = torch.Generator().manual_seed(seed)
    shapes = ((*lead, tq, dk), (*lead, tk, dk), (*lead, tk, dv))
    Q, K, V = (torch.randn(shape, generator=source, dtype=torch.float64).to(dtype) for shape in shapes)
    return Q, K, V


def probes() -> Sequence[Inputs]:
    """Small calls in which ideas differ that look alike in most others."""
    square = torch.ones(5, 5, dtype=torch.float64).tril()
    bands = torch.ones(4, 6, dtype=torch.bool).tril(1).triu(-1)
    empty = square.clone()
    empty[2] = 0
    padding = (torch.arange(6) < torch.tensor([[6], [4]])).reshape(2, 1, 1, 6)
    Q, K, V = _inputs((2, 3), 5, 5, 7, 4, 8)
    return (
        ((torch.zeros_like(Q), K, V), {}),  # all scores are 0, so that their scale and sign do not matter
        (_inputs((2, 3), 5, 5, 6, 4, 9), {}),  # as many queries as keys: no size is wrong
        (_inputs((2, 3), 4, 6, 7, 5, 1), {}),  # no mask
        ((*_inputs((2, 3), 5, 5, 6, 4, 2), square), {}),  # causal, as many queries as keys
        ((*_inputs((3,), 4, 6, 7, 5, 3), bands), {}),  # three dimensions
        ((*_inputs((2, 3), 5, 5, 6, 4, 4), empty), {}),  # a query without keys
        ((*_inputs((2, 3), 4, 6, 7, 5, 5), padding), {}),
        ((*_inputs((), 5, 5, 5, 5, 6), square), {}),  # two dimensions, all sizes equal
        ((*_inputs((2, 3), 5, 5, 16, 4, 7, torch.float32), square.bool()), {}),
    )


LOW = (-1e9, -1e4, -1e10, -1e20, -9e15, -1e8, -1e6, -1e5, -1e12, -1e30, -3.4028234663852886e38)

BANK = Bank(
    arguments=("Q", "K", "V", "mask"),
    returns=("output", "weights"),
    implementation=STEPS,
    misconceptions=(*SCORES, *SCALE, *MASK, *SOFTMAX, *MIX, *DEVICES),
    # A row without any key is NaN in the plain formula; with a finite fill, or set to 0, it is right as well.
    styles=(
        {"empty": "zero"},
        *({"low": low} for low in LOW),
        *({"low": low, "low_added": True} for low in LOW[:4]),
    ),
    probes=probes,
)
