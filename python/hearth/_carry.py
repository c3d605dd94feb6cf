"""What a model carries from call to call: names of outputs and inputs, with patterns for the many of a language model."""

import re

from ._errors import CallError, Error, unknown_name
from ._inspect import inspect


def expand_carry(carry, path, data):
    """{"present.*": "past_key_values.*"} written out, by the names that the model's file has."""
    import os

    try:
        info = inspect(data if path is None else os.fsdecode(path))
    except Error:
        return carry  # said where the model is imported
    return expand(carry, [one.name for one in info.outputs], [one.name for one in info.inputs])


def expand(carry, outputs, inputs):
    """The pairs, each of names that there are."""
    made = {}
    for output, given in carry.items():
        for name in (output, given):
            if not isinstance(name, str):
                raise CallError(f"carry: {name!r} is no name; expected a str")
        if "*" not in output and "*" not in given:
            made[output] = given
            continue
        if output.count("*") != 1 or given.count("*") != 1:
            raise CallError(f"carry: {output!r}: {given!r}; expected one * in both, or in none")
        pattern = re.compile(re.escape(output).replace("\\*", "(.*)"), re.DOTALL)
        found = [(name, pattern.fullmatch(name)) for name in outputs]
        pairs = {name: given.replace("*", match[1]) for name, match in found if match}
        if not pairs:
            raise unknown_name(f"carry: no output is called like {output!r}", output, outputs)
        made.update(pairs)
    for output, given in made.items():
        if output not in outputs:
            raise unknown_name(f"carry: there is no output {output!r}", output, outputs)
        if given not in inputs:
            raise unknown_name(f"carry: there is no input {given!r}", given, inputs)
    return made
