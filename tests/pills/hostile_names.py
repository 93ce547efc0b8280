"""Names that try to leave a root: traversal, absolute paths, links, encodings and devices."""

import json
from pathlib import Path
from unicodedata import normalize

SECRET = "secret.txt"  # noqa: S105 - the name of a file

_PIECES: dict[str, list[str]] = json.loads(Path(__file__).with_suffix(".json").read_bytes())


def hostile_names(outside: Path) -> list[str]:
    """Return at least 200 distinct names, none of which is a file beneath the root.

    `outside` is the folder beside the root that holds the secret.
    """
    traversals = [
        f"{prefix}{dots}{slash}{SECRET}"
        for prefix in ("", "src/")
        for dots in _PIECES["dots"]
        for slash in _PIECES["slashes"]
    ]
    deeper = [
        f"src/{f'..{slash}' * depth}{SECRET}" for slash in _PIECES["slashes"] for depth in (2, 3, 9)
    ]
    secret = str(outside / SECRET)
    addresses = [address.format(path=secret) for address in _PIECES["addresses"]]
    accents = [normalize(form, f"../sécret/{SECRET}") for form in ("NFC", "NFD", "NFKC", "NFKD")]
    long = [
        "a" * 256,
        "a/" * 600 + "b",
        "../" * 300 + SECRET,
        "[@../secret.txt]",
        "[" * 600 + "]" * 600,
        "\ud800/../secret.txt",
    ]
    return list(
        dict.fromkeys(
            [
                *traversals,
                *deeper,
                *addresses,
                *accents,
                *_PIECES["devices"],
                *_PIECES["links"],
                *_PIECES["kinds"],
                *_PIECES["cases"],
                *long,
            ]
        )
    )
