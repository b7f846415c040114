"""llama.cpp's own grammar sampler as a judge, over the C interface of the embedded engine's library."""

from __future__ import annotations

import ctypes
import math
from functools import lru_cache
from typing import Any

from unbraid.engines.models import fetch_model

_OVER = 1024  # more bytes than the parameters of a model have


class _Parameters(ctypes.Structure):
    """Parameters that are only handed on: what they hold is llama.cpp's."""

    _fields_ = (("bytes", ctypes.c_char * _OVER),)


class _Candidate(ctypes.Structure):
    _fields_ = (("id", ctypes.c_int32), ("logit", ctypes.c_float), ("p", ctypes.c_float))


class _Candidates(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.POINTER(_Candidate)),
        ("size", ctypes.c_size_t),
        ("selected", ctypes.c_int64),
        ("sorted", ctypes.c_bool),
    )


class Llama:
    """The default model's vocabulary, and which texts a GBNF grammar takes."""

    def __init__(self) -> None:
        import xllamacpp.xllamacpp as module

        self.library: Any = ctypes.CDLL(module.__file__)
        pointer, number = ctypes.c_void_p, ctypes.c_int32
        for name, result, arguments in (
            ("llama_model_default_params", _Parameters, []),
            ("llama_model_load_from_file", pointer, [ctypes.c_char_p, _Parameters]),
            ("llama_model_get_vocab", pointer, [pointer]),
            ("llama_sampler_init_grammar", pointer, [pointer, ctypes.c_char_p, ctypes.c_char_p]),
            ("llama_sampler_apply", None, [pointer, ctypes.POINTER(_Candidates)]),
            ("llama_sampler_accept", None, [pointer, ctypes.c_int32]),
            ("llama_sampler_free", None, [pointer]),
            ("llama_vocab_is_eog", ctypes.c_bool, [pointer, ctypes.c_int32]),
            (
                "llama_tokenize",
                ctypes.c_int32,
                [
                    pointer,
                    ctypes.c_char_p,
                    number,
                    ctypes.POINTER(number),
                    number,
                    ctypes.c_bool,
                    ctypes.c_bool,
                ],
            ),
        ):
            function = getattr(self.library, name)
            function.restype, function.argtypes = result, arguments
        self.log = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, pointer)(lambda *_: None)
        self.library.llama_log_set(self.log, None)
        path = str(fetch_model()).encode()
        model = self.library.llama_model_load_from_file(path, self.library.llama_model_default_params())
        self.vocabulary = self.library.llama_model_get_vocab(model)
        (self.end,) = self.tokens("<|im_end|>", special=True)
        assert self.library.llama_vocab_is_eog(self.vocabulary, self.end)

    def tokens(self, text: str, special: bool = False) -> list[int]:
        """The ids of a text; ``special`` says whether special tokens are recognised in it."""
        data = text.encode()
        ids = (ctypes.c_int32 * (len(data) + 8))()
        count = self.library.llama_tokenize(self.vocabulary, data, len(data), ids, len(ids), False, special)
        assert count >= 0
        return list(ids[:count])

    def accepts(self, grammar: str, text: str) -> bool:
        """Whether a text is one of the grammar, as a whole."""
        sampler = self.library.llama_sampler_init_grammar(self.vocabulary, grammar.encode(), b"root")
        assert sampler, "llama.cpp refuses the grammar"
        try:
            return self._reads(sampler, [*self.tokens(text), self.end])
        finally:
            self.library.llama_sampler_free(sampler)

    def _reads(self, sampler: Any, ids: list[int]) -> bool:
        for token_id in ids:
            one = (_Candidate * 1)(_Candidate(token_id, 0.0, 0.0))
            candidates = _Candidates(one, 1, -1, False)
            self.library.llama_sampler_apply(sampler, ctypes.byref(candidates))
            if math.isinf(one[0].logit):
                return False
            self.library.llama_sampler_accept(sampler, token_id)
        return True


@lru_cache(maxsize=1)
def llama() -> Llama:
    """The judge, loaded once."""
    return Llama()
