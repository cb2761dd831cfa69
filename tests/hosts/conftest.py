from tests.sshd import sshd

__all__ = ["sshd"]
