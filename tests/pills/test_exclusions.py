"""Version control files, ignored files, secrets and foreign names are excluded by default."""

import os
import re
from pathlib import Path

import pytest

from polycontext.pills import tree
from polycontext.pills.errors import CannotAttachError, Reason
from polycontext.pills.file_resolver import FileResolver
from polycontext.pills.secret_files import holds_secrets
from polycontext.pills.symbol_resolver import SymbolResolver
from tests.house import NEEDS_GIT
from tests.pills.trees import planted

FILES = {
    ".git/config": "[remote]\n",
    ".gitignore": "build/\n*.log\n!kept.log\n",
    "build/out.py": "def made(): ...\n",
    "run.log": "started\n",
    "kept.log": "kept\n",
    "sub/.gitignore": "private.txt\n",
    "sub/private.txt": "mine\n",
    "sub/open.txt": "ours\n",
    ".env": "TOKEN=1\n",
    ".env.example": "TOKEN=\n",
    "keys/server.pem": "----\n",
    ".ssh/config": "Host x\n",
    "main.py": "def main(): ...\n",
}
OPEN = [".env.example", ".gitignore", "kept.log", "main.py", "sub/.gitignore", "sub/open.txt"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a folder with all of it."""
    return planted(tmp_path, FILES)


def noted_reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list to which the path of each ignore file is added that is read from now on."""
    read: list[str] = []
    lines = tree._lines

    def noting(path: str) -> list[str]:
        read.append(path)
        return lines(path)

    monkeypatch.setattr(tree, "_lines", noting)
    return read


def refusal(resolver: FileResolver, name: str) -> CannotAttachError:
    """Return the error with which a file is kept back."""
    with pytest.raises(CannotAttachError) as caught:
        resolver.resolve(name)
    assert caught.value.reason is Reason.KEPT_BACK
    return caught.value


@NEEDS_GIT
@pytest.mark.parametrize("name", FILES)
def test_only_what_is_open_is_read(root: Path, name: str) -> None:
    """The rest says why, and is read by a resolver that was told to."""
    if name in OPEN:
        assert FileResolver([root]).resolve(name).content == FILES[name]
    else:
        refusal(FileResolver([root]), name)
    assert FileResolver([root], everything=True).resolve(name).content == FILES[name]


@NEEDS_GIT
def test_only_what_is_open_is_offered(root: Path) -> None:
    """Completion offers no secret, ignored file or symbol of an ignored file."""
    assert sorted(each.name for each in FileResolver([root]).entries()) == OPEN
    assert [each.name for each in SymbolResolver([root]).entries()] == ["main.main"]
    with pytest.raises(CannotAttachError):
        SymbolResolver([root]).resolve("build.out.made")


def test_a_file_below_too_many_rules_is_kept_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file with too many ignore rules above it is refused, and only some of them are read."""
    (folder := tmp_path / "a/b/c/d/e").mkdir(parents=True)
    (folder / "x.py").write_text("1\n", encoding="utf-8")
    for each in (folder, *folder.parents[:5]):
        (each / ".gitignore").write_text("*.log\n" * 10, encoding="utf-8")
    resolver = FileResolver([tmp_path])
    assert resolver.resolve("a/b/c/d/e/x.py").content == "1\n"
    monkeypatch.setattr(tree, "MOST_MATCHED", 25 * tree._A_RULE)
    read = noted_reads(monkeypatch)
    told = refusal(resolver, "a/b/c/d/e/x.py")
    assert "more ignore rules above it than can be matched" in str(told.problem)
    assert len(read) == 3


def test_a_file_below_rules_that_take_long_is_kept_back(tmp_path: Path) -> None:
    """A rule may take long whatever its length: the time of a processor is bounded as well."""
    ticks = iter(range(0, 100 * tree.MOST_SECONDS, tree.MOST_SECONDS // 2))
    assert tree.is_ignored(tmp_path, "a/b.py", clock=lambda: next(ticks)) is False
    assert tree.is_ignored(tmp_path, "a/b/c/d.py", clock=lambda: next(ticks)) is None


def test_a_link_to_what_is_kept_back_is_kept_back(root: Path) -> None:
    """Another name does not open it."""
    (root / "notes.txt").symlink_to(".env")
    refusal(FileResolver([root]), "notes.txt")


@NEEDS_GIT
def test_a_file_with_other_names_is_kept_back(
    root: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A hard link may lead to what is outside; nobody can tell where the other name stands."""
    outside = tmp_path_factory.mktemp("outside") / "secret.txt"
    outside.write_text("secret\n", encoding="utf-8")
    os.link(outside, root / "linked.txt")
    assert "2 names" in "".join(refusal(FileResolver([root]), "linked.txt").__notes__)
    assert FileResolver([root], everything=True).resolve("linked.txt").content == "secret\n"


@pytest.mark.parametrize(
    "rules",
    [
        "*.log\n" * 2_001 + "open.txt\n",
        "# a comment of a line\n" * 6_000 + "open.txt\n",
        "[[:alpha:]]*.txt\n",
    ],
    ids=["many lines", "many bytes", "class"],
)
def test_rules_that_cannot_be_judged_withhold_everything(tmp_path: Path, rules: str) -> None:
    """A file is never offered because a rule was not read or is read otherwise than by git."""
    (tmp_path / ".gitignore").write_text(rules, encoding="utf-8")
    (tmp_path / "open.txt").write_text("1\n", encoding="utf-8")
    assert not list(FileResolver([tmp_path]).entries())
    with pytest.raises(CannotAttachError):
        FileResolver([tmp_path]).resolve("open.txt")


WITHHELD = """
prod.env, .env.local, .envrc, credentials.json, id_work, a/terraform.tfstate.backup, kubeconfig,
.my.cnf, secrets.yml, CREDENTIALS, key.ppk, .env~, id_rsa.bak, key.pem.bak~, #.env#,
.bash_history, .config/gcloud/x.db, .azure/profile, aws_credentials, .terraformrc,
client_secret_12-ab.json, wp-config.php, .config/rclone/rclone.conf, database.yml, logins.json,
.password-store/mail.gpg, Default/Login Data, .netrc, application_default_credentials.json,
.m2/settings.xml, app/wp-config.php.bak, example.com.key, db-secret.yaml,
serviceAccountKey.json, .claude.json, rootkey.csv, .gemini/oauth_creds.json,
github-copilot/apps.json, .wp-config.php.swp, .id_rsa.swo, auth.json.~1~, wp-config.php.bak2,
server.key.old.txt, my_secret, secrets/db.txt, .secrets/key, api_keys.json, password, .Renviron,
etc/ssh/ssh_host_rsa_key, k3s.yaml, etc/kubernetes/admin.conf, Login Data For Account,
appsettings.Production.json, .config/op/config
"""
OPENLY_NAMED = """
secrets/engine.go, appsettings.json, notes.txt, example.env.md, secrets.example.yml,
wp-config-sample.php, client_secret.md, docs/credentials.rst, settings.xml, design/tokens.json,
HEAD.md, keys.py, login data.md, credentials.py, id_utils.ts, id_ed25519.pub, .env.example,
environment.py, idea.md, secretary.md
"""


@pytest.mark.parametrize(("names", "is_secret"), [(WITHHELD, True), (OPENLY_NAMED, False)])
def test_names_of_secrets_are_withheld(names: str, is_secret: bool) -> None:
    """Files that programs keep keys and passwords in, but not source code of such a name."""
    told = [
        name for name in re.split(r",\s", names.strip()) if holds_secrets(name) is not is_secret
    ]
    assert told == []


@pytest.mark.parametrize("folder", ["", "mirror.git/", "a/b/mirror/"])
def test_a_bare_repository_is_withheld(folder: str, tmp_path: Path) -> None:
    """It is version control's own, whatever its name: its settings may hold a password."""
    inside = {f"{folder}{name}": "" for name in ("HEAD", "config", "objects/a", "refs/b", "x/y")}
    root = planted(tmp_path, inside)
    resolver = FileResolver([root])
    assert not [*resolver.entries()]
    for name in inside:
        with pytest.raises(CannotAttachError, match="version control's own"):
            resolver.resolve(name)
