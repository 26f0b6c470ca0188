"""Finds a Java that Spark can use, and installs Debian's where there is none. Standard library only."""

import sys

from apt_get import can_install, install, run, update

from dynamic_tables.errors import SessionError
from dynamic_tables.session.java import JVM_ROOTS, find_java

PACKAGES = ("openjdk-17-jre-headless", "openjdk-21-jre-headless")
"""Debian 12 has the first, Debian 13 the second."""


def ensure(env, jvm_roots=JVM_ROOTS):
    """Makes sure that there is a usable Java; returns None, or the problem and its remedy in one line."""
    problem = java_problem(env, jvm_roots)
    if problem is None:
        return None
    if not can_install():
        package = available()
        return "{0} On Debian or Ubuntu: `sudo apt-get install -y {1}`, then run make again.".format(
            problem.partition(" Install one ")[0], package
        )
    sys.stderr.write("installing Java for Spark ...\n")
    old_lists = update()
    package = available()
    reason = install(package)
    if reason:
        return "{0} cannot be installed ({1}). Install Java 17 or 21, then run make again.".format(
            package, old_lists or reason
        )
    return java_problem(env, jvm_roots)


def java_problem(env, jvm_roots=JVM_ROOTS):
    """Returns why no Java on this machine is usable; None when one is."""
    try:
        find_java(env, jvm_roots=jvm_roots)
    except SessionError as error:
        return str(error)
    return None


def available():
    """Returns the first of the packages that this release has; the first one where that cannot be known."""
    # `apt-cache show` does not tell: it succeeds for a package that only other packages mention.
    simulation = ("apt-get", "install", "--simulate", "-qq", "--no-install-recommends")
    return next((package for package in PACKAGES if not run((*simulation, package))), PACKAGES[0])
