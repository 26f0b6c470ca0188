"""Installs the npm packages of engines once, at locked versions, into a cache folder."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from engines.errors import EngineError

HERE = Path(__file__).parent
SERVERS = ("lines.mjs", "pglite.mjs", "db_ivm.mjs", "tanstack_db.mjs", "zql.mjs")
FILES = ("package.json", "package-lock.json", *SERVERS)
"""The files of an installation.

Of what @rocicorp/zero depends on, the lock file names the two that its operators import, not all 440."""

ON_NODE = "pg_ivm, db_ivm, tanstack_db and zql"
OLDEST_NODE = 20
INSTALL_LIMIT_S = 600
INSTALL = "python -m engines.others.node --fetch"


class NodeMissing(EngineError):
    """Raised where engines on Node.js cannot run; the text is one line with the remedy."""


@dataclass(frozen=True, slots=True)
class PackageCache:
    """The folder of one locked set of packages; another lock file or server script has another folder."""

    folder: Path

    @classmethod
    def of(cls, env: Mapping[str, str]) -> PackageCache:
        """Returns the cache below DVS_CACHE, by default `~/.cache/dvs-harness`."""
        root = env.get("DVS_CACHE") or Path(env.get("HOME") or Path.home()) / ".cache" / "dvs-harness"
        digest = hashlib.sha256(b"".join((HERE / name).read_bytes() for name in FILES)).hexdigest()[:12]
        return cls(Path(root).absolute() / f"engines-{digest}")

    def server(self, name: str) -> Path:
        """Returns the path of a server's script, which lies beside the packages that it imports."""
        return self.folder / name

    def installed(self) -> bool:
        """Tells whether all packages are installed: the folder gets its name when everything is in it."""
        return self.folder.is_dir()


def node(path: str | None = None) -> str:
    """Returns the path of Node.js. `path`: where to look (default: PATH). Raises NodeMissing."""
    program = shutil.which("node", path=path)
    if program is None:
        raise NodeMissing(
            f"{ON_NODE} run on Node.js, and there is no node; install Node.js {OLDEST_NODE} "
            f"or newer with npm, then run `{INSTALL}`"
        )
    version = subprocess.run(
        [program, "--version"], capture_output=True, text=True, check=False
    ).stdout.strip()
    major = version.removeprefix("v").split(".")[0]
    if not major.isdigit() or int(major) < OLDEST_NODE:
        raise NodeMissing(
            f"{ON_NODE} need Node.js {OLDEST_NODE} or newer; {program} is {version or 'unknown'}"
        )
    return program


def needed(env: Mapping[str, str]) -> PackageCache:
    """Returns the installed packages. Raises NodeMissing where Node.js or the packages are missing."""
    node(env.get("PATH"))
    cache = PackageCache.of(env)
    if not cache.installed():
        raise NodeMissing(
            f"the npm packages are not installed yet; run `{INSTALL}` (needs npm and its registry)"
        )
    return cache


def fetch(env: Mapping[str, str]) -> PackageCache:
    """Installs the packages unless they are installed. Raises NodeMissing with the reason of npm."""
    cache = PackageCache.of(env)
    if cache.installed():
        return cache
    node(env.get("PATH"))
    npm = shutil.which("npm", path=env.get("PATH"))
    if npm is None:
        raise NodeMissing(f"npm installs the packages, and there is none; install it, then run `{INSTALL}`")
    cache.folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache.folder.parent, prefix="engines-") as temporary:
        folder = Path(temporary) / "packages"
        folder.mkdir()
        for name in FILES:
            shutil.copy(HERE / name, folder)
        _npm_ci(npm, folder, env)
        try:
            folder.rename(cache.folder)
        except OSError:
            # Another process has installed them meanwhile.
            if not cache.installed():
                raise
    return cache


def _npm_ci(npm: str, folder: Path, env: Mapping[str, str]) -> None:
    # The socket server names every extension of PGlite as a peer; one is needed.
    command = [npm, "ci", "--legacy-peer-deps", "--ignore-scripts", "--no-audit", "--no-fund"]
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=dict(env),
            capture_output=True,
            text=True,
            check=False,
            timeout=INSTALL_LIMIT_S,
        )
    except subprocess.TimeoutExpired as error:
        raise NodeMissing(f"npm did not finish within {INSTALL_LIMIT_S} s; is the network slow?") from error
    if done.returncode != 0:
        errors = [line for line in done.stderr.splitlines() if line.startswith("npm error")]
        reason = errors[0].removeprefix("npm error").strip() if errors else "no reason given"
        raise NodeMissing(f"npm cannot install the packages ({reason}); can its registry be reached?")
