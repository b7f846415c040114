"""``unbraid formats``."""


def add_parser(commands):
    commands.add_parser("formats")


def run(args):
    return 0
