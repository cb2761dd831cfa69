"""torchvision, inert: SGLang's image processors import it, and this rig serves no images."""

from inert_package import make_inert

__version__ = "0.0.0"
make_inert(__name__)
