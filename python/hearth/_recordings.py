"""What is prepared while hearth.prewarm goes on."""

going_on = []  # a list of (name, Function) for each call


def note(name, function):
    """A function was prepared."""
    for made in going_on:
        made.append((name, function))
    return function
