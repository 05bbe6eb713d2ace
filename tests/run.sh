# The suite: all of it on SQLite, with servers and browsers; beside it, on PostgreSQL, what differs by database.
#
# `sh tests/run.sh everything` also runs on PostgreSQL what does not.
set -eu
if [ -z "${WITH_SERVICES:-}" ]; then
  WITH_SERVICES=1 exec sh tests/services.sh sh tests/run.sh "$@"
fi
export REELJUDGE_HOME="$(pwd)/var/test"
if [ -z "${TEST_POSTGRES_URL:-}" ] || [ -z "${TEST_REDIS_URL:-}" ] || [ -z "${CHROMIUM:-}" ]; then
  [ -z "${REQUIRE_SERVICES:-}" ] || { echo "REQUIRE_SERVICES is set, and a service is missing." >&2; exit 1; }
fi
# One process more than there are cores, since the first waits for servers and a browser.
processes="${TEST_PROCESSES:-$(($("$PYTHON" -c "import os; print(min(os.cpu_count(), 3))") + 1))}"
together="-p tests.forks --durations 25"
# The many processes that are started read what the first of them compiled.
unset PYTHONDONTWRITEBYTECODE
# Each process computes in one thread: more would wait for each other, and take many times as long.
export OMP_NUM_THREADS=1
# Both runs share what is made once.
export REELJUDGE_MADE_ONCE="$(mktemp -d -t reeljudge-XXXXXXXX)"
trap '"$PYTHON" -m tests.made_once' EXIT
beside="" failed=0
trap '[ -z "$beside" ] || kill "$beside"; exit 130' INT TERM
if [ -n "${TEST_POSTGRES_URL:-}" ]; then
  again="database and both_databases and not any_database and not long" forks=""
  files=$(grep -rlE "both_databases|transaction=True" --include "test_*.py" tests)  # the others need not be imported
  [ "${1:-}" != everything ] || { again="database and not long" forks="--forks $processes" files=tests; }
  env -u REDIS_URL DATABASE_URL="$TEST_POSTGRES_URL" REELJUDGE_TEST_PROCESS=5 \
    "$PYTHON" -m pytest -q $together $forks -m "$again" $files >"$REELJUDGE_MADE_ONCE/log" 2>&1 &
  beside=$!
fi
echo "— all tests, on SQLite; with servers on both databases, and browsers"
env -u DATABASE_URL -u REDIS_URL "$PYTHON" -m pytest -q $together --forks "$processes" || failed=$?
if [ -n "$beside" ]; then
  echo "— on PostgreSQL, in a process beside them ($again)"
  wait "$beside" || failed=$?
  cat "$REELJUDGE_MADE_ONCE/log"
fi
exit "$failed"
