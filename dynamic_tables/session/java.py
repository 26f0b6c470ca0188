"""Finds the Java that starts Spark: the first candidate that says it is a supported release."""

import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dynamic_tables.errors import SessionError

SUPPORTED = (17, 21)
"""The feature releases of Java that may start Spark."""

JVM_ROOTS = (Path("/usr/lib/jvm"),)
REMEDY = (
    "Install one (`apt-get install openjdk-17-jre-headless`, or openjdk-21-jre-headless where that is what "
    "the release has) or point at one (`export JAVA_HOME=<its folder>`)."
)
_ANSWER_S = 30
"""Seconds that a candidate has to say which Java it is."""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that runs: its home folder, its feature release, and the variable or folder that led to it."""

    home: Path
    major: int
    found_by: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """A place where a Java may be, and the variable or folder that led to it."""

    found_by: str
    executable: Path


def candidates(env: Mapping[str, str], jvm_roots: Sequence[Path]) -> Iterator[Candidate]:
    """Yields the places to look, best first: JAVA_HOME, PATH, then the folders where systems put JDKs."""
    if home := env.get("JAVA_HOME"):
        yield Candidate("JAVA_HOME", Path(home) / "bin" / "java")
    if on_path := shutil.which("java", path=env.get("PATH", "")):
        yield Candidate("PATH", Path(on_path))
    for root in jvm_roots:
        for executable in sorted(root.glob("*/bin/java")):
            yield Candidate(str(root), executable)


def ask(candidate: Candidate) -> Java | str:
    """Runs a candidate and returns the Java that it is, or a text that says why it cannot be used.

    Java itself tells its home, because the `java` on PATH is often a wrapper script and Spark needs the
    real folder.
    """
    if not candidate.executable.is_file():
        return f"{candidate.executable} does not exist"
    try:
        answer = subprocess.run(
            [candidate.executable, "-XshowSettings:properties", "-version"],
            capture_output=True,
            text=True,
            timeout=_ANSWER_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return f"{candidate.executable} does not run"
    properties = _properties(answer.stderr)
    home, version = properties.get("java.home"), properties.get("java.specification.version")
    if answer.returncode != 0 or home is None or version is None:
        return f"{candidate.executable} does not run"
    # Before Java 9 the version was written 1.8.
    return Java(Path(home), int(version.removeprefix("1.").split(".")[0]), candidate.found_by)


def find_java(env: Mapping[str, str], *, jvm_roots: Sequence[Path] = JVM_ROOTS) -> Java:
    """Returns the Java to start Spark with.

    Raises SessionError: if no candidate is a supported release; the text says what each candidate is.
    """
    refused = [] if env.get("JAVA_HOME") else ["JAVA_HOME is not set"]
    for candidate in candidates(env, jvm_roots):
        match ask(candidate):
            case Java(major=major) as java if major in SUPPORTED:
                return java
            case Java(major=major):
                reason = f"{candidate.executable} is Java {major}"
            case str(reason):
                pass
        refused.append(reason if candidate.found_by != "JAVA_HOME" else f"JAVA_HOME: {reason}")
    if shutil.which("java", path=env.get("PATH", "")) is None:
        refused.append("no java on PATH")
    wanted = " or ".join(str(major) for major in SUPPORTED)
    raise SessionError(f"Spark needs Java {wanted}", observed="; ".join(refused), remedy=REMEDY)


def _properties(shown: str) -> dict[str, str]:
    """Returns the properties in what Java prints: lines such as `java.home = /usr/lib/jvm/...`."""
    pairs = (line.partition(" = ") for line in shown.splitlines())
    return {name.strip(): value.strip() for name, equals, value in pairs if equals}
