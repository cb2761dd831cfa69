"""A package of which every name and every submodule exists and does nothing.

SGLang imports triton and torchvision at the top of modules that a CPU server loads but whose kernels and image
transforms it never calls. Installing them for that costs 1 GB and ties torch to a CUDA build; these stand-ins cost
nothing. Something inert that is nevertheless called returns something inert, so a wrong number cannot come of it
unnoticed only where a result is used: nothing on the path of this rig does (its outputs are checked exactly).
"""

import importlib.abc
import importlib.machinery
import sys
import types


class _Anything:
    """Callable, has every attribute; as a decorator it leaves the function alone."""

    def __init__(self, *args, **kwargs):
        pass

    def __call__(self, *args, **kwargs):
        if len(args) == 1 and callable(args[0]) and not kwargs:
            return args[0]
        return self

    def __getattr__(self, name):
        return _attribute(name)


class _AnyClass(type):
    """The type of inert classes: they may be subclassed, subscripted, and asked for any attribute."""

    def __getattr__(cls, name):
        return _attribute(name)

    def __getitem__(cls, item):
        return cls


def _attribute(name):
    if name.startswith("__"):
        raise AttributeError(name)  # else inspect, copy and pickle are led astray
    return _Anything()


class InertModule(types.ModuleType):
    """Capitalised names are classes (they end up as base classes and annotations), the rest are inert objects."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if name[:1].isupper():
            made = _AnyClass(name, (), {"__module__": self.__name__, "__init__": lambda self, *a, **k: None})
            setattr(self, name, made)
            return made
        return sys.modules.get(f"{self.__name__}.{name}") or _Anything()


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds every submodule of one package, after the real files in its folder."""

    def __init__(self, package):
        self._prefix = package + "."

    def find_spec(self, name, path=None, target=None):
        if name.startswith(self._prefix):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        module = InertModule(spec.name)
        module.__path__ = []
        return module

    def exec_module(self, module):
        pass


def make_inert(package):
    """Turn the module of this name, already imported, into an inert package."""
    sys.modules[package].__class__ = InertModule
    sys.meta_path.append(_Finder(package))
