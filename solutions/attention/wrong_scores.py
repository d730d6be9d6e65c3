"""Wrong ideas about how queries and keys are compared. See misconceptions.py."""

from __future__ import annotations

from grader.misconception import Misconception

SCORES = (
    Misconception(
        id="scores_query_query",
        title="the queries are compared with the queries instead of the keys",
        explanation="Q Qᵀ tells how much each query resembles the other queries; the keys then play no part at all. "
        "Attention asks how well each query fits each *key*, so one of the two factors must come from K.",
        hint="Which two tensors go into the first matrix product?",
        section="1. Scores",
        knobs={"product": "QQ"},
    ),
    Misconception(
        id="scores_key_key",
        title="the keys are compared with the keys instead of the queries",
        explanation="K Kᵀ tells how much the keys resemble each other; what the queries ask for is ignored. "
        "Attention asks how well each *query* fits each key, so one of the two factors must come from Q.",
        hint="Which two tensors go into the first matrix product?",
        section="1. Scores",
        knobs={"product": "KK"},
        seen="rare",
    ),
    Misconception(
        id="scores_transposed",
        title="the scores are computed as K Qᵀ, with a row for each key",
        explanation="In K Qᵀ the rows are keys and the columns are queries. The softmax then runs over the queries, "
        "and each *key* shares itself out. Rows must be queries: query i, key j belongs at row i, column j.",
        hint="Which size should the second last dimension of the scores have: that of the queries or of the keys?",
        section="1. Scores",
        knobs={"product": "KQ"},
    ),
    Misconception(
        id="scores_query_value",
        title="the queries are compared with the values instead of the keys",
        explanation="Q Vᵀ compares a query with what a position gives away, not with what it offers to be found by. "
        "The keys decide *how much* is taken, the values decide *what* is taken.",
        hint="What are the three inputs for? Only two of them decide the weights.",
        section="1. Scores",
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
        section="1. Scores",
        knobs={"product": "reshaped"},
    ),
    Misconception(
        id="keys_not_transposed",
        title="the keys are not transposed before the product",
        explanation="A matrix product multiplies rows by columns. Only when each key is a *column* does it give the "
        "dot product of each query with each key. Without the transpose the sizes fit by accident, when there are "
        "as many keys as features.",
        hint="Write the shapes of both factors beside each other. Which two sizes must be equal, and why?",
        section="1. Scores",
        knobs={"product": "untransposed"},
    ),
    Misconception(
        id="keys_all_dimensions_reversed",
        title="all dimensions of the keys are reversed, as K.T does",
        explanation="K.T turns *all* the dimensions round: the batch comes last and the features come first. With a "
        "batch and heads in front, only the last two dimensions must change places.",
        hint="Print K.T.shape for a tensor with four dimensions.",
        section="1. Scores",
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
        section="1. Scores",
        knobs={"product": "transpose_1_2"},
        seen="common",
    ),
    Misconception(
        id="permute_0_2_1",
        title="the keys are permuted as if they had three dimensions",
        explanation="permute(0, 2, 1) names three dimensions, so it works for (batch, positions, features) only. "
        "Attention has to work with any leading dimensions, such as a batch and heads, or none.",
        hint="How can one swap the last two dimensions, however many there are?",
        section="1. Scores",
        knobs={"product": "permute_0_2_1"},
    ),
    Misconception(
        id="bmm",
        title="torch.bmm is used, which takes three dimensions only",
        explanation="bmm multiplies batches of matrices: exactly one dimension in front. With a batch *and* heads "
        "there are two. The operator @ (torch.matmul) takes any number of leading dimensions.",
        hint="Which matrix product works for any number of leading dimensions?",
        section="1. Scores",
        knobs={"product": "bmm"},
    ),
    Misconception(
        id="heads_as_positions",
        title="the heads attend to each other instead of the positions",
        explanation="Dimensions 1 (heads) and 2 (positions) are swapped before the product, so that at each "
        "position the heads are compared with one another. The inputs are already (batch, heads, positions, "
        "features): the positions must be compared, separately in each head.",
        hint="What do the rows and columns of your scores stand for? Look at their shape.",
        section="1. Scores",
        knobs={"product": "heads"},
        seen="rare",
    ),
    Misconception(
        id="heads_summed",
        title="the keys of all heads are added up, so that the heads are mixed",
        explanation="Each head must compare its own queries with its own keys. Where a dimension's letter appears "
        "in only one of the inputs of an einsum and not in the result, einsum sums over it: here over the heads.",
        hint="Follow the letter for the heads through your einsum, or the dimension through your product.",
        section="1. Scores",
        knobs={"product": "heads_summed"},
        seen="rare",
    ),
    Misconception(
        id="elementwise_product",
        title="queries and keys are multiplied element by element",
        explanation="Q * K pairs query i with key i only, and does not add up. The score of query i and key j is a "
        "dot product: multiply feature by feature, then sum, for *all* pairs i, j. A matrix product does that.",
        hint="What is the shape of the result of * and of @?",
        section="1. Scores",
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
        section="1. Scores",
        knobs={"product": "cosine"},
        seen="rare",
    ),
    Misconception(
        id="distance",
        title="queries and keys are compared by their squared distance instead of their dot product",
        explanation="The squared distance contains the lengths of query and key as well as their dot product. Long "
        "keys are far away from everything, so they lose weight that the dot product would give them.",
        hint="Which measure of likeness does the handout use?",
        section="1. Scores",
        knobs={"product": "distance"},
        seen="rare",
    ),
    Misconception(
        id="absolute_scores",
        title="the sign of the scores is dropped",
        explanation="A negative dot product means that the key points away from the query: it should get little "
        "weight. Without the sign it gets as much weight as one that fits.",
        hint="What does it mean when a dot product is negative?",
        section="1. Scores",
        knobs={"product": "absolute"},
        seen="rare",
    ),
)
