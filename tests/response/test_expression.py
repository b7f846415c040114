"""Expressions as markers: what ``re`` finds, a partial match known, in linear time."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unbraid.response.expression import Expression, Unreadable

ATOMS = st.sampled_from(["a", "b", "x", "<", "[ab]", "[^a]", ".", r"\w", "[a-c]", r"\s", r"\S", "[^<\\]]"])


def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Sequences, choices, repetitions and groups of smaller expressions."""
    counts = st.sampled_from(["*", "+", "?", "*?", "+?", "??", "{1,2}", "{2}", "{0,3}?"])
    return st.one_of(
        st.lists(inner, min_size=2, max_size=3).map("".join),
        st.tuples(inner, inner).map(lambda two: f"(?:{two[0]}|{two[1]})"),
        st.tuples(inner, counts).map("(?:{0[0]}){0[1]}".format),
    )


PATTERNS = st.recursive(ATOMS, larger, max_leaves=6)


@given(
    st.tuples(PATTERNS, PATTERNS, st.sampled_from(["", "(?=a)", "(?:b|(?=x<))"])),
    st.text("abx<c\n]", max_size=14),
)
def test_the_match_is_that_of_re(parts: tuple[str, str, str], text: str) -> None:
    pattern = f"(?P<n>{parts[0]}){parts[1]}{parts[2]}"
    try:
        found = Expression(pattern)
    except Unreadable:
        return
    expected = re.compile(pattern, re.DOTALL).search(text)
    hit = found.search(text)
    if expected is None:
        assert hit is None
    else:
        assert hit is not None
        assert (hit.start, hit.end) == expected.span()
        assert hit.groups == {"n": expected.span("n")}
    for cut in range(len(text)):
        early = found.search(text[:cut], final=False)
        if early is None:
            assert hit is None or hit.start >= cut
        elif early.end is not None:
            assert early == hit
        else:
            assert hit is None or hit.start >= early.start


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(", "no regular expression"),
        (r"(?P<a>x)(?P=a)", "back-reference"),
        ("(?<=a)b", "look-behind"),
        ("(?!a)b", "negative"),
        ("(?=a)ab", "look-ahead"),
        ("^a", "anchor"),
        (r"a\b", "anchor"),
        ("(?i)a", "flags"),
        ("(?i:a)b", "flags"),
        ("a*", "empty text"),
        ("(?=a)", "empty text"),
        ("(?:a*)*b", "may be empty"),
        ("(?:a{99}){99}", "too many"),
    ],
)
def test_what_is_refused(pattern: str, reason: str) -> None:
    with pytest.raises(Unreadable, match=reason):
        Expression(pattern)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"(?:a|a)*b", "a" * 20_000),
        (r"\w+\w+\w+>", "a" * 20_000),
        (r"<p (?P<key>\w+)>(?P<value>.*?)</p>", "<p a>" * 10_000),
        (r"(?:x+x+)+y", "x" * 20_000),
    ],
)
def test_hostile_texts_end(pattern: str, text: str) -> None:
    assert Expression(pattern).search(text) is None
    assert Expression(pattern).search(text[:2000], final=False, most=64) is not None


def test_a_long_value_is_one_step() -> None:
    found = Expression(r"<p (?P<key>\w+)>(?P<value>.*?)\n(?:</p>|(?=<p ))")
    value = "x" * 2_000_000
    hits = found.matches(f"<p a>{value}\n<p b>c\n</p>")
    assert [hit.groups for hit in hits] == [
        {"key": (3, 4), "value": (5, 5 + len(value))},
        {"key": (len(value) + 9, len(value) + 10), "value": (len(value) + 11, len(value) + 12)},
    ]


@given(st.text("ab<>", max_size=30), st.sampled_from([r"\w+>", "(?:a|ab)+>", "<?[ab]+?<", "a.*b"]))
def test_a_bound_is_kept_wherever_the_search_begins(text: str, pattern: str) -> None:
    """A search that goes on from where a match was pending finds what one search finds."""
    found = Expression(pattern)
    whole = found.search(text, most=4)
    at = 0
    for end in range(len(text)):
        hit = found.search(text[:end], at, final=False, most=4)
        if hit is not None and hit.end is not None:
            assert hit == whole
            return
        at = hit.start if hit is not None else end
    assert found.search(text, at, most=4) == whole


def test_a_match_has_a_greatest_length() -> None:
    found = Expression("<[a-z]+>")
    assert found.search("<" + "a" * 100 + ">", most=50) is None
    hit = found.search("<" + "a" * 100 + "<b>", most=50)
    assert hit is not None
    assert (hit.start, hit.end) == (101, 104)


def test_plain_pieces() -> None:
    assert Expression(r" to=(?P<name>[^\s<]+)<\|channel\|>(?:a|b)").literals() == [" to=", "<|channel|>"]
