#!/bin/sh
# axe-core, which checks pages for readers with disabilities, as $1/axe.min.js: from npm, which no other test needs.
set -eu
version=4.14.1
[ -s "$1/axe.min.js" ] && [ "$(cat "$1/version" 2>/dev/null)" = "$version" ] && exit 0
if ! command -v npm >/dev/null 2>&1; then
    echo "npm is not available: the tests that check pages with axe are skipped. Install npm, then run this again." >&2
    exit 0
fi
mkdir -p "$1"
file=$(npm pack "axe-core@$version" --silent --pack-destination "$1" | tail -1)
tar -xzf "$1/$file" -C "$1" --strip-components=1 package/axe.min.js
rm "$1/$file"
echo "$version" >"$1/version"
