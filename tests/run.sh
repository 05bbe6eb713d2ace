# The whole suite: on SQLite, then on PostgreSQL (and Redis) where there is one.
set -eu
if [ -z "${WITH_SERVICES:-}" ]; then
  WITH_SERVICES=1 exec sh tests/services.sh sh tests/run.sh
fi
export REELJUDGE_HOME="$(pwd)/var/test"
if [ -z "${TEST_POSTGRES_URL:-}" ] || [ -z "${TEST_REDIS_URL:-}" ] || [ -z "${CHROMIUM:-}" ]; then
  [ -z "${REQUIRE_SERVICES:-}" ] || { echo "REQUIRE_SERVICES is set, and a service is missing." >&2; exit 1; }
fi
# Side by side goes what has a database of its own for each process; what starts servers and browsers goes alone.
together="-n ${TEST_PROCESSES:-auto} --maxprocesses 4 --dist loadfile"
echo "— on SQLite"
env -u DATABASE_URL -u REDIS_URL "$PYTHON" -m pytest -q $together -m "not no_database"
echo "— with servers and browsers"
env -u DATABASE_URL -u REDIS_URL "$PYTHON" -m pytest -q -m no_database
if [ -n "${TEST_POSTGRES_URL:-}" ]; then
  echo "— on PostgreSQL"
  env -u REDIS_URL DATABASE_URL="$TEST_POSTGRES_URL" "$PYTHON" -m pytest -q $together -m "not no_database" --ignore=tests/metrics
fi
