"""One pair under atheris: ``python -m tests.fuzz.guided REASONING+TOOLS SECONDS``.

The output is UTF-8 made by libFuzzer from the corpus's cases and a dictionary of the pair's
markers; the code of unbraid tells which outputs reach something new.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["unbraid"]):
    import unbraid  # noqa: F401
    from tests.corpus.files import cases
    from tests.fuzz.checks import sound
    from tests.support.hostile import FOREIGN, JSON_ATOMS, WEATHER, Pair, markers, pairs, prompts


def dictionary(pair: Pair) -> str:
    """libFuzzer's dictionary: one quoted text a line."""
    texts = (*markers(pair), *FOREIGN, *JSON_ATOMS)
    quoted = ("".join(f"\\x{byte:02x}" for byte in text.encode("utf-8", "surrogatepass")) for text in texts)
    return "".join(f'"{one}"\n' for one in quoted if one)


def one_input(pair: Pair, data: bytes) -> None:
    """The first byte chooses the request and the splits, the rest is the output."""
    if not data:
        return
    ways = prompts(pair)
    text = data[1:].decode("utf-8", "replace")
    tools = (None, WEATHER, [])[data[0] % 3]
    parser = pair.parser(tools=tools, prompt=ways[data[0] % len(ways)], spans=True, make_id=lambda: "made")
    sound(parser, text, ("stop", "length")[data[0] % 2], data[0])


def main() -> None:
    """Fuzz one pair; atheris ends the process."""
    name, seconds = sys.argv[1:]
    pair = next(one for one in pairs() if str(one) == name)
    with tempfile.TemporaryDirectory() as folder:
        words = Path(folder, "dictionary")
        words.write_text(dictionary(pair), encoding="utf-8")
        seeds = Path(folder, "seeds")
        seeds.mkdir()
        for n, case in enumerate(cases()):
            if case.get("tool_parser") == pair.tools and "text" in case:
                (seeds / str(n)).write_bytes(b"\0" + case["text"].encode("utf-8", "surrogatepass"))
        command = [
            sys.argv[0],
            f"-dict={words}",
            f"-max_total_time={seconds}",
            "-max_len=600",
            "-len_control=20",
            str(seeds),
        ]
        atheris.Setup(command, lambda data: one_input(pair, data))
        atheris.Fuzz()


if __name__ == "__main__":
    main()
