"""What the loader found, held against the function that the assignment asks for. Nothing is called here."""

from __future__ import annotations

from grader.answers import where
from grader.entry import Entry, Found, Loaded
from grader.results import Place


def missing(loaded: Loaded, entry: Entry) -> str:
    """Why there is nothing to call, and what to write or rename."""
    wanted = f"{entry.function}({', '.join(entry.arguments)})"
    reasons = " ".join(dict.fromkeys(problem.message for problem in loaded.problems))
    for found in loaded.others:
        at = where(found.place)
        if found.kind != "function":
            return f"{not_a_function(found, entry)} {reasons}".strip()
        words = f"Your work has no function called {entry.function}, but one called {found.name}{at}. "
        return f"{words}Rename it: the checks call {wanted}. {reasons}".strip()
    if reasons:
        return f"{reasons} Because of that there is no function {wanted} to call."
    return f"Your work has no function called {entry.function}. Write it, with exactly this name: def {wanted}."


def not_a_function(found: Found, entry: Entry) -> str:
    """That a class or an object stands where a function should."""
    kind = "a class" if found.kind == "class" else "an object"
    wanted = f"{entry.function}({', '.join(entry.arguments)})"
    return (
        f"{found.name}{where(found.place)} is {kind}, but the checks call a plain function: def {wanted}. "
        "Move the body of its forward method into such a function, without self."
    )


def first_place(loaded: Loaded) -> Place | None:
    """Where to look when there is nothing to call."""
    places = [found.place for found in loaded.others] + [problem.place for problem in loaded.problems]
    return next((place for place in places if place is not None), None)


def misfits(found: Found, entry: Entry) -> list[str]:
    """What about the parameters will not fit the checks' calls. Says nothing where the parameters are not known."""
    parameters = found.parameters
    if any(name == "?" or name.startswith("*") for name in parameters if name != "*"):
        return []
    positional = parameters[: parameters.index("*")] if "*" in parameters else parameters
    own = [parameter.partition("=")[0].strip() for parameter in positional if parameter != "/"]
    optional = {parameter.partition("=")[0].strip() for parameter in parameters if "=" in parameter}
    wanted = [argument.partition("=")[0] for argument in entry.arguments]
    words = []
    after = [parameter.partition("=")[0] for parameter in parameters[len(positional) + 1 :]]
    by_name = [name for name in wanted[len(own) :] if name in after]
    missing = [argument for argument in entry.arguments[len(own) :] if argument.partition("=")[0] not in after]
    if missing:
        words.append(
            f"{found.name}() does not take all the arguments: {', '.join(missing)} is missing. Add it at the end."
        )
    if by_name:
        words.append(
            f"{found.name}() takes {', '.join(by_name)} only by name, because of the * before it, but the checks also "
            "give it by its place. Remove the *."
        )
    extra = [name for name in own[len(wanted) :] if name not in optional]
    if extra:
        words.append(
            f"{found.name}() also needs {', '.join(extra)}, which the checks do not give. "
            "Compute it inside the function."
        )
    for name, mine, default in zip(wanted, own, entry.arguments, strict=False):
        if "=" in default and mine not in optional:
            words.append(f"The argument {mine} can't be left out. Give it its default in the def line: {default}.")
        elif "=" in default and mine != name:
            words.append(f"The checks may give {name} by its name, but your function calls it {mine}. Rename it.")
    return words
