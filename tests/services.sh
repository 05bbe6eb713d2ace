# Run a command with PostgreSQL, Redis and Chromium at hand, as far as this machine has or may get them.
#
# What listens already is used; what is installed is started, privately, and stopped at the end. The command sees
# TEST_POSTGRES_URL, TEST_REDIS_URL and CHROMIUM, each only where there is one.
set -u
private=""
missing=""

have() { command -v "$1" >/dev/null 2>&1; }
listens() { "$PYTHON" -c "import socket; socket.create_connection(('127.0.0.1', $1), 1)" 2>/dev/null; }
postgres_bin() { ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1; }
# The shell without windows comes first: it asks less of the machine.
find_chromium() { for name in chromium-headless-shell chromium chromium-browser google-chrome; do have $name && command -v $name && return; done; }

wanted=""
[ -n "${CHROMIUM:-$(find_chromium)}" ] || wanted="$wanted chromium"
listens 5432 || [ -n "$(postgres_bin)" ] || wanted="$wanted postgresql"
listens 6379 || have redis-server || wanted="$wanted redis-server"
if [ -n "$wanted" ] && [ "$(id -u)" = 0 ] && have apt-get; then
  echo "Installing for the tests:$wanted"
  apt-get update -qq
  if apt-cache show chromium-headless-shell >/dev/null 2>&1; then
    wanted=$(echo "$wanted" | sed 's/chromium/chromium-headless-shell/')
  fi
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $wanted >/dev/null
fi

stop() {
  [ -n "$private" ] || return 0
  [ -f "$private/redis.pid" ] && kill "$(cat "$private/redis.pid")" 2>/dev/null
  [ -d "$private/postgres" ] && as_postgres "$(postgres_bin)/pg_ctl" -D "$private/postgres" -m fast stop >/dev/null 2>&1
  rm -rf "$private"
}
trap stop EXIT
trap 'exit 130' INT TERM
as_postgres() { if [ "$(id -u)" = 0 ]; then runuser -u postgres -- "$@"; else "$@"; fi; }
folder() { [ -n "$private" ] || { private=$(mktemp -d); chmod 755 "$private"; }; }

if [ -n "${TEST_POSTGRES_URL:-}" ]; then :
elif listens 5432; then TEST_POSTGRES_URL=postgres://postgres@127.0.0.1:5432/postgres
elif [ -n "$(postgres_bin)" ]; then
  folder; mkdir "$private/postgres"; [ "$(id -u)" = 0 ] && chown postgres "$private/postgres"
  if as_postgres "$(postgres_bin)/initdb" -D "$private/postgres" -U postgres -A trust >/dev/null &&
     as_postgres "$(postgres_bin)/pg_ctl" -D "$private/postgres" -w -l "$private/postgres/log" \
       -o "-p 54329 -c listen_addresses=127.0.0.1 -k $private/postgres" start >/dev/null
  then TEST_POSTGRES_URL=postgres://postgres@127.0.0.1:54329/postgres; fi
fi
if [ -n "${TEST_REDIS_URL:-}" ]; then :
elif listens 6379; then TEST_REDIS_URL=redis://127.0.0.1:6379/9
elif have redis-server; then
  folder
  redis-server --daemonize yes --bind 127.0.0.1 --port 63799 --save "" --dir "$private" --pidfile "$private/redis.pid" >/dev/null &&
    TEST_REDIS_URL=redis://127.0.0.1:63799/0
fi
CHROMIUM=${CHROMIUM:-$(find_chromium)}

# Something may listen that does not let us in.
if [ -n "${TEST_POSTGRES_URL:-}" ]; then
  "$PYTHON" -c "import psycopg, sys; psycopg.connect(sys.argv[1], connect_timeout=3).close()" "$TEST_POSTGRES_URL" 2>/dev/null || TEST_POSTGRES_URL=""
fi
[ -n "${TEST_POSTGRES_URL:-}" ] && export TEST_POSTGRES_URL || missing="$missing PostgreSQL"
[ -n "${TEST_REDIS_URL:-}" ] && export TEST_REDIS_URL || missing="$missing Redis"
[ -n "$CHROMIUM" ] && export CHROMIUM || missing="$missing Chromium"
[ -z "$missing" ] || echo "Not here and not to be installed:$missing. What needs them is skipped."

"$@"
