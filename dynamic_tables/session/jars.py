"""Jars of Delta and of S3A: downloaded once into a cache, and found there without a network afterwards."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from dynamic_tables.errors import SessionError

DELTA = "io.delta:delta-spark_4.2_2.13:4.4.0"
"""Delta for Spark 4.2 and Scala 2.13, as a Maven coordinate: group, artifact and version."""

S3A = "org.apache.hadoop:hadoop-aws:3.5.0"
"""Hadoop's client of S3, in the version of Spark's Hadoop."""

SDK = "2.35.4"
"""The version of Amazon's SDK that this S3A was built with."""

BESIDE: Mapping[str, tuple[str, ...]] = {
    S3A: tuple(
        f"software.amazon.awssdk:{part}:{SDK}"
        for part in ("s3", "s3-transfer-manager", "sts", "apache-client", "netty-nio-client")
    )
}
"""By coordinate what else is downloaded."""

LEFT_OUT: Mapping[str, tuple[str, ...]] = {
    # The whole SDK is one jar of 600 MB; Spark has Hadoop already, and a newer slf4j.
    S3A: (
        "software.amazon.awssdk:bundle",
        "org.apache.hadoop:hadoop-client-api",
        "org.apache.hadoop:hadoop-client-runtime",
        "org.slf4j:slf4j-api",
    )
}
"""By coordinate which of its dependencies are not downloaded."""

INSTALL_SPARK = "pip install pyspark==4.2.0 delta-spark==4.4.0"
"""What to run where Spark is not installed; a test compares the versions with those of pyproject.toml."""

REMEDY = (
    "Connect this machine to Maven Central once, or set DEFAULT_ARTIFACT_REPOSITORY to a mirror of it "
    "(https_proxy is honoured), or point DVS_CACHE at a cache folder copied from another machine."
)
_TRIED = re.compile(r"https?://([^/\s]+)/")
"""Finds in Ivy's log the hosts that it asked for the jars."""


@dataclass(frozen=True, slots=True)
class JarCache:
    """The folder with the jars of one Maven coordinate.

    A manifest of names and sizes is written after the last jar, so an incomplete download never counts as
    a cache. Each coordinate has its own folder, so an upgrade cannot mix two releases.
    """

    folder: Path

    @classmethod
    def of(cls, env: Mapping[str, str], coordinate: str = DELTA) -> "JarCache":
        """Returns the cache of a coordinate in the folder DVS_CACHE, by default `~/.cache/dvs-harness`."""
        root = env.get("DVS_CACHE") or Path(env.get("HOME") or Path.home()) / ".cache" / "dvs-harness"
        _, artifact, version = coordinate.split(":")
        return cls(Path(root).absolute() / f"{artifact}-{version}")

    @property
    def jars_folder(self) -> Path:
        """The folder into which Ivy puts the jars if its home is `folder`."""
        return self.folder / "jars"

    @property
    def _manifest(self) -> Path:
        """The file with the sizes of the jars in bytes, by name."""
        return self.folder / "manifest.json"

    def jars(self) -> tuple[Path, ...] | None:
        """Returns every jar of the coordinate, or None if one is missing or incomplete."""
        try:
            sizes = json.loads(self._manifest.read_text())
            paths = tuple(self.jars_folder / name for name in sorted(sizes))
            complete = all(path.stat().st_size == sizes[path.name] for path in paths)
        except (OSError, ValueError):
            return None
        return paths if paths and complete else None

    def seal(self) -> tuple[Path, ...]:
        """Writes the manifest of the jars that were just downloaded, and returns their paths."""
        sizes = {path.name: path.stat().st_size for path in sorted(self.jars_folder.glob("*.jar"))}
        self._manifest.write_text(json.dumps(sizes, indent=1) + "\n")
        return tuple(self.jars_folder / name for name in sizes)


def unresolved(launch_log: str, coordinate: str = DELTA) -> SessionError | None:
    """Returns the error of a launch whose jars could not be downloaded; None for another cause."""
    if "UNRESOLVED DEPENDENCIES" not in launch_log and "FAILED DOWNLOADS" not in launch_log:
        return None
    tried = dict.fromkeys(_TRIED.findall(launch_log))
    seen = f"not available from {', '.join(tried)}" if tried else "no repository was asked"
    return SessionError(f"The jars of {coordinate} cannot be downloaded", observed=seen, remedy=REMEDY)


def proxy_options(env: Mapping[str, str]) -> tuple[str, ...]:
    """Returns the Java options for http_proxy and https_proxy, variables that Java itself does not read."""
    options: list[str] = []
    for scheme in ("http", "https"):
        value = env.get(f"{scheme}_proxy") or env.get(f"{scheme}_proxy".upper())
        proxy = urlsplit(value if value and "//" in value else f"//{value or ''}")
        if proxy.hostname:
            options.append(f"-D{scheme}.proxyHost={proxy.hostname}")
            options.append(f"-D{scheme}.proxyPort={proxy.port or 80}")
    return tuple(options)
