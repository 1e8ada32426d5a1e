#!/bin/sh
# Prints the Python to make the environment with: the first that is 3.11 or later and can make one. With arguments, only
# these are tried.
set -eu
[ $# -gt 0 ] || set -- python3 python3.14 python3.13 python3.12 python3.11
without=""
for python in "$@"; do
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2]); sys.exit(sys.version_info < (3, 11))' 2>/dev/null) ||
        continue
    if "$python" -c 'import ensurepip, venv' >/dev/null 2>&1; then
        command -v "$python"
        exit 0
    fi
    without="${without:-$version}"
done
if [ -n "$without" ]; then
    echo "Python $without has no venv module: install it (Debian, Ubuntu: apt-get install python$without-venv), then run make again." >&2
else
    echo "No Python 3.11 or later was found as $(echo "$*" | sed 's/ /, /g'): install one with venv (Debian, Ubuntu: apt-get install python3 python3-venv; macOS: brew install python), or name one: make PYTHON=/path/to/python3." >&2
fi
exit 1
