"""``unbraid chat``."""


def add_parser(commands):
    commands.add_parser("chat")


def run(args):
    return 0
