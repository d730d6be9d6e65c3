"""Wrong ideas about how scores become shares. See misconceptions.py."""

from __future__ import annotations

from grader.misconception import Misconception

SOFTMAX = (
    Misconception(
        id="softmax_over_queries",
        title="the softmax runs over the queries, the second last dimension",
        explanation="Then the columns sum to 1 instead of the rows: the queries compete for each key. Each *query* "
        "has one whole to share out among the keys, so the softmax runs over the last dimension.",
        hint="Which sums of your weights are 1: those over a row or over a column?",
        section="4. Softmax",
        knobs={"softmax": "queries"},
        seen="common",
    ),
    Misconception(
        id="softmax_over_dim_0",
        title="the softmax runs over dimension 0, which holds the batch",
        explanation="Then the sequences of a batch compete with each other, though they have nothing to do with one "
        "another. Each query has one whole to share out among its keys: the last dimension.",
        hint="Which sums of your weights are 1?",
        section="4. Softmax",
        knobs={"softmax": "dim_0"},
        seen="common",
    ),
    Misconception(
        id="softmax_over_dim_1",
        title="the softmax runs over dimension 1, which holds the heads",
        explanation="Then the heads compete with each other for each pair of positions. Each query has one whole to "
        "share out among its keys: the last dimension, however many there are.",
        hint="Which sums of your weights are 1?",
        section="4. Softmax",
        knobs={"softmax": "dim_1"},
        seen="common",
    ),
    Misconception(
        id="softmax_over_dim_2",
        title="the softmax runs over dimension 2, which is the last one only without heads",
        explanation="With (batch, positions, features) dimension 2 of the scores holds the keys. With heads it "
        "holds the queries. Counted from the end, the keys are always the last dimension.",
        hint="How can one name the last dimension, however many there are?",
        section="4. Softmax",
        knobs={"softmax": "dim_2"},
    ),
    Misconception(
        id="softmax_without_dim",
        title="the softmax is given no dimension, so that the library picks one",
        explanation="Without `dim` PyTorch guesses from the number of dimensions (and warns): the batch for three, "
        "the heads for four. It has to be the keys.",
        hint="Read the warning that the softmax prints.",
        section="4. Softmax",
        knobs={"softmax": "undimensioned"},
        seen="common",
    ),
    Misconception(
        id="softmax_over_matrix",
        title="the softmax runs over all pairs of queries and keys at once",
        explanation="Then all the weights of a head together sum to 1, and each query gets only a part of it. Each "
        "query has one whole of its own to share out.",
        hint="What does a single row of your weights sum to?",
        section="4. Softmax",
        knobs={"softmax": "matrix"},
    ),
    Misconception(
        id="softmax_over_everything",
        title="the weights are divided by the sum over the whole tensor",
        explanation="Then the weights of all sequences, heads and queries together sum to 1. Each query has one "
        "whole of its own to share out, so the sum must run over its keys only.",
        hint="Over which dimension do you sum? What does a row of your weights sum to?",
        section="4. Softmax",
        knobs={"softmax": "everything"},
    ),
    Misconception(
        id="no_softmax",
        title="there is no softmax: the scores are used as weights",
        explanation="Scores can be negative and sum to anything, so the output is no mean of the values. The "
        "softmax turns each row into positive shares that sum to 1.",
        hint="Are your weights positive, and do they sum to 1?",
        section="4. Softmax",
        knobs={"softmax": "none"},
        seen="rare",
    ),
    Misconception(
        id="log_softmax",
        title="the log-softmax is taken in place of the softmax",
        explanation="The log-softmax is the logarithm of the shares: all negative, and good for a loss. Mixing "
        "needs the shares themselves.",
        hint="Are your weights between 0 and 1?",
        section="4. Softmax",
        knobs={"softmax": "log"},
        seen="rare",
    ),
    Misconception(
        id="sigmoid",
        title="a sigmoid is taken in place of the softmax",
        explanation="The sigmoid treats each key by itself: the weights of a row sum to anything between 0 and the "
        "number of keys. The softmax makes the keys compete for one whole.",
        hint="What does a row of your weights sum to?",
        section="4. Softmax",
        knobs={"softmax": "sigmoid"},
        seen="rare",
    ),
    Misconception(
        id="tanh",
        title="tanh is taken in place of the softmax",
        explanation="tanh gives numbers between -1 and 1 that do not sum to 1, and negative ones subtract values. "
        "The softmax turns each row into positive shares.",
        hint="Are your weights positive, and do they sum to 1?",
        section="4. Softmax",
        knobs={"softmax": "tanh"},
        seen="rare",
    ),
    Misconception(
        id="relu",
        title="ReLU is taken in place of the softmax",
        explanation="ReLU sets negative scores to 0 and keeps the others as they are; they do not sum to 1. The "
        "softmax turns each row into shares of one whole.",
        hint="What does a row of your weights sum to?",
        section="4. Softmax",
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
        section="4. Softmax",
        knobs={"shift": False},
    ),
    Misconception(
        id="not_normalised",
        title="the exponentials are not divided by their sum",
        explanation="e to the power of the scores makes them positive, but they do not sum to 1 yet. Without the "
        "division the output grows with the number of keys.",
        hint="What does a row of your weights sum to?",
        section="4. Softmax",
        knobs={"softmax": "powers"},
        also=({"softmax": "shifted_powers"},),
    ),
    Misconception(
        id="no_exponential",
        title="the scores are divided by their sum, without the exponential",
        explanation="Scores can be negative, so their sum can be close to 0 or negative, and so can the shares. The "
        "exponential makes them positive first.",
        hint="Are your weights all positive?",
        section="4. Softmax",
        knobs={"softmax": "linear"},
    ),
    Misconception(
        id="softmax_twice",
        title="the softmax is taken twice",
        explanation="The second softmax gets numbers between 0 and 1, so its shares are nearly equal, and a weight "
        "of 0 becomes a weight above 0: forbidden keys come back.",
        hint="How often does the softmax act between the scores and the output?",
        section="4. Softmax",
        knobs={"softmax": "twice"},
    ),
    Misconception(
        id="softmin",
        title="the softmax is taken of the negative scores",
        explanation="Then the key with the *lowest* score gets the largest weight, and masked keys get everything.",
        hint="Which key should get the largest weight?",
        section="4. Softmax",
        knobs={"softmax": "negated"},
        seen="rare",
    ),
    Misconception(
        id="hard_choice",
        title="all the weight goes to the key with the largest score",
        explanation="argmax picks one key and throws the others away, and no gradient gets through it. The softmax "
        "is its smooth form: the best key gets most, the others get their share.",
        hint="How many of the weights in a row are above 0?",
        section="4. Softmax",
        knobs={"softmax": "hardest"},
        seen="rare",
    ),
    Misconception(
        id="softmax_plus_one",
        title="1 is added to the sum by which the exponentials are divided",
        explanation="The rows then sum to less than 1, as if there were one more key with score 0 and no value. A "
        "guard against division by 0 must be far smaller than the sum.",
        hint="What does a row of your weights sum to?",
        section="4. Softmax",
        knobs={"softmax": "plus_one"},
        seen="rare",
    ),
    Misconception(
        id="powers_of_two",
        title="powers of 2 are taken in place of powers of e",
        explanation="2 to the power x is e to the power 0.693 x, so the choice is less sharp, as if the scores were "
        "scaled down by 0.693.",
        hint="Which base has the exponential function?",
        section="4. Softmax",
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
        section="4. Softmax",
        knobs={"softmax": "no_keepdim"},
    ),
    Misconception(
        id="rows_of_length_one",
        title="each row of scores is divided by its length (F.normalize) in place of the softmax",
        explanation="Then the *squares* of a row sum to 1, and negative scores stay negative. The softmax makes "
        "shares that are positive and sum to 1.",
        hint="Are your weights positive, and do they sum to 1?",
        section="4. Softmax",
        knobs={"softmax": "length"},
        seen="rare",
    ),
    Misconception(
        id="weights_rounded",
        title="the weights are rounded",
        explanation="Rounding throws away all but a few digits, makes small weights 0, and lets no gradient "
        "through. Round only what you print.",
        hint="How many digits after the point do your weights have?",
        section="4. Softmax",
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
        section="4. Softmax",
        knobs={"dropout": True},
    ),
)
