"""See the package."""


def HTML(*_args, **_options):
    return None


def display(*_args, **_options):
    return None
