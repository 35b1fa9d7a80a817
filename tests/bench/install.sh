#!/usr/bin/env bash
# Installs wrk, which makes the load of `pnpm bench`, where it is not there yet.
set -euo pipefail
command -v wrk >/dev/null && exit 0
trap "echo 'The benchmark needs wrk. Install it, then try again.' >&2" ERR
as_root=(); [ "$(id -u)" = 0 ] || as_root=(sudo -n)
"${as_root[@]}" apt-get update -q
DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -q -y --no-install-recommends wrk
