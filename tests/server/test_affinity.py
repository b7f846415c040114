"""The key of a conversation."""

from __future__ import annotations

import copy

from unbraid.server.affinity import affinity_of

from .helpers import TIME, WEATHER

SYSTEM = {"role": "system", "content": "Be brief."}
HELLO = {"role": "user", "content": "Hello"}
FIRST = [SYSTEM, HELLO]
LATER = [*FIRST, {"role": "assistant", "content": "Hi."}, {"role": "user", "content": "And now?"}]


def test_the_turns_of_a_conversation_have_one_key() -> None:
    assert affinity_of(FIRST, [WEATHER]) == affinity_of(LATER, [WEATHER])
    assert len(affinity_of(FIRST)) == 32
    int(affinity_of(FIRST), 16)


def test_what_a_prompt_begins_with_makes_the_key() -> None:
    keys = [
        affinity_of(FIRST),
        affinity_of([HELLO]),
        affinity_of([{**SYSTEM, "content": "Be long."}, HELLO]),
        affinity_of([SYSTEM, {**HELLO, "content": "Hello!"}]),
        affinity_of([{**SYSTEM, "role": "developer"}, HELLO]),
        affinity_of(FIRST, [WEATHER]),
        affinity_of(FIRST, [WEATHER, TIME]),
        affinity_of(FIRST, [TIME, WEATHER]),
        affinity_of(FIRST, user="one"),
        affinity_of(FIRST, user="two"),
        affinity_of([]),
    ]
    assert len(set(keys)) == len(keys)


def test_the_clients_own_key_stands_alone() -> None:
    assert affinity_of(FIRST, prompt_cache_key="a") == affinity_of([HELLO], [TIME], prompt_cache_key="a")
    assert affinity_of(FIRST, prompt_cache_key="a") != affinity_of(FIRST, prompt_cache_key="b")
    assert affinity_of(FIRST, prompt_cache_key="") != affinity_of(FIRST)


def test_any_json_is_taken_and_nothing_is_changed() -> None:
    parts = [{"role": "user", "content": [{"type": "text", "text": "Grüße \ud800"}]}, {"role": "user"}]
    tools = [{"function": {"b": 1, "a": [None, 2.5]}}, {"function": {"a": [None, 2.5], "b": 1}}]
    before = copy.deepcopy((parts, tools))
    assert affinity_of(parts, tools[:1]) == affinity_of(parts, tools[1:]), "the order of keys is none"
    assert affinity_of([{"role": "user", "content": None}]) != affinity_of(parts)
    assert (parts, tools) == before
