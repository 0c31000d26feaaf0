"""Where bits matter, nothing is computed whose last bit is another machine's business."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import minmargin as mm

SOURCE = Path(mm.__file__).parent
WHERE_BITS_MATTER = sorted(
    {
        SOURCE / "margins.py",
        SOURCE / "compute" / "apart.py",
        SOURCE / "compute" / "cpu" / "apart.py",
        SOURCE / "compute" / "kernels.py",
        SOURCE / "compute" / "networks" / "forward.py",
        *(SOURCE / "strategies").glob("*.py"),
        *(SOURCE / "compute").glob("canonical*.py"),
    }
)

FROM_LIBM = {
    *(
        "exp",
        "exp2",
        "expm1",
        "log",
        "log2",
        "log10",
        "log1p",
        "logaddexp",
        "logaddexp2",
        "pow",
        "power",
        "float_power",
    ),
    *(
        "sin",
        "cos",
        "tan",
        "sinh",
        "cosh",
        "tanh",
        "arcsin",
        "arccos",
        "arctan",
        "arctan2",
        "arcsinh",
        "arccosh",
    ),
    *(
        "arctanh",
        "cbrt",
        "hypot",
        "softmax",
        "log_softmax",
        "logsumexp",
        "expit",
        "logit",
        "entropy",
        "xlogy",
        "entr",
    ),
}
WITHOUT_ORDER = {
    *("sum", "nansum", "mean", "nanmean", "average", "var", "std", "prod", "cumsum", "dot", "vdot", "inner"),
    *("matmul", "einsum", "tensordot", "norm", "trace", "fsum"),
}
LIBRARIES = {"np", "numpy", "math", "special", "scipy", "stats"}


def complaints(code):
    """Return what some code computes that may differ from one machine to the next, and what to use instead."""
    lines = code.splitlines()
    for node in ast.walk(ast.parse(code)):
        name = root = ""
        if isinstance(node, ast.Attribute):
            name = node.attr
            root = node.value.id if isinstance(node.value, ast.Name) else ""
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in LIBRARIES:
            yield from (
                f"line {node.lineno}: {reason}" for each in node.names if (reason := why_not(each.name))
            )
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "sum":
            name = "sum"
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            name = "matmul"
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
            whole = isinstance(node.right, ast.Constant) and node.right.value == 2
            name = "" if whole else "power"
        if name in WITHOUT_ORDER and "# whole numbers" in lines[node.lineno - 1]:
            continue
        if name in WITHOUT_ORDER or (name in FROM_LIBM and (root in LIBRARIES or name == "power")):
            yield f"line {node.lineno}: {why_not(name)}"


def why_not(name):
    if name in FROM_LIBM:
        return (
            f"{name} is libm's, and its last bit differs from one CPU to the next. Use margins.exp_nonpositive, "
            "margins.log, or + - * / and the square root, which are exactly rounded everywhere."
        )
    if name in WITHOUT_ORDER:
        return (
            f"{name} adds in an order of its own, which differs from one machine to the next. Add in a loop over "
            "members or classes, as margins.ordered_mean does; sums of integers are marked '# whole numbers'."
        )
    return ""


@pytest.mark.parametrize("path", WHERE_BITS_MATTER, ids=lambda path: str(path.relative_to(SOURCE)))
def test_only_what_is_exactly_rounded_and_in_order_is_used_where_bits_matter(path):
    found = list(complaints(path.read_text()))
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "code",
    [
        "np.log(p)",
        "numpy.exp(x)",
        "math.exp(x)",
        "np.log1p(x)",
        "from math import log",
        "from scipy.special import softmax",
        "scores.sum(axis=1)",
        "np.mean(scores, axis=0)",
        "np.linalg.norm(x)",
        "sum(values)",
        "X @ w",
        "x**0.5",
    ],
)
def test_what_may_differ_is_found(code):
    assert len(list(complaints(code))) == 1


@pytest.mark.parametrize(
    "code", ["margins.log(p)", "np.sqrt(x)", "x**2", "math.sqrt(x)", "scores.max(axis=1)", "log(p)"]
)
def test_what_is_the_same_everywhere_may_be_used(code):
    assert not list(complaints(code))
