"""What is known of columns before rows are read."""

from __future__ import annotations

import pickle

import pyarrow as pa

from minmargin.data.schema import Column, Schema, as_rows, schema_of


class CountedName(str):
    """A name that counts how often it is compared."""

    __slots__ = ()
    n_compared = 0

    def __eq__(self, other: object) -> bool:
        CountedName.n_compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def test_finding_every_column_takes_no_more_than_a_look_at_each() -> None:
    names = [CountedName(f"x{place}") for place in range(5_000)]
    schema = Schema(tuple(Column(name, "number", "Float64") for name in names))
    CountedName.n_compared = 0
    found = [schema.find(CountedName(name)) for name in names]
    assert CountedName.n_compared < 5 * len(names)  # by a search it would be half of 5,000 for each
    assert found == list(schema.columns or ())


def test_what_was_looked_up_does_not_change_a_schema() -> None:
    schema, same = (schema_of(as_rows(pa.table({"a": [1.0], "b": ["x"]}), "The pool")) for _ in range(2))
    assert schema.find("b") == Column("b", "text", "String")
    assert schema.find("c") is None
    assert schema.names == ("a", "b")
    assert schema == same
    assert pickle.loads(pickle.dumps(schema)) == same  # noqa: S301 - our own
    assert Schema(None, (3, 2)).find("a") is None


def test_types_that_tell_nothing_are_looked_into() -> None:
    table = pa.table(
        {"vector": [[1.0, 2.0], [3.0, 4.0]], "none": pa.array([None, None], pa.list_(pa.float64()))}
    )
    vector, none = schema_of(as_rows(table, "The pool")).columns or ()
    assert (vector.kind, vector.width) == ("embedding", 2)
    assert none.kind == "empty"
