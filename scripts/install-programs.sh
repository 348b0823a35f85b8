#!/usr/bin/env bash
# Installs missing programs that tests need besides Node, as packages of Debian. Starts none of them.
set -euo pipefail

# Each entry names a program and the package that contains it.
programs=(
  systemd-analyze=systemd
  nats-server=nats-server
  etcd=etcd-server
  patroni=patroni
  /usr/lib/postgresql/15/bin/postgres=postgresql-15
)

missing=()
for entry in "${programs[@]}"; do
  command -v "${entry%%=*}" > /dev/null || missing+=("${entry#*=}")
done
if [ ${#missing[@]} -eq 0 ]; then
  exit 0
fi
if [ "$(id -u)" -ne 0 ]; then
  echo "Missing packages: ${missing[*]}. Install them with apt-get, or run this as root." >&2
  exit 1
fi

# Without this file, the packages would start services, and PostgreSQL would create a database.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  trap 'rm -f "$policy"' EXIT
  printf '#!/bin/sh\nexit 101\n' > "$policy"
  chmod +x "$policy"
fi
cluster_settings=/etc/postgresql-common/createcluster.conf
if [ ! -e "$cluster_settings" ]; then
  mkdir -p "${cluster_settings%/*}"
  echo 'create_main_cluster = false' > "$cluster_settings"
fi

export DEBIAN_FRONTEND=noninteractive
install() {
  apt-get install -qq --yes --no-install-recommends -o Dpkg::Use-Pty=0 -o Dpkg::Options::=--force-confold "${missing[@]}" python3-etcd
}
install || { apt-get update -qq && install; }
