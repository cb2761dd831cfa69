"""datasets, inert: SGLang's benchmark client imports it for data sets from a hub, of which we use none.

Apart from stubs/, which every server sees: transformers looks for this package too.
"""


def load_dataset(*_args: object, **_options: object) -> object:
    raise RuntimeError("no data set is downloaded here: use --dataset-name random-ids")
