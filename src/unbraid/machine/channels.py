"""Placeholder."""
from unbraid.machine.core import Machine


class ChannelMachine(Machine): ...
