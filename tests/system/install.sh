#!/usr/bin/env bash
# Installs the Debian programs that `pnpm test:system` needs: a Postgres older than the embedded one.
set -euo pipefail
ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 && exit 0
as_root=(); [ "$(id -u)" = 0 ] || as_root=(sudo -n)
"${as_root[@]}" apt-get update -q
# Without a cluster of its own: the tests make theirs, and end it.
"${as_root[@]}" mkdir -p /etc/postgresql-common
[ -e /etc/postgresql-common/createcluster.conf ] ||
  echo 'create_main_cluster = false' | "${as_root[@]}" tee /etc/postgresql-common/createcluster.conf >/dev/null
DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -q -y --no-install-recommends postgresql
