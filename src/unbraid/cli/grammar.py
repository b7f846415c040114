"""``unbraid grammar``."""


def add_parser(commands):
    commands.add_parser("grammar")


def run(args):
    return 0
