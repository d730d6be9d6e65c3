"""Wrong ideas about the output, what is returned, and what is left behind. See misconceptions.py."""

from __future__ import annotations

from grader.misconception import Misconception

MIX = (
    Misconception(
        id="mixes_keys",
        title="the keys are mixed instead of the values",
        explanation="Keys are for being found; what is handed out are the values. The output must be made of rows "
        "of V, and its last size is d_v.",
        hint="Which tensor stands in the last matrix product?",
        section="5. Mix",
        knobs={"mix": "K"},
    ),
    Misconception(
        id="mixes_queries",
        title="the queries are mixed instead of the values",
        explanation="What is handed out are the values. The output must be made of rows of V, and its last size is "
        "d_v.",
        hint="Which tensor stands in the last matrix product?",
        section="5. Mix",
        knobs={"mix": "Q"},
        seen="rare",
    ),
    Misconception(
        id="mix_transposed",
        title="the weights are transposed before they are multiplied by the values",
        explanation="Row i of the weights belongs to query i. Transposed, output i collects what all the queries "
        "gave to key i, with shares that do not sum to 1.",
        hint="Write the shapes of both factors beside each other, for different numbers of queries and keys.",
        section="5. Mix",
        knobs={"mix": "transposed"},
    ),
    Misconception(
        id="mixes_with_scores",
        title="the values are mixed with the scores instead of the weights",
        explanation="The returned weights are right, but the output is computed from what went *into* the softmax. "
        "Scores do not sum to 1, so that the output is no mean of the values.",
        hint="Which variable goes into the last matrix product?",
        section="5. Mix",
        knobs={"mix": "scores"},
    ),
    Misconception(
        id="plain_mean",
        title="each query gets the plain mean of all the values",
        explanation="The weights are not used: every query gets the same. Attention is a *weighted* mean, with the "
        "weights of the query's own row.",
        hint="Are the rows of your output all the same?",
        section="5. Mix",
        knobs={"mix": "mean"},
        seen="rare",
    ),
    Misconception(
        id="returns_values",
        title="the output is V itself",
        explanation='The weights are not used. In an einsum such as "bhqk,bhqd->bhqd" the letter k is summed in the '
        "weights alone, which gives 1, and V comes out unchanged.",
        hint="Compare your output with V.",
        section="5. Mix",
        knobs={"mix": "V itself"},
        seen="rare",
    ),
    Misconception(
        id="weights_summed_over_queries",
        title="the weights are summed over the queries before they meet the values",
        explanation='In an einsum such as "bhqk,bhkd->bhkd" the letter q is summed away. What is left is how much '
        "each key got from all queries together; but each query needs a row of its own.",
        hint="Which letter is missing after the arrow, and which one should be?",
        section="5. Mix",
        knobs={"mix": "summed"},
        seen="rare",
    ),
    Misconception(
        id="best_value_only",
        title="each query gets only the value of its best key",
        explanation="The weights are right, but the output picks one row of V by argmax. All keys should "
        "contribute, each with its weight, and argmax lets no gradient through.",
        hint="How many rows of V go into one row of the output?",
        section="5. Mix",
        knobs={"mix": "best"},
        seen="rare",
    ),
    Misconception(
        id="heads_merged",
        title="the heads are joined in the output",
        explanation="Joining the heads to (batch, positions, heads × d_v) is the last step of *multi-head* "
        "attention. This function keeps the leading dimensions as they came.",
        hint="Compare the shape of your output with the table in the handout.",
        section="5. Mix",
        knobs={"mix": "merged"},
    ),
    Misconception(
        id="heads_merged_without_transpose",
        title="the heads are joined in the output, without moving them beside the features first",
        explanation="reshape keeps the order in memory, so that numbers of different positions get mixed. And this "
        "function should not join the heads at all: it keeps the leading dimensions as they came.",
        hint="Compare the shape of your output with the table in the handout.",
        section="5. Mix",
        knobs={"mix": "merged badly"},
        seen="rare",
    ),
    Misconception(
        id="output_turned",
        title="the last two dimensions of the output are swapped",
        explanation="The output has a row for each query: (..., Tq, d_v). One transpose too many turned it round.",
        hint="Compare the shape of your output with the table in the handout.",
        section="5. Mix",
        knobs={"mix": "turned"},
        seen="rare",
    ),
    Misconception(
        id="returns_scores",
        title="the masked scores are returned where the weights are asked for",
        explanation="The output is right, but the second value is what went into the softmax. The weights are what "
        "came out of it: between 0 and 1, with a sum of 1 in each row.",
        hint="Which variable do you return as the weights?",
        section="5. Mix",
        knobs={"answered": "scores"},
        seen="common",
    ),
    Misconception(
        id="returns_raw_scores",
        title="the unscaled dot products are returned where the weights are asked for",
        explanation="The output is right, but the second value is the first thing that you computed. The weights "
        "are what comes out of the softmax.",
        hint="Which variable do you return as the weights?",
        section="5. Mix",
        knobs={"answered": "raw"},
        seen="rare",
    ),
    Misconception(
        id="returns_weights_transposed",
        title="the returned weights have their rows and columns swapped",
        explanation="The output is right, but in the second value the rows belong to the keys. Row i must hold the "
        "weights of query i.",
        hint="Compare the shape of your weights with the table in the handout, for Tq and Tk that differ.",
        section="5. Mix",
        knobs={"answered": "transposed"},
        seen="rare",
    ),
    Misconception(
        id="returns_head_mean",
        title="the mean over the heads is returned as the weights",
        explanation="Some libraries average the weights over the heads for display. Here each head keeps its own: "
        "the weights have the same leading dimensions as the inputs.",
        hint="Compare the shape of your weights with the table in the handout.",
        section="5. Mix",
        knobs={"answered": "head mean"},
        seen="rare",
    ),
    Misconception(
        id="loop_stops_early",
        title="the last query is left out",
        explanation="Its row stays 0. A loop over range(n) already ends with n - 1; range(n - 1) leaves one out.",
        hint="Look at the last row of your weights.",
        section="5. Mix",
        knobs={"skipped": "last query"},
        seen="rare",
    ),
    Misconception(
        id="loop_starts_late",
        title="the first query is left out",
        explanation="Its row stays 0. Positions are counted from 0, so a loop that starts at 1 leaves the first one "
        "out.",
        hint="Look at the first row of your weights.",
        section="5. Mix",
        knobs={"skipped": "first query"},
        seen="rare",
    ),
    Misconception(
        id="head_left_out",
        title="the last head is left out",
        explanation="Its weights and its output stay 0. A loop over range(n) already ends with n - 1.",
        hint="Look at the results of each head by itself.",
        section="5. Mix",
        knobs={"skipped": "last head"},
        seen="rare",
    ),
    Misconception(
        id="first_head_only",
        title="only the first head is computed",
        explanation="The results of all other heads stay 0. The operators used here treat all leading dimensions at "
        "once; no index into them is needed.",
        hint="Do you index into the heads, or return from inside a loop?",
        section="5. Mix",
        knobs={"skipped": "later heads"},
        seen="rare",
    ),
    Misconception(
        id="item_left_out",
        title="the last item of the batch is left out",
        explanation="Its weights and its output stay 0. A loop over range(n) already ends with n - 1.",
        hint="Look at the results of each item of the batch by itself.",
        section="5. Mix",
        knobs={"skipped": "last item"},
        seen="rare",
    ),
    Misconception(
        id="first_item_only",
        title="only the first item of the batch is computed",
        explanation="The results of all other items stay 0. The operators used here treat all leading dimensions at "
        "once; no index into them is needed.",
        hint="Do you index into the batch, or return from inside a loop?",
        section="5. Mix",
        knobs={"skipped": "later items"},
        seen="rare",
    ),
    Misconception(
        id="query_scaled_in_place",
        title="the queries that were given are divided in place",
        explanation="Q /= ... does not make a new tensor: it changes the caller's, who will use it again, and a "
        "second call with the same Q is scaled twice. It also stops with an error where Q needs a gradient.",
        hint="Is Q the same before and after the call?",
        section="2. Scale",
        knobs={"in_place": "queries"},
    ),
    Misconception(
        id="key_scaled_in_place",
        title="the keys that were given are divided in place",
        explanation="K /= ... does not make a new tensor: it changes the caller's, who will use it again, and a "
        "second call with the same K is scaled twice. It also stops with an error where K needs a gradient.",
        hint="Is K the same before and after the call?",
        section="2. Scale",
        knobs={"in_place": "keys"},
        seen="rare",
    ),
    Misconception(
        id="scores_detached",
        title="no gradient reaches the queries and the keys, because the scores are cut off from them",
        explanation=".detach(), .data, torch.no_grad() and torch.tensor(scores) make a tensor that has forgotten "
        "how it was computed. The numbers are right, but training could never improve the queries and keys.",
        hint="After a backward pass, is Q.grad None?",
        section="5. Mix",
        knobs={"cut": "scores"},
    ),
    Misconception(
        id="everything_detached",
        title="no gradient reaches any of the inputs",
        explanation=".detach(), .data, torch.no_grad() and torch.tensor(...) make a tensor that has forgotten how "
        "it was computed. The numbers are right, but nothing in front of this function could ever be trained.",
        hint="Does your output have requires_grad=True when the inputs have it?",
        section="5. Mix",
        knobs={"cut": "everything"},
    ),
    Misconception(
        id="mix_detached",
        title="no gradient gets from the output to the weights",
        explanation="The weights are cut off before they are mixed with the values, so that training on the output "
        "would change the values only.",
        hint="After a backward pass from the output alone, is Q.grad 0 or None?",
        section="5. Mix",
        knobs={"cut": "mix"},
        seen="rare",
    ),
    Misconception(
        id="returned_weights_detached",
        title="no gradient gets through the returned weights",
        explanation="The weights are cut off before they are returned. A loss that uses them, such as one that "
        "rewards sharp attention, could not train anything.",
        hint="Does the second value have requires_grad=True when the inputs have it?",
        section="5. Mix",
        knobs={"cut": "answered weights"},
        seen="rare",
    ),
    Misconception(
        id="keys_detached",
        title="no gradient reaches the keys",
        explanation="The keys are cut off from their history before they are used, so that training could never "
        "improve them.",
        hint="After a backward pass, is K.grad None?",
        section="5. Mix",
        knobs={"cut": "keys"},
        seen="rare",
    ),
    Misconception(
        id="values_detached",
        title="no gradient reaches the values",
        explanation="The values are cut off from their history before they are mixed, so that training could never "
        "improve them.",
        hint="After a backward pass, is V.grad None?",
        section="5. Mix",
        knobs={"cut": "values"},
        seen="rare",
    ),
)
