"""``unbraid demo``."""


def add_parser(commands):
    commands.add_parser("demo")


def run(args):
    return 0
