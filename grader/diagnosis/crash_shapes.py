"""The kinds of crash in which shapes, dimensions or indices do not go together, most special first."""

from __future__ import annotations

from grader.diagnosis.crash_kind import Kind

SHAPES = (
    r"size of tensor|cannot be multiplied|Expected size for|Sizes of tensors must match|size mismatch|"
    r"must match the size|doesn't match the broadcast shape|broadcast with previously seen size|"
    r"inconsistent tensor size|shape mismatch|not aligned|could not be broadcast|same number of dimensions|"
    r"Expected .*batch|each tensor to be equal size|must match the existing size|mismatch in its core dimension"
)
"""Messages about sizes that do not go together."""

SHAPE_KINDS: tuple[Kind, ...] = (
    Kind(
        id="crash_bmm",
        family="bmm",
        types=("RuntimeError",),
        message=r"must be a 3D tensor|batch\d must be|3D tensor",
        title="torch.bmm is used on tensors that do not have exactly three dimensions",
        explanation="bmm multiplies batches of matrices: one dimension in front, no more and no less.",
        hint="The operator @ (torch.matmul) takes any number of leading dimensions.",
    ),
    Kind(
        id="crash_matrix",
        family="matrix",
        types=("RuntimeError",),
        message=r"must be a matrix|1D tensors expected|vector and vector expected",
        title="torch.mm or torch.dot is used on tensors with more dimensions than it takes",
        explanation="mm multiplies two matrices, and dot two rows of numbers: no dimension may come before them.",
        hint="The operator @ (torch.matmul) takes any number of leading dimensions.",
    ),
    Kind(
        id="crash_permute",
        family="permute",
        types=("RuntimeError", "ValueError"),
        message=r"permute|axes don't match",
        title="a permute names another number of dimensions than the tensor has",
        explanation="permute needs every dimension of the tensor exactly once. The number of leading dimensions may "
        "change.",
        hint="To swap the last two dimensions, name them from the end: -2 and -1.",
    ),
    Kind(
        id="crash_einsum",
        family="einsum",
        types=("RuntimeError", "ValueError"),
        message=r"number of subscripts|einsum.*dimensions|more dimensions than",
        title="an einsum names another number of dimensions than the tensor has",
        explanation="Each letter stands for one dimension. The number of leading dimensions may change.",
        hint='`...` stands for any number of leading dimensions, as in "...qd,...kd->...qk".',
    ),
    Kind(
        id="crash_einsum_letter",
        family="einsum",
        types=("RuntimeError", "ValueError"),
        message=r"output subscript|invalid subscript|subscript.* (does not appear|more than once)",
        title="the letters of an einsum do not go together",
        explanation="Each letter on the right of -> must stand on the left as well, and only once on the right.",
        hint="Write down what each letter stands for, and compare both sides of the arrow.",
    ),
    Kind(
        id="crash_unpacked_shape",
        family="unpacked",
        types=("ValueError",),
        message=r"values to unpack",
        title="a shape or a result is taken apart into a wrong number of values",
        explanation="`a, b, c = Q.shape` works for three dimensions only, and the number of leading dimensions may "
        "change.",
        hint="Ask for single sizes from the end: Q.size(-1), Q.size(-2).",
    ),
    Kind(
        id="crash_dimension",
        family="dimension",
        types=("IndexError",),
        message=r"Dimension out of range|too many indices|tuple index out of range|dimension specified as",
        title="a dimension is named that the tensor does not have",
        explanation="Dimensions are counted from 0, or from the end with -1. The number of leading dimensions may "
        "change.",
        hint="Count from the end: -1 and -2 are the last two dimensions of every tensor that has them.",
    ),
    Kind(
        id="crash_mask_index",
        family="index",
        types=("IndexError",),
        message=r"shape of the mask|boolean index did not match",
        title="a bool mask in square brackets has another shape than the tensor",
        explanation="In square brackets a mask is laid onto the dimensions from the front and is not broadcast. The "
        "mask may have fewer dimensions than the tensor, or sizes of 1.",
        hint="masked_fill and torch.where broadcast a mask. Or give it the tensor's shape: mask.expand_as(...).",
    ),
    Kind(
        id="crash_index",
        family="index",
        types=("IndexError", "KeyError"),
        message=r"out of bounds|out of range|",
        title="an index goes beyond the end",
        explanation="A dimension of size n has the indices 0 to n - 1. Sizes may differ: Tq from Tk, and d_k from d_v.",
        hint="Take the limits of loops from the tensor that is indexed, and check which dimension that is.",
    ),
    Kind(
        id="crash_all_reversed",
        family="shapes",
        types=("RuntimeError", "ValueError"),
        message=SHAPES,
        title="shapes do not fit, and .T is used on the line",
        explanation=".T turns *all* the dimensions round. With leading dimensions such as the batch, only the last "
        "two must swap.",
        hint="Name the two dimensions that should change places, counted from the end.",
        line=r"\.T\b|\.t\(\)",
    ),
    Kind(
        id="crash_transpose",
        family="shapes",
        types=("RuntimeError", "ValueError"),
        message=SHAPES,
        title="shapes do not fit, and dimensions that are counted from the front are swapped",
        explanation="Which dimension is number 1 or 2 depends on how many leading dimensions there are. Counted "
        "from the end, the last two are always -2 and -1.",
        hint="Print the shapes before and after the swap, for inputs with four dimensions.",
        line=r"(transpose|swapaxes|swapdims|permute|movedim)\([^)]*\b[0-3]\b *[,)]",
    ),
    Kind(
        id="crash_mask_shape",
        family="shapes",
        types=("RuntimeError", "ValueError"),
        message=SHAPES,
        title="the mask does not have a shape that fits the tensor which it is used on",
        explanation="A mask is broadcast: counted from the end, each of its sizes must be the tensor's or 1. "
        "masked_fill_ writes in place, so that it can't make the tensor larger either.",
        hint="Print both shapes. Is the mask applied to the tensor that you mean, and before or after a reshape?",
        line=r"masked_fill|\bwhere\(",
    ),
    Kind(
        id="crash_shapes",
        family="shapes",
        types=("RuntimeError", "ValueError"),
        message=SHAPES,
        title="the shapes of two tensors do not fit together",
        explanation="A matrix product needs as many columns on the left as there are rows on the right, and the "
        "dimensions in front must agree or be 1. Other operations need equal sizes, or 1, counted from the end.",
        hint="Print the shapes of all tensors on that line, and write beside each size what it stands for.",
    ),
    Kind(
        id="crash_view",
        family="view",
        types=("RuntimeError",),
        message=r"is invalid for input of size|only one dimension can be inferred|view size is not compatible|reshape",
        title="a view or reshape does not fit the tensor",
        explanation="view and reshape keep the number of elements, and view also needs them in order in memory, "
        "which they are not after a transpose.",
        hint="Do you want to cut the numbers anew (reshape), or to swap dimensions (transpose)?",
    ),
)
