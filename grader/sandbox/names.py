"""Which names a piece of code binds, changes and reads. Loading only what is needed rests on this.

Everything is read off the syntax tree; nothing runs. Where Python could only know at run time the answer errs
towards more reads, so that code which may be needed is loaded.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass
class Names:
    """What one scope does to names. Inner scopes are listed, not entered."""

    loads: set[str] = field(default_factory=set)
    stores: set[str] = field(default_factory=set)
    touches: set[str] = field(default_factory=set)
    """Names whose object is changed in place: `x[0] = 1`, `x.a = 1`, `x += 1`."""
    declared: set[str] = field(default_factory=set)
    """Named in a `global` statement."""
    inner: list[ast.AST] = field(default_factory=list)


def root(node: ast.AST) -> str:
    """The name at the start of `a.b[c].d`, or "" when it starts with something else."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Starred)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def children(node: ast.AST) -> Iterable[ast.AST]:
    """The nodes directly below; `ast.iter_child_nodes` at half its cost."""
    for value in node.__dict__.values():
        if isinstance(value, ast.AST):
            yield value
        elif isinstance(value, list):
            for item in value:
                if isinstance(item, ast.AST):
                    yield item


def scope(nodes: Iterable[ast.AST], *, annotations: bool = True, function: bool = False) -> Names:
    """The names of the scope that `nodes` are the body of.

    `annotations`: whether Python evaluates them at all; `function`: the scope is a function's, whose local
    variables' annotations it never evaluates.
    """
    names = Names()
    stack = list(nodes)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load):
                names.loads.add(node.id)
            elif function or isinstance(node.ctx, ast.Store):  # `del x` makes x local to a function, else binds nothing
                names.stores.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.stores.add(node.name)
            names.inner.append(node)
            stack.extend(_evaluated_outside(node, annotations))
        elif isinstance(node, ast.Lambda):
            names.inner.append(node)
            stack.extend(_defaults(node.args))
        elif isinstance(node, _COMPREHENSIONS):
            names.inner.append(node)
            stack.append(node.generators[0].iter)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names.stores.update(imported(node))
        elif isinstance(node, ast.Global):
            names.declared.update(node.names)
        else:
            if isinstance(node, ast.AnnAssign) and (function or not annotations):
                stack.extend([node.target, *([node.value] if node.value is not None else [])])
                continue
            if isinstance(node, (ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load):
                names.touches.add(root(node))
            elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                names.touches.add(node.target.id)
                names.loads.add(node.target.id)
            elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
                names.stores.add(node.name)
            elif isinstance(node, ast.MatchMapping) and node.rest:
                names.stores.add(node.rest)
            stack.extend(children(node))
    return names


def reads(nodes: Iterable[ast.AST], *, annotations: bool = True) -> set[str]:
    """Every global name that running `nodes`, or later calling what they define, may look up."""
    names = scope(nodes, annotations=annotations)
    found = set(names.loads)
    for inner in names.inner:
        found |= _free(inner, annotations)
    return found


def imported(node: ast.Import | ast.ImportFrom) -> set[str]:
    """The names that an import binds; a star binds "*"."""
    return {alias.asname or alias.name.partition(".")[0] for alias in node.names}


def _free(node: ast.AST, annotations: bool) -> set[str]:
    """The names that an inner scope looks up outside itself."""
    own: set[str] = set()
    if isinstance(node, ast.Lambda):
        names, own = scope([node.body], annotations=annotations), parameters(node.args)
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        names, own = scope(node.body, annotations=annotations, function=True), parameters(node.args)
    elif isinstance(node, ast.ClassDef):
        names = scope(node.body, annotations=annotations)
    else:
        names = scope(children(node), annotations=annotations)
    own = (own | names.stores) - names.declared
    found = names.loads - own
    # A class body's names are not visible inside its methods.
    hidden = set() if isinstance(node, ast.ClassDef) else own
    for inner in names.inner:
        found |= _free(inner, annotations) - hidden
    return found


def parameters(args: ast.arguments) -> set[str]:
    """The names of all parameters."""
    every = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
    return {arg.arg for arg in every if arg is not None}


def _defaults(args: ast.arguments) -> list[ast.AST]:
    return [*args.defaults, *(default for default in args.kw_defaults if default is not None)]


def _evaluated_outside(node: Function | ast.ClassDef, annotations: bool) -> list[ast.AST]:
    """What a definition evaluates in the scope around it: decorators, defaults, annotations, bases."""
    if isinstance(node, ast.ClassDef):
        return [*node.decorator_list, *node.bases, *node.keywords]
    args = node.args
    found = [*node.decorator_list, *_defaults(args)]
    if annotations:
        every = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
        found += [arg.annotation for arg in every if arg is not None and arg.annotation is not None]
        found += [node.returns] if node.returns is not None else []
    return found
