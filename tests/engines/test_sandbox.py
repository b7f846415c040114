"""The sandbox of chat templates: what spends too much is refused, and the next prompt is well."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest

from unbraid.engines.sandbox import Sandbox, TemplateLimits, worker_environment
from unbraid.engines.template import ChatTemplate
from unbraid.errors import EngineUnavailable, InvalidRequest

LIMITS = TemplateLimits(
    cpu_seconds=0.1, memory_bytes=1 << 28, source_chars=200_000, output_chars=1 << 20, most_waiting=8
)
USER = {"role": "user", "content": "Hi"}
TIME = "processor time"
MEMORY = "memory"
TREE = "{% set n = namespace(a=[1], b=[1]) %}{% for _ in range(60) %}{% set n.a = [n.a, n.a] %}{% endfor %}"


def grown(step: str) -> str:
    return "{% set n = namespace(s='aaaa', i=9) %}{% for _ in range(60) %}{% set " + step + " %}{% endfor %}"


ENDLESS = {
    "loops in loops": "{% for a in range(9999) %}{% for b in range(9999) %}{% for c in range(9999) %}"
    "{% endfor %}{% endfor %}{% endfor %}",
    "two macros each": "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}"
    "{{ m(60) }}",
    "a list that grows in its loop": "{% set a = [1] %}{% for x in a %}{% set _ = a.append(1) %}{% endfor %}",
    "a power": "{{ 9 ** (10 ** 9) }}",
    "squares": grown("n.i = n.i * n.i"),
    "digits to round": "{{ 1 | round(-1000000000) }}",
    "equal trees": TREE + "{% for _ in range(60) %}{% set n.b = [n.b, n.b] %}{% endfor %}{{ n.a == n.b }}",
    "slices": "{{ [1] | slice(10 ** 9) | list }}",
}
LARGE = {
    "width": "{{ '%1000000000d' % 1 }}",
    "width by a filter": "{{ '%1000000000d' | format(1) }}",
    "width by a method": "{{ '{:1000000000}'.format(1) }}",
    "width in a width": "{{ '{0:{1}}'.format(1, 10 ** 9) }}",
    "ljust": "{{ 'a'.ljust(10 ** 9) }}",
    "center": "{{ 'a' | center(10 ** 9) }}",
    "tabs": "{{ ('\t' * 1000).expandtabs(10 ** 8) }}",
    "bytes": "{{ (1).to_bytes(10 ** 10, 'big') }}",
    "a long list": "{{ ([0] * 10 ** 9) | length }}",
    "an indent": "{{ [1] | tojson(indent=10 ** 9) }}",
    "texts twice as long": grown("n.s = n.s ~ n.s"),
    "replacements": grown("n.s = n.s.replace('a', 'aaaaaaaa')"),
    "batches": "{{ [1] | batch(10 ** 9, 1) | list }}",
    "a tree as text": TREE + "{{ n.a }}",
    "a tree as JSON": TREE + "{{ n.a | tojson }}",
    "words": "{{ lipsum(n=10 ** 9) }}",
    "repeated": "{{ 'a' * 10 ** 9 }}",
    "joined": "{{ (['a' * 100000] * 100000) | join }}",
}
TOO_DEEP = {
    "blocks": "{% block a %}{{ self.a() }}{% endblock %}",
    "a loop in itself": "{% for a in [[[]]] recursive %}{{ loop([a]) }}{% endfor %}",
    "lists": grown("n.s = [n.s]").replace("range(60)", "range(9999)") + "{{ n.s | tojson }}",
    "brackets": "{{ " + "[" * 50_000,
    "groups": "{{ " + "(" * 20_000 + "1" + ")" * 20_000 + " }}",
    "sums": "{{ " + "+".join(["1"] * 9_000) + " }}",
    "filters": "{{ 1" + "|abs" * 2_000 + " }}",
}
PYTHON = {
    "class": "{{ ''.__class__.__mro__ }}",
    "attr": "{{ '' | attr('__class__') }}",
    "map": "{{ [''] | map(attribute='__class__') | first }}",
    "item": "{{ ''['__class__'] }}",
    "format": "{{ '{0.__class__}'.format('') }}",
    "format by name": "{% set f = '{0.__class__}'.format %}{{ f('') }}",
    "format by attr": "{{ ('{0.__class__}' | attr('format'))('') }}",
    "format by map": "{{ ['{0.__class__}'] | map('format') | first | replace('{0.__class__}', '') }}",
    "format_map": "{{ '{a.__class__}'.format_map({'a': 1}) }}",
    "cycler": "{{ cycler.__init__.__globals__ }}",
    "joiner": "{{ joiner.__init__.__globals__ }}",
    "namespace": "{{ namespace.__init__.__globals__ }}",
    "lipsum": "{{ lipsum.__globals__ }}",
    "self": "{{ self._TemplateReference__context }}",
    "macro": "{% macro m() %}{% endmacro %}{{ m._func.__globals__ }}",
    "generator": "{{ ([1] | map('int')).gi_frame }}",
    "loop": "{% for a in [1] %}{{ loop._iterable }}{% endfor %}",
    "raise_exception": "{{ raise_exception.__globals__ }}",
    "tojson": "{{ messages.append.__self__ }}",
    "include": "{% include '/etc/passwd' %}",
    "import": "{% import 'os' as os %}",
}


@pytest.fixture(scope="module")
def hasty() -> Iterator[Sandbox]:
    made = Sandbox(LIMITS)
    yield made
    made.close()


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    made = Sandbox(replace(LIMITS, cpu_seconds=20))
    yield made
    made.close()


def refusal(sandbox: Sandbox, source: str) -> InvalidRequest:
    """What a template is refused with; the next one must be rendered."""
    with pytest.raises(InvalidRequest) as caught:
        ChatTemplate(source, sandbox=sandbox).render([USER])
    assert ChatTemplate("{{ messages[0].content }}", sandbox=sandbox).render([USER]) == "Hi"
    return caught.value


@pytest.mark.parametrize("name", sorted(ENDLESS))
def test_a_template_without_end_is_ended(hasty: Sandbox, name: str) -> None:
    error = refusal(hasty, ENDLESS[name])
    assert TIME in error.message
    assert error.param == "chat_template"


@pytest.mark.parametrize("name", sorted(LARGE))
def test_a_template_without_measure_is_ended(hasty: Sandbox, name: str) -> None:
    error = refusal(hasty, LARGE[name])
    assert MEMORY in error.message or TIME in error.message
    assert error.param == "chat_template"


@pytest.mark.parametrize("name", sorted(TOO_DEEP))
def test_a_template_that_nests_too_deep_is_refused(sandbox: Sandbox, name: str) -> None:
    assert "too deeply" in refusal(sandbox, TOO_DEEP[name]).message


@pytest.mark.parametrize("name", sorted(PYTHON))
def test_nothing_of_python_is_shown(sandbox: Sandbox, name: str) -> None:
    try:
        shown = ChatTemplate(PYTHON[name], sandbox=sandbox).render([USER])
    except InvalidRequest as error:
        shown = error.message
    assert shown in ("", "Undefined") or any(word in shown for word in ("unsafe", "no loader", "undefined"))


def test_a_long_template_a_long_prompt_and_a_long_error_are_refused(sandbox: Sandbox) -> None:
    assert "longer than 200000" in refusal(sandbox, "a" * 200_001).message
    assert "more than 1048576 characters" in refusal(sandbox, "{{ 'a' * 1048577 }}").message
    assert "more than 1048576 characters" in refusal(sandbox, "{{ 'a' * 4194305 }}").message
    error = refusal(sandbox, "{{ raise_exception('é' * 1000000) }}")
    assert error.param == "messages"
    assert len(error.message) < 2100


def test_a_source_that_python_can_not_compile_is_a_wrong_template(sandbox: Sandbox) -> None:
    error = refusal(sandbox, "{% for a in [1] %}" * 30 + "{% endfor %}" * 30)
    assert error.param == "chat_template"


@pytest.mark.parametrize("value", ["é\ud800\x00😀", {"a": [1, 2.5, None, True]}, 10**400])
def test_every_plain_value_arrives(sandbox: Sandbox, value: object) -> None:
    source = "{{ kwarg is string }}{{ kwarg == messages[0].content }}"
    message = {"role": "user", "content": value}
    shown = ChatTemplate(source, sandbox=sandbox).render([message], kwargs={"kwarg": value})
    assert shown == f"{isinstance(value, str)}True"


def test_text_comes_back_as_it_is(sandbox: Sandbox) -> None:
    text = "é\ud800\x00\r\n😀"
    assert ChatTemplate("{{ messages[0].content }}", sandbox=sandbox).render([{"content": text}]) == text


def test_what_is_no_plain_data_or_nests_too_deep_is_refused(sandbox: Sandbox) -> None:
    nested: list[object] = []
    for _ in range(5000):
        nested = [nested]
    for value in (nested, object()):
        with pytest.raises(InvalidRequest, match="nests too deeply"):
            ChatTemplate("{{ kwarg }}", sandbox=sandbox).render([USER], kwargs={"kwarg": value})


def test_one_template_leaves_nothing_for_the_next(sandbox: Sandbox) -> None:
    source = (
        "{% set range = 5 %}{% set ns = namespace(x=1) %}{% set _ = messages[0].update(content='gone') %}"
    )
    ChatTemplate(source, sandbox=sandbox).render([USER])
    shown = ChatTemplate("{{ range(3) | list }}{{ ns is defined }}{{ messages[0].content }}", sandbox=sandbox)
    assert shown.render([USER]) == "[0, 1, 2]FalseHi"


def test_a_worker_that_was_killed_is_replaced() -> None:
    sandbox = Sandbox(LIMITS)
    template = ChatTemplate("{{ messages[0].content }}", sandbox=sandbox)
    first = sandbox.pid
    assert first is not None
    assert template.render([USER]) == "Hi"
    assert sandbox.pid == first, "a worker stays"
    os.kill(first, signal.SIGKILL)
    assert template.render([USER]) == "Hi"
    assert sandbox.pid not in (None, first)
    sandbox.close()
    assert sandbox.pid is None


def test_a_worker_that_does_not_answer_is_ended() -> None:
    sandbox = Sandbox()
    template = ChatTemplate("{{ messages[0].content }}", sandbox=sandbox)
    sandbox.limits = TemplateLimits(wall_seconds=0.3)
    first = sandbox.pid
    assert first is not None
    os.kill(first, signal.SIGSTOP)
    with pytest.raises(InvalidRequest, match=r"took more than 0\.3 s"):
        template.render([USER])
    with pytest.raises(ProcessLookupError):
        os.kill(first, 0)
    sandbox.close()


def test_threads_share_a_worker(sandbox: Sandbox) -> None:
    found: dict[int, list[str]] = {}

    def work(n: int) -> None:
        template = ChatTemplate("{{ messages[0].content }}", sandbox=sandbox)
        found[n] = [template.render([{"content": f"{n} {k} " + "x" * 50_000}])[:8] for k in range(10)]

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {n: [f"{n} {k} xxxxx"[:8] for k in range(10)] for n in range(4)}


def test_only_so_many_wait() -> None:
    sandbox = Sandbox(TemplateLimits(cpu_seconds=0.1, most_waiting=1))
    refused: list[str] = []

    def work(source: str) -> None:
        try:
            ChatTemplate(source, sandbox=sandbox).render([USER])
        except InvalidRequest:
            pass
        except EngineUnavailable as error:
            refused.append(error.message)

    slow = threading.Thread(target=work, args=(ENDLESS["two macros each"],))
    slow.start()
    while slow.is_alive():
        work("fine")
        slow.join(0.01)
    assert "try again later" in refused[0]
    sandbox.close()


def test_a_forked_process_has_a_worker_of_its_own(sandbox: Sandbox) -> None:
    template = ChatTemplate("{{ messages[0].content }}", sandbox=sandbox)
    ours = sandbox.pid
    child = os.fork()
    if child == 0:
        right = template.render([USER]) == "Hi" and sandbox.pid != ours
        sandbox.close()
        os._exit(0 if right else 1)
    assert template.render([USER]) == "Hi"
    assert os.waitpid(child, 0)[1] == 0
    assert template.render([USER]) == "Hi"
    assert sandbox.pid == ours


def test_a_worker_has_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNBRAID_API_KEY", "secret")
    assert set(worker_environment()) <= {"TZ", "LD_LIBRARY_PATH", "PYTHONPATH"}
