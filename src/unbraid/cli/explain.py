"""``unbraid explain``."""


def add_parser(commands):
    commands.add_parser("explain")


def run(args):
    return 0
