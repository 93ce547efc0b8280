"""What is neither offered nor read unless it is asked for: version control's own folders, ignored files, and files that hold secrets."""

from fnmatch import fnmatchcase
from pathlib import Path

from .tree import VERSION_CONTROL, is_ignored

SECRETS = (
    *(".env", ".env.*", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx"),
    *("id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", ".netrc", "_netrc", ".pgpass", ".npmrc", ".pypirc", ".htpasswd", ".git-credentials"),
)
"""Names of files that programs keep keys and passwords in, by their own documentation."""

_SHOWN = (".env.example", ".env.sample", ".env.template")
_FOLDERS = frozenset({".aws", ".ssh", ".gnupg", ".kube", ".docker"})


def holds_secrets(path: str) -> bool:
    """Tell whether a path's name says that keys or passwords are in it.

    >>> [holds_secrets(path) for path in (".env", "deploy/server.PEM", ".ssh/config", ".env.example", "environment.py")]
    [True, True, True, False, False]
    """
    *folders, name = path.lower().split("/")
    if not _FOLDERS.isdisjoint(folders):
        return True
    return name not in _SHOWN and any(fnmatchcase(name, pattern) for pattern in SECRETS)


def kept_back(root: Path, path: str) -> str | None:
    """Return why the file at `path` from `root` is kept back, None where it is not."""
    steps = path.split("/")
    if not VERSION_CONTROL.isdisjoint(steps[:-1]):
        return "is version control's own"
    if holds_secrets(path):
        return "may hold keys or passwords, by its name"
    ignored = is_ignored(root, path)
    if ignored is None:
        return "has more ignore rules above it than can be matched"
    return "is ignored by version control" if ignored else None
