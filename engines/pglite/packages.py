"""Installs PGlite's npm packages once, at locked versions, into a cache folder."""

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
FILES = ("package.json", "package-lock.json", "server.mjs")
OLDEST_NODE = 20
INSTALL_LIMIT_S = 600
INSTALL = "python -m engines.pglite --fetch"


class PgliteMissing(EngineError):
    """Raised where PostgreSQL with pg_ivm cannot run; the text is one line with the remedy."""


@dataclass(frozen=True, slots=True)
class PackageCache:
    """The folder of one locked set of packages; another lock file or server script has another folder."""

    folder: Path

    @classmethod
    def of(cls, env: Mapping[str, str]) -> PackageCache:
        """Returns the cache below DVS_CACHE, by default `~/.cache/dvs-harness`."""
        root = env.get("DVS_CACHE") or Path(env.get("HOME") or Path.home()) / ".cache" / "dvs-harness"
        digest = hashlib.sha256(b"".join((HERE / name).read_bytes() for name in FILES)).hexdigest()[:12]
        return cls(Path(root).absolute() / f"pglite-{digest}")

    @property
    def server(self) -> Path:
        """The server's script, beside the packages that it imports."""
        return self.folder / "server.mjs"

    def installed(self) -> bool:
        """Whether all packages are installed: the folder gets its name when everything is in it."""
        return self.server.is_file()


def node(path: str | None = None) -> str:
    """Returns the path of Node.js. `path`: where to look (default: PATH). Raises PgliteMissing."""
    program = shutil.which("node", path=path)
    if program is None:
        raise PgliteMissing(
            f"pg_ivm runs on Node.js, and there is no node; install Node.js {OLDEST_NODE} or newer with npm, "
            f"then run `{INSTALL}`"
        )
    version = subprocess.run(
        [program, "--version"], capture_output=True, text=True, check=False
    ).stdout.strip()
    major = version.removeprefix("v").split(".")[0]
    if not major.isdigit() or int(major) < OLDEST_NODE:
        raise PgliteMissing(
            f"pg_ivm needs Node.js {OLDEST_NODE} or newer; {program} is {version or 'unknown'}"
        )
    return program


def needed(env: Mapping[str, str]) -> PackageCache:
    """Returns the installed packages. Raises PgliteMissing where Node.js or the packages are missing."""
    node(env.get("PATH"))
    cache = PackageCache.of(env)
    if not cache.installed():
        raise PgliteMissing(f"PGlite is not installed yet; run `{INSTALL}` (needs npm and its registry)")
    return cache


def fetch(env: Mapping[str, str]) -> PackageCache:
    """Installs the packages unless they are installed. Raises PgliteMissing with the reason of npm."""
    cache = PackageCache.of(env)
    if cache.installed():
        return cache
    node(env.get("PATH"))
    npm = shutil.which("npm", path=env.get("PATH"))
    if npm is None:
        raise PgliteMissing(
            f"PGlite is installed with npm, and there is none; install it, then run `{INSTALL}`"
        )
    cache.folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache.folder.parent, prefix="pglite-") as temporary:
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
        raise PgliteMissing(f"npm did not finish within {INSTALL_LIMIT_S} s; is the network slow?") from error
    if done.returncode != 0:
        errors = [line for line in done.stderr.splitlines() if line.startswith("npm error")]
        reason = errors[0].removeprefix("npm error").strip() if errors else "no reason given"
        raise PgliteMissing(f"npm cannot install PGlite ({reason}); can its registry be reached?")
