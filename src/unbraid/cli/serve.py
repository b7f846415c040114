"""``unbraid serve``."""


def add_parser(commands):
    commands.add_parser("serve")


def run(args):
    return 0
