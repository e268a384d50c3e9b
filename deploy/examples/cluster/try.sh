#!/bin/sh
# try.sh DIR start|stop|status: a whole clustered site on this machine's loopback, to look at and to break: three ZooKeeper
# servers, a PostgreSQL server and three nodes, all below DIR, at ports from $PORT (18000) on. It wants the packages
# zookeeper and postgresql (the programs: no service is used), and concordat as $CONCORDAT or in the path.
#   sh deploy/examples/cluster/try.sh /tmp/three start
#   concordat --data /tmp/three/a cluster status
# A real site has each of these on a machine of its own; a.yaml, b.yaml and c.yaml are its configurations.
set -eu

dir=${1:?try.sh DIR start|stop|status}
do=${2:?try.sh DIR start|stop|status}
concordat=${CONCORDAT:-concordat}
port=${PORT:-18000}
nodes="a b c"
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
servers="127.0.0.1:$((port + 1)),127.0.0.1:$((port + 2)),127.0.0.1:$((port + 3))"
export CONCORDAT_ZOOKEEPER_ACCOUNT=site:try-only

wait_for() { # wait_for SECONDS WHAT COMMAND...
	left=$1 what=$2
	shift 2
	until "$@" >"$dir/last.out" 2>&1; do
		left=$((left - 1))
		if [ "$left" -le 0 ]; then
			echo "$what: no answer" >&2
			cat "$dir/last.out" >&2
			exit 1
		fi
		sleep 1
	done
}

as_database() { # initdb refuses root
	if [ "$(id -u)" = 0 ]; then runuser -u postgres -- "$@"; else "$@"; fi
}

running() { [ -f "$1" ] && kill -0 "$(cat "$1")" 2>/dev/null; }

start_zookeeper() {
	for i in 1 2 3; do
		mkdir -p "$dir/zk$i/data"
		echo "$i" >"$dir/zk$i/data/myid"
		{
			echo "tickTime=500"; echo "initLimit=20"; echo "syncLimit=10"
			echo "dataDir=$dir/zk$i/data"; echo "clientPort=$((port + i))"; echo "clientPortAddress=127.0.0.1"
			echo "admin.enableServer=false"; echo "4lw.commands.whitelist=srvr,mntr"; echo "minSessionTimeout=1000"; echo "maxSessionTimeout=60000"
			for j in 1 2 3; do echo "server.$j=127.0.0.1:$((port + 10 + j)):$((port + 20 + j))"; done
		} >"$dir/zk$i/zoo.cfg"
		running "$dir/zk$i/pid" && continue
		setsid java -Xms48m -Xmx64m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Dzookeeper.jmx.log4j.disable=true \
			-cp /usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar \
			org.apache.zookeeper.server.quorum.QuorumPeerMain "$dir/zk$i/zoo.cfg" >>"$dir/zk$i/log" 2>&1 </dev/null &
		echo $! >"$dir/zk$i/pid"
	done
}

start_database() {
	bin=$(ls -d /usr/lib/postgresql/*/bin | tail -1)
	if [ ! -f "$dir/pg/data/PG_VERSION" ]; then
		mkdir -p "$dir/pg"
		chmod 755 "$dir"
		[ "$(id -u)" != 0 ] || chown postgres "$dir/pg"
		as_database "$bin/initdb" -D "$dir/pg/data" -U concordat -A trust -E UTF8 --no-instructions >"$dir/pg.log"
	fi
	as_database "$bin/pg_ctl" -D "$dir/pg/data" status >/dev/null 2>&1 || as_database "$bin/pg_ctl" -D "$dir/pg/data" -s -w -l "$dir/pg/log" \
		-o "-p $((port + 5)) -c listen_addresses=127.0.0.1 -c unix_socket_directories=$dir/pg" start
	wait_for 60 PostgreSQL "$bin/psql" -h 127.0.0.1 -p "$((port + 5))" -U concordat -d postgres -c 'SELECT 1'
	"$bin/psql" -h 127.0.0.1 -p "$((port + 5))" -U concordat -d postgres -tAc "SELECT 1 FROM pg_database WHERE datname = 'site'" | grep -q 1 ||
		"$bin/createdb" -h 127.0.0.1 -p "$((port + 5))" -U concordat site
}

# serve starts a node as a service manager would: again, when it ends by an order of cluster restart.
serve() {
	running "$dir/$1.pid" && return
	setsid sh -c 'code=6; while [ $code = 6 ]; do code=0; "$0" --data "$1" serve --no-create --supervised || code=$?; done' \
		"$concordat" "$dir/$1" >>"$dir/$1.log" 2>&1 </dev/null &
	echo $! >"$dir/$1.pid"
	wait_for 60 "node $1" "$concordat" --data "$dir/$1" status
}

number() { case $1 in a) echo 1 ;; b) echo 2 ;; c) echo 3 ;; esac; }

start() {
	start_zookeeper
	start_database
	database="postgres://concordat@127.0.0.1:$((port + 5))/site?sslmode=disable"
	if [ ! -f "$dir/a/concordat.yaml" ]; then
		"$concordat" --data "$dir/a" init --site three --store "$database"
		"$concordat" --data "$dir/a" library create theses
	fi
	if ! grep -q '^cluster:' "$dir/a/concordat.yaml"; then
		grep -q '^serve:' "$dir/a/concordat.yaml" || printf 'serve:\n  listen: 127.0.0.1:%s\n  metrics: 127.0.0.1:%s\n' "$((port + 31))" "$((port + 41))" >>"$dir/a/concordat.yaml"
		wait_for 60 ZooKeeper "$concordat" --data "$dir/a" cluster init --node a --zone east --listen "127.0.0.1:$((port + 51))" \
			--coordinator "zk://$servers" --shards 4
	fi
	serve a
	for n in b c; do
		i=$(number $n)
		if [ ! -f "$dir/$n/concordat.yaml" ]; then
			token=$("$concordat" --data "$dir/a" cluster token $n)
			"$concordat" --data "$dir/$n" cluster join "$token" --zone "$([ $n = b ] && echo east || echo west)" --listen "127.0.0.1:$((port + 50 + i))"
			sed -i "s/127.0.0.1:$((port + 31))/127.0.0.1:$((port + 30 + i))/; s/127.0.0.1:$((port + 41))/127.0.0.1:$((port + 40 + i))/" "$dir/$n/concordat.yaml"
		fi
		serve $n
	done
	"$concordat" --data "$dir/a" cluster balance --wait
	echo "three nodes: http://127.0.0.1:$((port + 31))/ and the next two ports"
}

stop() {
	for n in $nodes zk1/ zk2/ zk3/; do
		file=$dir/$n.pid
		case $n in */) file=$dir/${n}pid ;; esac
		running "$file" || continue
		pid=$(cat "$file")
		kill -TERM -- "-$pid" 2>/dev/null || kill -TERM "$pid"
		while kill -0 -- "-$pid" 2>/dev/null; do sleep 0.2; done
	done
	bin=$(ls -d /usr/lib/postgresql/*/bin | tail -1)
	[ ! -f "$dir/pg/data/postmaster.pid" ] || as_database "$bin/pg_ctl" -D "$dir/pg/data" -s -m fast stop
}

case $do in
start) start ;;
stop) stop ;;
status) "$concordat" --data "$dir/a" cluster status ;;
*) echo "try.sh DIR start|stop|status" >&2; exit 2 ;;
esac
