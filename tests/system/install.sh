#!/usr/bin/env bash
# Installs the Debian programs that `pnpm test:system` needs: a Postgres older than the embedded one, nginx, haproxy and
# libfaketime. None of them runs as a service: the tests start their own processes.
set -euo pipefail
has() { compgen -G "$1" >/dev/null; }
missing=()
has '/usr/lib/postgresql/*/bin/postgres' || missing+=(postgresql)
has /usr/sbin/nginx || missing+=(nginx)
has /usr/sbin/haproxy || missing+=(haproxy)
dpkg-query --listfiles libfaketime >/dev/null 2>&1 || missing+=(libfaketime)
[ "${#missing[@]}" = 0 ] && exit 0

as_root=(); [ "$(id -u)" = 0 ] || as_root=(sudo -n)
"${as_root[@]}" apt-get update -q
# Creates no cluster: the tests create and stop their own.
"${as_root[@]}" mkdir -p /etc/postgresql-common
[ -e /etc/postgresql-common/createcluster.conf ] ||
  echo 'create_main_cluster = false' | "${as_root[@]}" tee /etc/postgresql-common/createcluster.conf >/dev/null
# Without this policy, Debian starts what it installs, for example nginx on all network interfaces.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee "$policy" >/dev/null
  "${as_root[@]}" chmod 755 "$policy"
  trap '"${as_root[@]}" rm -f "$policy"' EXIT
fi
DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -q -y --no-install-recommends "${missing[@]}"
for service in nginx haproxy; do
  case " ${missing[*]} " in *" $service "*) "${as_root[@]}" update-rc.d "$service" disable ;; esac
done
