"""The public checks of "Multi-head attention" in one file that needs nothing but torch.

    from check_multi_head_attention import check
    check(multi_head_attention)

A notebook shows the verdict with a picture, a terminal shows it as text. They are not the mark: the checks that
give the mark try more.
"""

import html
import traceback

import torch

HINTS = {
    "form": "End with: return output, weights",
    "shape": "The output is (B, Tq, E), the weights of all heads are (B, H, Tq, Tk).",
    "zeros": "Before the softmax, put minus infinity where the mask is 0. Keep what masked_fill returns.",
    "rows": "The softmax must run over the keys, the last dimension, and nothing may change the weights after it.",
    "weights": "Project with x @ W.T. Split the last dimension first, then swap. Divide by the root of one head's d_k.",
    "output": "Swap the heads back before you join them, then multiply with W_o.T.",
}


def check(function):
    """Try the function on small random inputs; the verdict shows itself as a notebook cell's last value."""
    torch.manual_seed(2024)
    heads, width = 2, 6
    library = torch.nn.MultiheadAttention(width, heads, bias=False, batch_first=True)
    matrices = [matrix.detach() for matrix in (*library.in_proj_weight.chunk(3), library.out_proj.weight)]
    x, context = torch.randn(2, 4, width), torch.randn(2, 5, width)
    padding = torch.ones(2, 1, 1, 5, dtype=torch.bool)
    padding[1, ..., 3:] = False  # the second context has only three words
    cases = [
        ("self-attention", x, x, None),
        ("self-attention with a causal mask", x, x, torch.ones(4, 4).tril()),
        ("cross-attention", x, context, None),
        ("cross-attention with a padding mask", x, context, padding),
    ]
    done = []
    for words, source, target, mask in cases:
        forbidden = None if mask is None else (mask == 0).expand(2, heads, 4, target.shape[1])
        flat = None if forbidden is None else forbidden.flatten(0, 1)
        with torch.no_grad():
            wanted = library(source, target, target, attn_mask=flat, average_attn_weights=False)
        inputs = [tensor.clone() for tensor in (source, target, *matrices)] + [heads]
        problem = _try(function, inputs, mask, forbidden, *wanted)
        if problem is not None:
            return Verdict(done, words, *problem)
        done.append(words)
    return Verdict(done)


def _try(function, inputs, mask, forbidden, output, weights):
    """None when all is well, else (message, hint, your weights, expected weights) for the first problem."""
    try:
        answer = function(*inputs) if mask is None else function(*inputs, mask)
    except NotImplementedError:
        return "The function is not written yet.", "Put your code in place of the line that raises the error."
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        return f"It stopped with {type(error).__name__}: {error}", f"The error comes from: {last.line or last.name}"
    if not isinstance(answer, tuple) or len(answer) != 2 or not all(isinstance(part, torch.Tensor) for part in answer):
        return f"It returned a {type(answer).__name__}, not the pair (output, weights).", HINTS["form"]
    for name, part, wanted in (("output", answer[0], output), ("weights tensor", answer[1], weights)):
        if part.shape != wanted.shape:
            return f"The {name} has shape {tuple(part.shape)}, not {tuple(wanted.shape)}.", HINTS["shape"]
    shown = (answer[1][-1, -1].tolist(), weights[-1, -1].tolist())
    if forbidden is not None and bool((answer[1][forbidden] != 0).any()):
        return "A key that the mask forbids has a weight that is not 0.", HINTS["zeros"], *shown
    if not torch.allclose(answer[1].sum(-1), torch.ones(weights.shape[:-1]), atol=1e-5):
        return "The weights of a query do not sum to 1.", HINTS["rows"], *shown
    if not torch.allclose(answer[1], weights, atol=1e-5):
        return "The weights differ from those of nn.MultiheadAttention.", HINTS["weights"], *shown
    if not torch.allclose(answer[0], output, atol=1e-5):
        return "The weights are right, but the output is not.", HINTS["output"]
    return None


class Verdict:
    """What the public checks found: as text in a terminal, as a small page in a notebook."""

    def __init__(self, done, failed="", message="", hint="", yours=(), expected=()):
        self.done, self.failed, self.message, self.hint = done, failed, message, hint
        self.tables = [("your weights", yours), ("expected", expected)] if yours else []

    @property
    def passed(self):
        return not self.failed

    def lines(self):
        yield from (f"right: {words}" for words in self.done)
        if self.passed:
            yield "All public checks passed. The checks that give the mark try more."
        else:
            yield from (f"not right: {self.failed}", self.message, f"Hint: {self.hint}")

    def __repr__(self):
        text = list(self.lines())
        for title, table in self.tables:
            text.append(f"{title} (last head; a row is a query, a column a key):")
            text += ["  ".join(f"{value:5.2f}" for value in row) for row in table]
        return "\n".join(text)

    def _repr_html_(self):
        color = "#1a7f37" if self.passed else "#b35900"
        text = "<br>".join(html.escape(line) for line in self.lines())
        pictures = "".join(_picture(title, table) for title, table in self.tables)
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
