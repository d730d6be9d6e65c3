"""Wrong ideas about which keys a query may look at. See misconceptions.py."""

from __future__ import annotations

import math

from grader.misconception import Misconception

MASK = (
    Misconception(
        id="mask_ignored",
        title="the mask is never applied",
        explanation="Queries look at keys that they must not see. The usual reason is `scores.masked_fill(...)` on "
        "a line of its own: it does not change scores, it returns a *new* tensor, and that one is lost.",
        hint="Where does the result of masking go?",
        section="3. Mask",
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
        section="3. Mask",
        knobs={"reads": "inverted"},
        seen="common",
    ),
    Misconception(
        id="mask_transposed",
        title="the mask is transposed: rows and columns are swapped",
        explanation="Row i of the mask belongs to query i, column j to key j. Transposed, a causal mask lets each "
        "position look at the future and hides the past.",
        hint="Which dimension of the mask belongs to the queries?",
        section="3. Mask",
        knobs={"reads": "transposed"},
        seen="rare",
    ),
    Misconception(
        id="mask_of_first_item",
        title="the mask of the first item of the batch is used for all of them",
        explanation="Each sequence of a batch has its own padding, so each needs its own mask. Taking mask[0] hides "
        "the wrong keys of all the others.",
        hint="Do you index into the mask?",
        section="3. Mask",
        knobs={"reads": "first item"},
        seen="rare",
    ),
    Misconception(
        id="mask_of_first_head",
        title="the mask of the first head is used for all heads",
        explanation="A mask may have a dimension for the heads, and then each head has its own. Broadcasting "
        "already handles a mask with one head.",
        hint="Do you index into the mask?",
        section="3. Mask",
        knobs={"reads": "first head"},
        seen="rare",
    ),
    Misconception(
        id="mask_of_first_query",
        title="the first row of the mask is used for all queries",
        explanation="Each query has its own row in the mask: with a causal mask the first query sees one key, the "
        "last one sees all. With the first row for all of them, everybody sees what the first may see.",
        hint="Do you index into the mask or reduce it?",
        section="3. Mask",
        knobs={"reads": "first row"},
        seen="rare",
    ),
    Misconception(
        id="mask_unsqueezed",
        title="a dimension is added to the mask in front of the heads, whatever its shape",
        explanation="The mask already broadcasts to the shape of the scores. One more dimension shifts the others "
        "by one place: rows are taken for heads, or the result gets five dimensions.",
        hint="Compare the shape of the mask with that of the scores, counted from the end.",
        section="3. Mask",
        knobs={"reads": "unsqueezed"},
    ),
    Misconception(
        id="mask_leaky",
        title="one key too many is let through: the one after each key that is allowed",
        explanation="The mask is off by one. With a causal mask each position sees one step into the future, which "
        "is just the word that it should predict.",
        hint="Test with three positions, and look at which weights are 0.",
        section="3. Mask",
        knobs={"reads": "leaky"},
        seen="rare",
    ),
    Misconception(
        id="own_causal_mask",
        title="a causal mask of its own is used in every call, whatever mask is given",
        explanation="The function must use the mask that it is given: none, padding, or any other. A built-in "
        "triangle passes every test with a causal mask and fails in every other use.",
        hint="Where does the mask that you apply come from?",
        section="3. Mask",
        knobs={"own": "causal"},
        seen="common",
    ),
    Misconception(
        id="own_causal_mask_if_given",
        title="a causal mask of its own is used whenever a mask is given",
        explanation="The mask that is given is taken as a switch, and its content is ignored. But it says *which* "
        "keys are allowed, and it need not be a triangle: padding masks are not.",
        hint="Do the numbers in the mask matter to your code?",
        section="3. Mask",
        knobs={"own": "causal", "own_when": "with mask"},
    ),
    Misconception(
        id="own_causal_mask_too",
        title="a causal mask is applied in addition to the mask that is given",
        explanation="Keys that the given mask allows are hidden when they come later in the sequence. The function "
        "must not add a rule of its own: an encoder, for instance, may look ahead.",
        hint="How many masks does your code apply?",
        section="3. Mask",
        knobs={"own": "causal", "own_when": "both"},
    ),
    Misconception(
        id="own_strict_mask",
        title="a causal mask of its own hides the diagonal as well",
        explanation="A position may look at itself: j <= i. With the diagonal hidden the first position sees "
        "nothing at all, which gives NaN. And the function should use the mask that it is given, not one of its "
        "own.",
        hint="Print your triangle for three positions: what stands on its diagonal?",
        section="3. Mask",
        knobs={"own": "strict"},
        also=({"own": "strict", "own_when": "with mask"}, {"own": "strict", "own_when": "both"}),
    ),
    Misconception(
        id="own_mask_ahead",
        title="a causal mask of its own lets each position see one step into the future",
        explanation="The triangle is off by one: j <= i + 1. Each position sees the next one, which is what it "
        "should predict. And the function should use the mask that it is given, not one of its own.",
        hint="Print your triangle for three positions: what stands just above its diagonal?",
        section="3. Mask",
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
        section="3. Mask",
        knobs={"own": "reversed"},
        also=({"own": "reversed", "own_when": "with mask"}, {"own": "reversed", "own_when": "both"}),
    ),
    Misconception(
        id="filled_with_zero",
        title="forbidden scores are set to 0 (or multiplied by the mask) before the softmax",
        explanation="e to the power 0 is 1, not 0. A forbidden key with score 0 still gets weight, often more than "
        "an allowed key with a negative score. Only -∞ gives a weight of exactly 0.",
        hint="What does the softmax make of the number that you put into forbidden places?",
        section="3. Mask",
        knobs={"fill": 0.0},
        seen="common",
    ),
    Misconception(
        id="filled_with_tiny",
        title="forbidden scores are set to a tiny number such as 1e-9 instead of a hugely negative one",
        explanation="1e-9 is almost 0, and e to the power 0 is 1. So the forbidden keys keep a full share. -1e9 was "
        "meant: the minus sign belongs in front of the number, not only into its exponent.",
        hint="Is the number that you fill in hugely negative or nearly 0? Print it.",
        section="3. Mask",
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
        section="3. Mask",
        knobs={"fill": -10.0},
        also=tuple({"fill": float(value)} for value in (-1, -2, -5, -20, -50, -100)),
    ),
    Misconception(
        id="filled_positive",
        title="forbidden scores are set to a hugely positive number",
        explanation="The largest score wins the softmax, so all the weight goes to the forbidden keys. A hugely "
        "*negative* number keeps them out.",
        hint="Look at the sign of the number that you fill in.",
        section="3. Mask",
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
        section="3. Mask",
        knobs={"masking": "added"},
        seen="common",
    ),
    Misconception(
        id="float_mask_added",
        title="a float mask is added to the scores, though it holds 0 and 1 here",
        explanation="In some libraries a float mask holds 0 and -∞ and is added. In this assignment a float mask "
        "means the same as a bool one: 0 forbids, everything else allows.",
        hint="Do bool and float masks take the same way through your code?",
        section="3. Mask",
        knobs={"masking": "float_added"},
        seen="rare",
    ),
    Misconception(
        id="mask_times_low_added",
        title="mask × -1e9 is added to the scores, which hides the keys that are allowed",
        explanation="Where the mask is 1 this adds -1e9, and 1 means *allowed*. So exactly the wrong keys are hidden.",
        hint="For a mask value of 1, and for 0, work out by hand what is added.",
        section="3. Mask",
        knobs={"masking": "times_low"},
        seen="common",
    ),
    Misconception(
        id="mask_times_infinity",
        title="(1 - mask) × -∞ is added to the scores, and 0 × ∞ is NaN",
        explanation="For an allowed key this is 0 × -∞, which is not 0 but NaN, and one NaN spoils its whole row. "
        "Choose between two values, instead of multiplying by infinity.",
        hint="What does Python give for 0 * float('-inf')?",
        section="3. Mask",
        knobs={"masking": "times_inf"},
    ),
    Misconception(
        id="masked_after_softmax",
        title="the weights are set to 0 after the softmax, and the rest is not brought back to a sum of 1",
        explanation="The softmax has already shared out the whole among all keys, forbidden ones included. Taking "
        "their shares away afterwards leaves rows that sum to less than 1. Masked before the softmax, the others "
        "share everything.",
        hint="What does a row of your weights sum to under a mask?",
        section="3. Mask",
        knobs={"masking": "after"},
    ),
    Misconception(
        id="weights_filled_low",
        title="the mask puts -∞ into the weights after the softmax instead of the scores before it",
        explanation="-∞ is meant for the softmax, which turns it into a weight of 0. After the softmax it stays, "
        "and the output becomes -∞ or NaN.",
        hint="In which order do masking and softmax come?",
        section="3. Mask",
        knobs={"masking": "after_low"},
    ),
    Misconception(
        id="output_before_mask",
        title="the output is mixed with weights from before the mask",
        explanation="The returned weights are masked, but the output is computed with others that still let "
        "forbidden keys through.",
        hint="Which variable goes into the last matrix product?",
        section="3. Mask",
        knobs={"mix": "unmasked"},
        seen="rare",
    ),
    Misconception(
        id="weights_before_mask",
        title="the returned weights are those from before the mask",
        explanation="The output is right, but the second value shows weights on forbidden keys. Whoever looks at "
        "them sees another attention than the one that was used.",
        hint="Which variable do you return as the weights?",
        section="3. Mask",
        knobs={"answered": "unmasked"},
        seen="rare",
    ),
    Misconception(
        id="mask_required",
        title="a call without a mask stops with an error, because there is no test for None",
        explanation="mask=None means that every query may look at every key. None can't be compared or filled in "
        "like a tensor, so that case needs a branch of its own.",
        hint="What does your code do with the mask when it is None?",
        section="3. Mask",
        knobs={"none_test": False},
        seen="common",
    ),
    Misconception(
        id="mask_truth_value",
        title="the mask itself is used as a condition, as in `if mask:`",
        explanation="A tensor of many numbers is neither true nor false, so Python stops. What you want to know is "
        "whether there is a mask at all.",
        hint="How does one ask whether a variable is None?",
        section="3. Mask",
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
        section="3. Mask",
        knobs={"needs": "tilde"},
    ),
    Misconception(
        id="mask_needs_bool",
        title="the mask is handed to masked_fill as it is: it must be bool there, and True means hide",
        explanation="masked_fill fills where its mask is True, which are the allowed keys here, and it stops for "
        "int and float masks. Comparing the mask with 0 solves both.",
        hint="What does masked_fill want to know: where to look, or where to fill?",
        section="3. Mask",
        knobs={"needs": "masked_fill", "reads": "inverted"},
    ),
    Misconception(
        id="mask_where_bool",
        title="torch.where gets the mask as it is, which works for bool masks only",
        explanation="The condition of torch.where must be bool. The mask may also be int or float here, so make it "
        "a condition by comparing it.",
        hint="Try your function with mask.float() and with mask.int().",
        section="3. Mask",
        knobs={"needs": "where"},
    ),
    Misconception(
        id="mask_subtracted",
        title="the mask is subtracted from 1, which stops for bool masks",
        explanation="`1 - mask` is not defined for a bool tensor. The mask may be bool, int or float here: "
        "comparing it gives a bool in every case.",
        hint="Try your function with a bool mask.",
        section="3. Mask",
        knobs={"needs": "minus"},
    ),
    Misconception(
        id="mask_overwritten",
        title="the mask that was given is changed in place",
        explanation="The mask belongs to the caller, who will use it again, for instance in the next layer. An "
        "assignment such as mask[...] = ..., or a method whose name ends in _, changes the caller's tensor.",
        hint="Is the mask the same before and after the call?",
        section="3. Mask",
        knobs={"in_place": "mask filled"},
        also=({"in_place": "mask to bias"}, {"in_place": "mask inverted"}),
        seen="rare",
    ),
)
