"""Names that try to leave a root: traversal, absolute paths, links, encodings and devices."""

from pathlib import Path
from unicodedata import normalize

SECRET = "secret.txt"  # noqa: S105 - the name of a file

_DOTS = (
    "..", "...", "....", ".. ", " ..", "..\t", "..\0", "%2e%2e", "%2E%2E", "%252e%252e", "..%00",
    "%c0%ae%c0%ae", "%u002e%u002e", "．．", "․․", "‥", "。。", ".\u200b.", ".\u202e.", "\u202e..",
    "..\u0301", "&#46;&#46;", "\\x2e\\x2e", "$(echo ..)", "..;", "..\xa0", "\ufeff..", "{..}",
)  # fmt: skip
_SLASHES = ("/", "//", "\\", "%2f", "%5c", "∕", "／", "⁄", "/./", "/\0", "%252f", "&#47;", "\\/")
_DEVICES = (
    "/dev/zero", "/dev/stdin", "/dev/fd/0", "/proc/self/environ", "/proc/self/root/etc/passwd",
    "/proc/self/cwd", "/proc/1/mem", "/dev/tty", "CON", "NUL", "AUX", "COM1", "LPT1", "con.txt",
    "\\\\.\\PhysicalDrive0", "\\\\?\\C:\\secret.txt",
)  # fmt: skip
_ADDRESSES = (
    "file://{path}", "file:{path}", "file:///{path}", "FILE://localhost{path}",
    "http://localhost{path}", "C:{path}", "c:/secret.txt", "C:\\secret.txt", "C:secret.txt",
    "\\\\server\\share\\secret.txt", "//server/share/secret.txt", "{path}", "/{path}", "//{path}",
    "{path}/", "{path}/.", "\\{path}", "%2f{path}", "~/{path}", "~root{path}", "~/../{path}",
    "$HOME/../{path}", "${{PWD}}/../secret.txt", "%PWD%/../secret.txt", "src/{path}", "src{path}",
    "./{path}", "src/agent.py{path}", "data:text/plain,{path}", "jar:file:{path}!/", "{path}\0",
    "{path}\n", "\n{path}", " {path}", "{path}:$DATA", "|cat {path}", "`cat {path}`",
    "zip://{path}", "php://filter/resource={path}", "unc:{path}",
)  # fmt: skip
_LINKS = (
    "link-out", "link-absolute", "link-chain", "link-folder/secret.txt",
    "link-absolute-folder/secret.txt", "link-deep/secret.txt", "src/link-up/secret.txt",
    "src/link-up/../secret.txt", "link-out/", "link-out/.", "./link-out", "src/../link-out",
    "link-loop", "link-loop/secret.txt", "link-dangling", "link-self/link-self/link-out",
    "src/link-root/link-out", "link-proc", "link-null", "link-past-root",
)  # fmt: skip
_KINDS = (
    "fifo", "socket", "src", "src/", ".", "./", "..", "../", "", " ", "/", "//", "~",
    "src/agent.py/", "src/agent.py/x", "src/agent.py/../../../secret.txt", "SRC/../../secret.txt",
    "link-fifo", "src/.", "src/..",
)  # fmt: skip
_CASES = (
    "/src/agent.py", "//src/agent.py", "Src/Agent.py", "SRC/AGENT.PY", "src/agent.py.",
    "src/agent.py ", "src/agent.py...", "src./agent.py", "src /agent.py", "ſrc/agent.py",
    "src/ａgent.py", "src/agent.py::$DATA", "src/agent.py:stream", "src/AGENT~1.PY",
    "src\\agent.py",
    "src/agent.py\0.txt", "src/agent.py%00", "src//..//..//secret.txt",
)  # fmt: skip


def hostile_names(outside: Path) -> list[str]:
    """Return at least 200 distinct names, none of which is a file beneath the root.

    `outside` is the folder beside the root that holds the secret.
    """
    traversals = [
        f"{prefix}{dots}{slash}{SECRET}"
        for prefix in ("", "src/")
        for dots in _DOTS
        for slash in _SLASHES
    ]
    deeper = [f"src/{f'..{slash}' * depth}{SECRET}" for slash in _SLASHES for depth in (2, 3, 9)]
    secret = str(outside / SECRET)
    addresses = [address.format(path=secret) for address in _ADDRESSES]
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
                *_DEVICES,
                *_LINKS,
                *_KINDS,
                *_CASES,
                *long,
            ]
        )
    )
