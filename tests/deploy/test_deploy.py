"""The files in deploy/: each is parsed, and the flags in it are those of the command."""

from __future__ import annotations

import argparse
import asyncio
import configparser
import json
import re
import runpy
import shlex
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import httpx
import pytest
import yaml

from unbraid.cli import serve
from unbraid.cli.config import with_config
from unbraid.cli.server_flags import options_from
from unbraid.server.app import create_app
from unbraid.server.limits import Limits
from unbraid.server.options import DRAIN_SECONDS, ENGINE_TIMEOUT, MAX_RUNNING

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
OURS = {"unbraid.toml", "unbraid.service", "Containerfile", "compose.yaml", "kubernetes.yaml", "nginx.conf",
        "ray_serve.py"}  # fmt: skip
PARSERS_OF_VLLM = {"--reasoning-parser", "--tool-call-parser", "--enable-auto-tool-choice"}


class Flags(argparse.ArgumentParser):
    """The flags of ``unbraid serve``; a wrong one is an error of the test."""

    def __init__(self) -> None:
        super().__init__(add_help=False)
        serve.add_arguments(self)

    def error(self, message: str) -> NoReturn:
        raise AssertionError(message)


def parsed(*flags: str) -> argparse.Namespace:
    args = Flags().parse_args(flags)
    options_from(args)
    return args


def configured(path: Path, *flags: str) -> argparse.Namespace:
    args = with_config(Flags(), serve.add_arguments, path, ["--config", str(path), *flags])
    options_from(args)
    return args


def read(name: str) -> str:
    return (DEPLOY / name).read_text(encoding="utf-8")


def seconds(text: str) -> float:
    number, unit = re.fullmatch(r"(\d+)(s|m|)", text).groups()  # type: ignore[union-attr]
    return int(number) * {"s": 1, "m": 60, "": 1}[unit]


def test_every_file_has_a_test() -> None:
    assert {path.name for path in DEPLOY.iterdir() if path.is_file()} == OURS


def test_settings() -> None:
    args = configured(DEPLOY / "unbraid.toml")
    assert len(args.engine) == 2
    assert args.workers == 4
    assert args.default_chat_template_kwargs == '{"enable_thinking": true}'


def test_systemd_unit() -> None:
    unit = configparser.ConfigParser(
        strict=False, interpolation=None, delimiters=("=",), comment_prefixes="#"
    )
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read_string(read("unbraid.service"))
    service = unit["Service"]
    program, command, *flags = shlex.split(service["ExecStart"])
    assert (Path(program).name, command) == ("unbraid", "serve")
    args = parsed(*flags)
    assert Path(args.config).name == "unbraid.toml"
    drain = configured(DEPLOY / "unbraid.toml").drain_seconds
    assert seconds(service["TimeoutStopSec"]) > max(drain, DRAIN_SECONDS)
    assert "-HUP" in service["ExecReload"]
    assert service["KillMode"] == "mixed"


def test_containerfile() -> None:
    lines = [line for line in read("Containerfile").splitlines() if line and not line.startswith("#")]
    said: dict[str, list[str]] = {}
    for line in lines:
        word, _, rest = line.partition(" ")
        said.setdefault(word, []).append(rest)
    assert lines[0].startswith("FROM python:")
    for copied in said["COPY"]:
        for name in copied.split()[:-1]:
            assert (DEPLOY.parent / name).exists(), name
    assert any('".[hf,serve]"' in one for one in said["RUN"])
    assert said["USER"] == ["unbraid"]
    program, command, *flags = json.loads(said["ENTRYPOINT"][0])
    assert (program, command) == ("unbraid", "serve")
    args = parsed(*flags)
    assert (args.host, str(args.port)) == ("0.0.0.0", said["EXPOSE"][0])


def without_parsers(command: list[str]) -> None:
    """A vLLM behind unbraid reads nothing itself: it would hold no constraint."""
    assert not PARSERS_OF_VLLM.intersection(command)
    assert "--model" in command


def test_compose() -> None:
    services = yaml.safe_load(read("compose.yaml"))["services"]
    ours, vllm = services["unbraid"], services["vllm"]
    args = parsed(*ours["command"])
    assert args.engine == ["http://vllm:8000"]
    without_parsers(vllm["command"])
    assert vllm["command"][vllm["command"].index("--port") + 1] == "8000"
    assert "ports" not in vllm, "only unbraid is published"
    assert (DEPLOY / ours["build"]["context"] / ours["build"]["dockerfile"]).is_file()
    assert seconds(ours["stop_grace_period"]) > args.drain_seconds
    secret = Path(args.api_key_file)
    assert secret.name in ours["secrets"]


def objects() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for one in yaml.safe_load_all(read("kubernetes.yaml")):
        yield one["kind"], one["metadata"]["name"], one


def test_kubernetes(tmp_path: Path) -> None:
    found = {(kind, name): one for kind, name, one in objects()}
    pod = found["Deployment", "unbraid"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    config = tmp_path / "unbraid.toml"
    config.write_text(found["ConfigMap", "unbraid"]["data"]["unbraid.toml"], encoding="utf-8")
    assert container["command"] == ["unbraid", "serve"]
    flags = [str(config) if one == "/etc/unbraid/unbraid.toml" else one for one in container["args"]]
    args = configured(config, *flags[2:])
    assert flags[:2] == ["--config", str(config)]
    before = float(container["lifecycle"]["preStop"]["exec"]["command"][1])
    assert pod["terminationGracePeriodSeconds"] > before + args.drain_seconds
    assert container["ports"][0]["containerPort"] == args.port
    assert container["readinessProbe"]["httpGet"]["path"] == "/health/ready"
    assert container["livenessProbe"]["httpGet"]["path"] == "/health/live"
    mounted = {one["mountPath"] for one in container["volumeMounts"]}
    assert str(Path(args.api_key_file).parent) in mounted
    assert Path(args.api_key_file).name in found["Secret", "unbraid-keys"]["stringData"]
    engines = found["StatefulSet", "vllm"]["spec"]
    names = [f"http://vllm-{n}.{engines['serviceName']}:8000" for n in range(engines["replicas"])]
    assert args.engine == names
    assert found["Service", "vllm"]["spec"]["clusterIP"] == "None"
    without_parsers(engines["template"]["spec"]["containers"][0]["args"])


# -- nginx ------------------------------------------------------------------------------


def blocks(text: str) -> list[Any]:
    """nginx's directives: lists of words, the last one a list where a block follows."""
    tokens = re.findall(r'"[^"]*"|[{};]|[^\s{};"]+', re.sub(r"#.*", "", text))
    stack: list[list[Any]] = [[]]
    words: list[Any] = []
    for token in tokens:
        if token == "{":
            stack.append([])
            stack[-2].append(words)
            words = []
        elif token == "}":
            assert not words, "a directive without its end"
            inner = stack.pop()
            stack[-1][-1].append(inner)
        elif token == ";":
            stack[-1].append(words)
            words = []
        else:
            words.append(token.strip('"'))
    assert len(stack) == 1, "the braces match"
    assert not words
    return stack[0]


def test_nginx() -> None:
    upstream, server = blocks(read("nginx.conf"))
    assert upstream[:2] == ["upstream", "unbraid"]
    directives = {one[0]: one[1:] for one in server[1] if one[0] != "location"}
    assert directives["client_max_body_size"] == [f"{Limits().body_bytes >> 20}m"]
    root = next(one for one in server[1] if one[:2] == ["location", "/"])
    said = {one[0]: one[1:] for one in root[2]}
    assert said["proxy_pass"] == ["http://unbraid"]
    assert said["proxy_http_version"] == ["1.1"]
    assert said["proxy_buffering"] == said["proxy_cache"] == said["gzip"] == ["off"]
    assert seconds(said["proxy_read_timeout"][0]) > ENGINE_TIMEOUT
    headers = {one[1]: one[2] for one in root[2] if one[0] == "proxy_set_header"}
    assert headers["Connection"] == ""
    assert headers["X-Request-Id"] == "$request_id"


# -- Ray Serve ---------------------------------------------------------------------------


class Deployment:
    """What a stand-in of Ray's decorators notes."""

    def __init__(self, wrapped: type, **options: Any) -> None:
        self.wrapped = wrapped
        self.options = options

    def bind(self) -> Deployment:
        return self


def ingress(app: Any) -> Callable[[type], type]:
    def decorate(wrapped: type) -> type:
        wrapped.app = app  # type: ignore[attr-defined]
        return wrapped

    return decorate


def test_ray_serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recordings = tmp_path / "outputs.jsonl"
    recordings.write_text('{"model": "m"}\n{"text": "Hello."}\n', encoding="utf-8")
    ray, ray_serve = types.ModuleType("ray"), types.ModuleType("ray.serve")
    ray_serve.deployment = lambda **options: lambda wrapped: Deployment(wrapped, **options)  # type: ignore[attr-defined]
    ray_serve.ingress = ingress  # type: ignore[attr-defined]
    ray.serve = ray_serve  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "ray", ray)
    monkeypatch.setitem(sys.modules, "ray.serve", ray_serve)

    default = runpy.run_path(str(DEPLOY / "ray_serve.py"))
    args = parsed(*default["FLAGS"])
    options = default["gateway"].options
    assert options["max_ongoing_requests"] == args.max_running == MAX_RUNNING
    assert options["graceful_shutdown_timeout_s"] > args.drain_seconds

    monkeypatch.setenv("UNBRAID_FLAGS", f"--engine replay:{recordings}")
    app = runpy.run_path(str(DEPLOY / "ray_serve.py"))["gateway"].wrapped.app

    async def ask() -> Any:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test") as http:
            body = {"messages": [{"role": "user", "content": "Hi"}]}
            return (await http.post("/v1/chat/completions", json=body)).json()

    assert asyncio.run(ask())["choices"][0]["message"]["content"] == "Hello."


def test_an_app_of_flags(tmp_path: Path) -> None:
    from unbraid.errors import InvalidRequest
    from unbraid.server.asgi import app_of

    recordings = tmp_path / "outputs.jsonl"
    recordings.write_text('{"model": "m"}\n{"text": "Hello."}\n', encoding="utf-8")
    config = tmp_path / "unbraid.toml"
    config.write_text(f'engine = "replay:{recordings}"\n', encoding="utf-8")
    assert callable(app_of("--config", str(config)))
    assert callable(create_app)
    for flags, told in ((["--nothing"], "--nothing"), (["--port", "x"], "--port")):
        with pytest.raises(InvalidRequest, match=told):
            app_of(*flags)
