#!/bin/sh
# Chromium and Chinese fonts, for the tests that look at pages. Only where they are missing, and only by apt.
set -eu
if command -v chromium >/dev/null 2>&1 && fc-list :lang=zh 2>/dev/null | grep -q .; then
    exit 0
fi
if ! command -v apt-get >/dev/null 2>&1; then
    echo "apt-get is not available: install Chromium and Noto CJK fonts yourself. Without them, tests of pages are skipped." >&2
    exit 0
fi
sudo=""
[ "$(id -u)" = 0 ] || sudo="sudo"
$sudo apt-get update -q
DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -q --no-install-recommends chromium fonts-noto-cjk fontconfig
