"""Records share their methods and behave like dataclasses."""

from dataclasses import field, replace

from segue.record import positional, record


@record
class Pair:
    left: int
    right: int = field(default=2, repr=False)


@positional
class Empty:
    pass


@positional
class Single:
    left: int


def test_they_are_equal_and_hashed_by_their_fields() -> None:
    assert Pair(left=1) == Pair(left=1, right=2) != Pair(left=1, right=3)
    assert len({Pair(left=1), Pair(left=1), replace(Pair(left=1), right=3)}) == 2
    assert Empty() == Empty()
    assert hash(Empty()) == hash(Empty())


def test_records_of_different_classes_are_not_equal() -> None:
    others: list[object] = [Pair(left=1), 1]
    assert Single(1) not in others


def test_a_field_without_repr_is_not_shown() -> None:
    assert repr(Pair(left=1)) == "Pair(left=1)"
    assert repr(Empty()) == "Empty()"
