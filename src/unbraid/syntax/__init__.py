"""The declarative vocabulary: a format is said once, in these parts.

Every part has a canonical text (what the writer writes), a tolerance (what the
parser accepts) and a bound (what the grammar allows). Nothing here runs: the
parser, the writer, the grammar, the gate, the explainer and the checker all
read the same declaration.

``text`` has markers and white space, ``parts`` the parts of a call, ``halves`` what is
made of them for tags, ``channels`` for messages, ``response`` for response templates;
``builders`` has what several families write alike.
"""
# ruff: noqa: F403 (each module says its names in ``__all__``, and nowhere else)

from dataclasses import replace

from unbraid.syntax import builders, channels, halves, parts, response, text
from unbraid.syntax.builders import *
from unbraid.syntax.channels import *
from unbraid.syntax.halves import *
from unbraid.syntax.parts import *
from unbraid.syntax.response import *
from unbraid.syntax.text import *

__all__ = ["replace"]
__all__ += text.__all__
__all__ += parts.__all__
__all__ += halves.__all__
__all__ += channels.__all__
__all__ += response.__all__
__all__ += builders.__all__
