"""The kinds of crash that have words of their own, most special first. Nothing here knows an assignment."""

from __future__ import annotations

from grader.diagnosis.crash_kind import Kind
from grader.diagnosis.crash_masks import MASK_KINDS
from grader.diagnosis.crash_numbers import NUMBER_KINDS
from grader.diagnosis.crash_shapes import SHAPE_KINDS
from grader.sandbox.words import IMPORTS

KINDS: tuple[Kind, ...] = (
    Kind(
        id="crash_missing_import",
        family="name",
        types=("NameError",),
        message=rf"name '({'|'.join(IMPORTS)})' is not defined",
        title="an import is missing",
        explanation="The line uses a name that usually comes from an import, and the submitted work does not "
        "contain that import.",
        hint="Put the import at the top of the file you hand in: `{import}`. In a notebook, restart and run all cells.",
    ),
    Kind(
        id="crash_name",
        family="name",
        types=("NameError", "UnboundLocalError"),
        message=r"not defined|referenced before|not associated|free variable",
        title="a name is used that has no value there",
        explanation="Python knows a name only after a line has given it a value. Either the name is misspelt, or it "
        "is set in another function or in a branch that was not taken, or in a notebook cell that was not handed "
        "in.",
        hint="Restart and run everything from the top. Every value that the function needs should come in as an "
        "argument.",
    ),
    Kind(
        id="crash_stub",
        family="stub",
        types=("NotImplementedError",),
        title="the function is not written yet",
        explanation="The line that says `raise NotImplementedError` is still there.",
        hint="Replace that line with your solution.",
        line=r"raise\s+NotImplementedError",
    ),
    Kind(
        id="crash_dim_missing",
        family="arguments",
        types=("TypeError",),
        message=r"missing 1 required positional arguments: \"dim\"",
        title="the softmax is not told over which dimension to run",
        explanation="torch.softmax needs the dimension over which the shares sum to 1.",
        hint="Which dimension holds what each row shares itself out over?",
    ),
    Kind(
        id="crash_arguments",
        family="arguments",
        types=("TypeError",),
        message=r"missing \d+ required|positional arguments? but|unexpected keyword argument|multiple values for",
        title="a function is called with other arguments than it takes",
        explanation="The number or the names of the arguments in a call do not fit the function's definition.",
        hint="Compare the call with the definition of what it calls. Your own function takes {arguments}.",
    ),
    Kind(
        id="crash_truth_value",
        family="truth",
        types=("RuntimeError", "ValueError"),
        message=r"Boolean value of Tensor|truth value of an array",
        title="a tensor of many numbers is used as a condition",
        explanation="`if tensor:` asks whether the tensor is true. A tensor of many numbers has no single answer, "
        "so Python stops.",
        hint="To know whether an argument was given, write `if ... is not None:`.",
    ),
    Kind(
        id="crash_none",
        family="none",
        types=("AttributeError", "RuntimeError", "TypeError", "ValueError"),
        message=r"NoneType|\(bool, float\)|\(bool, int\)|not bool\b|arguments have invalid types: \(!bool",
        title="an argument that was left out (None) is used like a tensor",
        explanation="An optional argument is None when it is not given. None has no shape, and can't be compared "
        "with 0, added or filled in.",
        hint="Use the optional argument only inside `if ... is not None:`. And check that every function returns "
        "something.",
    ),
    *MASK_KINDS,
    *NUMBER_KINDS,
    Kind(
        id="crash_number_not_tensor",
        family="tensor wanted",
        types=("TypeError",),
        message=r"must be Tensor, not (int|float|torch\.Size|list|tuple)",
        title="a function of PyTorch gets a plain number where it needs a tensor",
        explanation="torch.sqrt, torch.exp and their like work on tensors. The size of a dimension is a plain "
        "number of Python.",
        hint="For a plain number use math.sqrt(...) or ** 0.5.",
    ),
    Kind(
        id="crash_array_not_tensor",
        family="tensor wanted",
        types=("TypeError", "ValueError"),
        message=r"not numpy|numpy\.ndarray|unsupported operand type\(s\) for .*(Tensor|ndarray)|__array_wrap__",
        title="tensors are mixed with values of another kind",
        explanation="Operations on tensors need tensors or plain numbers. NumPy arrays, lists and None are neither.",
        hint="Follow the values on that line back to where they are made, and print their type().",
    ),
    Kind(
        id="crash_hard_coded_device",
        family="device named",
        types=("AssertionError", "NotImplementedError", "RuntimeError"),
        message=(
            r"not compiled with CUDA|No CUDA GPUs|NVIDIA driver|asks for the device|CUDA driver|"
            r"not linked with support for|Torch not compiled"
        ),
        title="a certain device is written into the code",
        explanation='`.cuda()`, `.to("cuda")` and device="cuda" work only on a machine with such a device. The '
        "function should work wherever its inputs are.",
        hint="Make new tensors with device=Q.device (any input will do), and do not move the inputs.",
    ),
    Kind(
        id="crash_numpy_device",
        family="numpy device",
        types=("TypeError",),
        message=r"device type tensor to numpy",
        title="a tensor of an accelerator is turned into a NumPy array",
        explanation="NumPy works on the CPU only. With tensors on an accelerator .numpy() stops.",
        hint="Stay with tensors: the operations needed here exist in PyTorch.",
    ),
    Kind(
        id="crash_device",
        family="device",
        types=("RuntimeError",),
        message=r"same device|at least two devices|on the expected device|either on cpu or",
        title="tensors on two devices are combined",
        explanation="A tensor that the function makes itself is on the CPU unless it is told otherwise, while the "
        "inputs may be on an accelerator.",
        hint="Give torch.ones, torch.zeros, torch.arange, torch.full and torch.tensor the argument device=Q.device.",
    ),
    Kind(
        id="crash_numpy_gradient",
        family="numpy gradient",
        types=("RuntimeError",),
        message=r"Can't call numpy\(\)|requires grad. Use|\.detach\(\)\.numpy",
        title="a tensor that needs a gradient is turned into a NumPy array",
        explanation="NumPy can't record how a number was computed, so that no gradient would get through.",
        hint="Stay with tensors: the operations needed here exist in PyTorch.",
    ),
    Kind(
        id="crash_leaf",
        family="leaf",
        types=("RuntimeError",),
        message=r"leaf Variable|leaf variable|modified by an inplace|is a view and is being",
        title="a tensor that a gradient is wanted for is changed in place",
        explanation="+=, /=, assignments to parts of a tensor, and methods whose names end in _ change a tensor of "
        "somebody else's. Autograd needs its old numbers.",
        hint="Make a new tensor: write Q = Q / x rather than Q /= x.",
    ),
    Kind(
        id="crash_overlap",
        family="overlap",
        types=("RuntimeError",),
        message=r"refers to a single memory location",
        title="a tensor is changed in place whose numbers stand for several places at once",
        explanation="A tensor that was expanded or broadcast holds each number only once in memory, so that writing "
        "into one place would change others. +=, /=, assignments to parts of a tensor, and methods whose names end "
        "in _ write in place.",
        hint="Make a new tensor: write Q = Q / x rather than Q /= x.",
    ),
    *SHAPE_KINDS,
    Kind(
        id="crash_dtype",
        family="dtype",
        types=("NotImplementedError", "RuntimeError", "TypeError"),
        message=r"same dtype|scalar type|result type .* can't be cast|not implemented for|dtype",
        title="tensors of different dtypes are combined, or one that the operation can't take",
        explanation="A matrix product needs the same dtype on both sides, and a softmax needs floating point numbers.",
        hint="Make new tensors with dtype=Q.dtype, and do not change the dtype of the inputs.",
    ),
    Kind(
        id="crash_gradient_shape",
        family="gradient shape",
        types=("RuntimeError",),
        message=r"does not have the shape that its gradient|Mismatch in shape: grad_output",
        title="a returned value has another shape than it should",
        explanation="Its gradient is asked for in the shape that the handout promises, and that is not the shape of "
        "the value.",
        hint="Compare the shapes of what you return with the handout.",
    ),
    Kind(
        id="crash_no_gradient",
        family="gradient",
        types=("RuntimeError",),
        message=r"does not require grad|does not have a grad_fn|backward through the graph",
        title="the result has forgotten how it was computed",
        explanation=".detach(), .data, torch.no_grad() and torch.tensor(...) cut a tensor off from its history, so "
        "that no gradient reaches the inputs.",
        hint="Look for one of these on the way from the inputs to the result.",
    ),
    Kind(
        id="crash_call_form",
        family="arguments",
        types=("TypeError",),
        message=r"invalid combination of arguments|got an unexpected|argument .* must be|required positional",
        title="a function of PyTorch is called with arguments that it does not take",
        explanation="The kind or the order of the arguments is not the one that the function expects.",
        hint="Look the function up in the documentation, and compare its arguments with yours one by one.",
    ),
    Kind(
        id="crash_attribute",
        family="attribute",
        types=("AttributeError",),
        message=r"has no attribute",
        title="a function or attribute is used that does not exist there",
        explanation="The name is misspelt, or it belongs to another kind of object (a list or a number has no "
        ".shape, for instance).",
        hint="Check the spelling in the documentation, and print the type() of what stands before the dot.",
    ),
    Kind(
        id="crash_not_callable",
        family="callable",
        types=("TypeError",),
        message=r"not callable|not subscriptable",
        title="something is called or indexed that can't be",
        explanation="Round brackets call a function, square brackets pick an element. Often a variable has the name "
        "of a function and hides it, or an operator is missing between two brackets.",
        hint="Which name stands before the bracket, and what was assigned to it last?",
    ),
    Kind(
        id="crash_recursion",
        family="recursion",
        types=("RecursionError",),
        title="the function calls itself without end",
        explanation="Each call starts another one, until Python stops it.",
        hint="Does a name in the function stand for the function itself, where you meant another one?",
    ),
    Kind(
        id="crash_assert",
        family="assert",
        types=("AssertionError",),
        title="an assert in the submitted work does not hold",
        explanation="assert stops the function where its condition is false. The condition may be true for the inputs "
        "that you tried and false for others that are right as well.",
        hint="Read the condition on that line. For which shapes, dtypes and masks is it true?",
    ),
    Kind(
        id="crash_operands",
        family="operands",
        types=("TypeError",),
        message=r"unsupported operand type|bad operand type|not supported between instances",
        title="an operator stands beside a value that it does not work with",
        explanation="+, -, *, / and comparisons work on numbers and tensors. On the line one of the values is of "
        "another kind, such as a list, a text or a function.",
        hint="Print the type() of both values, and follow the wrong one back to where it is made.",
    ),
    Kind(
        id="crash_import",
        family="import",
        types=("ImportError", "ModuleNotFoundError"),
        title="a package is imported that is not there",
        explanation="Only PyTorch, NumPy and Python's own library are installed where the work is graded.",
        hint="Write the step with PyTorch's operations.",
    ),
)
