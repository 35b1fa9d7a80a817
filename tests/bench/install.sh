#!/usr/bin/env bash
# Installs wrk, the load generator of `pnpm bench`, if it is missing.
set -euo pipefail
command -v wrk >/dev/null && exit 0
trap "echo 'The benchmark needs wrk. Install it, then try again.' >&2" ERR
as_root=(); [ "$(id -u)" = 0 ] || as_root=(sudo -n)
"${as_root[@]}" apt-get update -q
DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -q -y --no-install-recommends wrk
