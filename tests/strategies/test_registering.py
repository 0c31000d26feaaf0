"""What a registration may say of a class of strategies, and what the class says itself."""

import pytest

import minmargin as mm
from minmargin.strategies import registry


class Lowest:
    """The lowest."""

    name, needs, probabilistic = "lowest-of-class", "base", False

    def shortlists(self, batch_size):
        return []

    def finish(self, shortlists, context):
        return shortlists[0]


@pytest.mark.parametrize("argument", [{"probabilistic": True}, {"explain": len}, {"screen": "margin"}])
def test_what_is_for_functions_is_refused_for_a_class(argument):
    with pytest.raises(mm.InputError) as error:
        mm.register_strategy("lowest-of-class", **argument)(Lowest)
    assert str(error.value) == (
        f"Strategy 'lowest-of-class' is a class, and {next(iter(argument))}= is for score functions. Make it a member "
        "of the class."
    )
    assert registry.entry_of("lowest-of-class") is None


def test_the_cost_of_a_class_goes_by_what_it_needs(monkeypatch):
    monkeypatch.setattr(registry, "_ENTRIES", dict(registry._ENTRIES))
    mm.register_strategy("lowest-of-class")(Lowest)
    assert registry.entry_of("lowest-of-class").cost == "one pass, one model a row"
