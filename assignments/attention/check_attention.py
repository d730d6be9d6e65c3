"""The public checks of "Self-attention from scratch" in one file that needs nothing but torch.

    from check_attention import check
    check(scaled_dot_product_attention)

A notebook shows the verdict with a picture, a terminal shows it as text. They are not the mark: the checks that
give the mark try more.
"""

import html
import traceback

import torch
import torch.nn.functional as F

HINTS = {
    "form": "End with: return output, weights",
    "shape": "The output is (..., Tq, d_v), the weights (..., Tq, Tk). Transpose K's last two dimensions.",
    "rows": "The softmax must run over the keys, the last dimension, and nothing may change the weights after it.",
    "zeros": "Before the softmax, put minus infinity where the mask is 0. Keep what masked_fill returns.",
    "numbers": "Divide the scores by the square root of d_k, the last dimension of Q, and mix V with the weights.",
}


def check(function):
    """Try `function(Q, K, V, mask=None)` on small random inputs; the verdict shows itself as a cell's last value."""
    torch.manual_seed(2024)
    Q, K, V = torch.randn(2, 3, 5, 4), torch.randn(2, 3, 6, 4), torch.randn(2, 3, 6, 7)
    padding = torch.ones(2, 1, 1, 6, dtype=torch.bool)
    padding[1, ..., 4:] = False  # the second sequence has only four words
    cases = [
        ("without a mask", None),
        ("with a causal mask", torch.ones(5, 6).tril()),
        ("with a padding mask", padding),
    ]
    done = []
    for words, mask in cases:
        problem = _try(function, Q, K, V, mask)
        if problem is not None:
            return Verdict(done, words, *problem)
        done.append(words)
    return Verdict(done)


def _try(function, Q, K, V, mask):
    """None when all is well, else (message, hint, your weights, expected weights, mask) for the first problem."""
    # the weights are what attention mixes out of an identity matrix
    allowed, identity = None if mask is None else mask.bool(), torch.eye(K.shape[-2]).expand(*K.shape[:-1], -1)
    pytorch, expected = (F.scaled_dot_product_attention(Q, K, X, attn_mask=allowed) for X in (V, identity))
    inputs = [None if tensor is None else tensor.clone() for tensor in (Q, K, V, mask)]
    try:
        answer = function(*inputs[:3]) if mask is None else function(*inputs)
    except NotImplementedError:
        return "The function is not written yet.", "Put your code in place of the line that raises the error."
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        return f"It stopped with {type(error).__name__}: {error}", f"The error comes from: {last.line or last.name}"
    if not isinstance(answer, tuple) or len(answer) != 2 or not all(isinstance(part, torch.Tensor) for part in answer):
        return f"It returned a {type(answer).__name__}, not the pair (output, weights).", HINTS["form"]
    output, weights = answer
    if output.shape == expected.shape and weights.shape == expected.shape[:-1] + V.shape[-1:]:
        return "It returned the weights first and the output second.", HINTS["form"]
    for name, part, shape in (("output", output, (2, 3, 5, 7)), ("weights", weights, (2, 3, 5, 6))):
        if tuple(part.shape) != shape:
            return f"The {name} has shape {tuple(part.shape)}, but should have {shape}.", HINTS["shape"]
    shown = (weights[0, 0].tolist(), expected[0, 0].tolist())
    if mask is not None:
        forbidden = (~mask.bool()).expand_as(weights)
        if bool((weights[forbidden] != 0).any()):
            item = 1 if mask.dim() == 4 else 0
            shown = (weights[item, 0].tolist(), expected[item, 0].tolist())
            return "A key that the mask forbids has a weight that is not 0.", HINTS["zeros"], *shown
    if not torch.allclose(weights.sum(-1), torch.ones(2, 3, 5), atol=1e-5):
        return "The weights of a query do not sum to 1.", HINTS["rows"], *shown
    if not torch.allclose(weights, expected, atol=1e-5):
        return "The weights differ from the expected ones.", HINTS["numbers"], *shown
    if not torch.allclose(output, pytorch, atol=1e-5):
        return "The weights are right, but the output is not PyTorch's.", "The output is the weights times V.", *shown
    if not all(
        before is None or torch.equal(before, after) for before, after in zip((Q, K, V, mask), inputs, strict=True)
    ):
        return "It changed one of its arguments.", "Avoid /=, +=, and names that end in _ on Q, K, V and the mask."
    return None


class Verdict:
    """What the public checks found: as text in a terminal, as a small page in a notebook."""

    def __init__(self, done, failed="", message="", hint="", yours=(), expected=()):
        self.done, self.failed, self.message, self.hint = done, failed, message, hint
        self.yours, self.expected = yours, expected

    @property
    def passed(self):
        return not self.failed

    def lines(self):
        yield from (f"right: {words}" for words in self.done)
        if self.passed:
            yield "All public checks passed. The checks that give the mark try more."
        else:
            yield f"not right: {self.failed}"
            yield f"{self.message}"
            yield f"Hint: {self.hint}"

    def __repr__(self):
        text = list(self.lines())
        for title, table in (("your weights", self.yours), ("expected", self.expected)):
            if table:
                text += [f"{title} (first head; a row is a query, a column a key):"]
                text += ["  ".join(f"{value:5.2f}" for value in row) for row in table]
        return "\n".join(text)

    def _repr_html_(self):
        color = "#1a7f37" if self.passed else "#b35900"
        text = "<br>".join(html.escape(line) for line in self.lines())
        tables = (("your weights", self.yours), ("expected", self.expected))
        pictures = "".join(_picture(title, table) for title, table in tables if table)
        return f'<div style="border-left:4px solid {color};padding:4px 12px">{text}<div>{pictures}</div></div>'


def _picture(title, table):
    """A table of numbers as a picture: the darker, the larger. The numbers stand in it for those who see no colours."""
    rows = ""
    for row in table:
        rows += "<tr>"
        for value in row:
            strength = min(max(value, 0.0), 1.0) if value == value else 0.0
            ink = "#fff" if strength > 0.55 else "#000"
            style = f"background:rgba(9,80,160,{strength:.2f});color:{ink};padding:4px 6px;text-align:right"
            rows += f'<td style="{style}">{value:.2f}</td>'
        rows += "</tr>"
    caption = f'<caption style="caption-side:top">{title} (row: query, column: key)</caption>'
    style = "display:inline-table;margin:8px 16px 0 0;font-size:12px;background:#fff"  # white on dark pages, too
    return f'<table style="{style}">{caption}{rows}</table>'
