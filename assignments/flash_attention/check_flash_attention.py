"""The public checks of "Attention in blocks" in one file that needs nothing but torch.

    from check_flash_attention import check
    check(flash_attention)

A notebook shows the verdict with a picture, a terminal shows it as text. They are not the mark: the checks that
give the mark try more, and look at how large your tensors are.
"""

import html
import math
import traceback

import torch
import torch.nn.functional as F

HINTS = {
    "form": "End with: return output, lse",
    "shape": "The output is (..., Tq, d_v) and lse is (..., Tq), without a last dimension of 1.",
    "one": "With one block this is plain attention: scale the scores, and divide by the sum at the end.",
    "many": "When the maximum rises, both the sum and the output so far must be multiplied by exp(m_old - m_new).",
    "ragged": "The last block may be shorter than the others, but its keys count.",
    "lse": "lse is the maximum plus the logarithm of the sum.",
    "large": "Take the running maximum off the scores before the exponential; start it at minus infinity.",
}


def check(function):
    """Try the function on small random inputs; the verdict shows itself as a notebook cell's last value."""
    torch.manual_seed(2024)
    Q, K, V = torch.randn(2, 3, 5, 4), torch.randn(2, 3, 7, 4), torch.randn(2, 3, 7, 6)
    cases = [
        ("one block", Q, K, 7, "one"),
        ("blocks of one key", Q, K, 1, "many"),
        ("blocks of two keys, the last one shorter", Q, K, 2, "ragged"),
        ("a block size larger than the number of keys", Q, K, 9, "ragged"),
        ("large scores", 60 * Q, K, 2, "large"),
    ]
    done = []
    for words, queries, keys, block_size, hint in cases:
        problem = _try(function, queries, keys, V, block_size, HINTS[hint])
        if problem is not None:
            return Verdict(done, words, *problem)
        done.append(words)
    return Verdict(done)


def _try(function, Q, K, V, block_size, hint):
    """None when all is well, else (message, hint, your output, expected output) for the first problem."""
    expected = F.scaled_dot_product_attention(Q, K, V)
    lse = torch.logsumexp(Q @ K.mT / math.sqrt(Q.shape[-1]), -1)
    try:
        answer = function(Q.clone(), K.clone(), V.clone(), block_size)
    except NotImplementedError:
        return "The function is not written yet.", "Put your code in place of the line that raises the error."
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        return f"It stopped with {type(error).__name__}: {error}", f"The error comes from: {last.line or last.name}"
    if not isinstance(answer, tuple) or len(answer) != 2 or not all(isinstance(part, torch.Tensor) for part in answer):
        return f"It returned a {type(answer).__name__}, not the pair (output, lse).", HINTS["form"]
    for name, part, wanted in (("output", answer[0], expected), ("lse", answer[1], lse)):
        if part.shape != wanted.shape:
            return f"The shape of {name} is {tuple(part.shape)}, not {tuple(wanted.shape)}.", HINTS["shape"]
    if not torch.allclose(answer[0], expected, atol=1e-4):
        return (
            "The output differs from that of plain attention.",
            hint,
            answer[0][0, 0].tolist(),
            expected[0, 0].tolist(),
        )
    if not torch.allclose(answer[1], lse, atol=1e-4, rtol=1e-5):
        return "The output is right, but lse is not.", HINTS["lse"]
    return None


class Verdict:
    """What the public checks found: as text in a terminal, as a small page in a notebook."""

    def __init__(self, done, failed="", message="", hint="", yours=(), expected=()):
        self.done, self.failed, self.message, self.hint = done, failed, message, hint
        self.tables = [("your output", yours), ("expected", expected)] if yours else []

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
            text.append(f"{title} (first head; a row is a query):")
            text += ["  ".join(f"{value:5.2f}" for value in row) for row in table]
        return "\n".join(text)

    def _repr_html_(self):
        color = "#1a7f37" if self.passed else "#b35900"
        text = "<br>".join(html.escape(line) for line in self.lines())
        pictures = "".join(_picture(title, table) for title, table in self.tables)
        return f'<div style="border-left:4px solid {color};padding:4px 12px">{text}<div>{pictures}</div></div>'


def _picture(title, table):
    """A table of numbers as a picture: blue above 0, orange below, the stronger the further away."""
    rows = ""
    for row in table:
        rows += "<tr>"
        for value in row:
            strength = min(abs(value) / 2, 1.0) if value == value else 0.0
            rgb = "9,80,160" if value > 0 else "190,90,0"
            ink = "#fff" if strength > 0.55 else "#000"
            style = f"background:rgba({rgb},{strength:.2f});color:{ink};padding:4px 6px;text-align:right"
            rows += f'<td style="{style}">{value:.2f}</td>'
        rows += "</tr>"
    caption = f'<caption style="caption-side:top">{title} (row: query)</caption>'
    style = "display:inline-table;margin:8px 16px 0 0;font-size:12px;background:#fff"  # white on dark pages, too
    return f'<table style="{style}">{caption}{rows}</table>'
