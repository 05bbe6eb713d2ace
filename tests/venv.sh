# Make .venv. Debian keeps the module for that in a package of its own; root may fetch it.
set -eu
"$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
  echo "Reeljudge needs Python 3.11 or newer; $PYTHON is $("$PYTHON" --version). Set PYTHON=…" >&2; exit 2; }
[ -x .venv/bin/python ] && .venv/bin/python -m pip --version >/dev/null 2>&1 && exit 0
rm -rf .venv
"$PYTHON" -m venv .venv 2>/dev/null && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq python3-venv >/dev/null
  rm -rf .venv; exec "$PYTHON" -m venv .venv
fi
echo "Python cannot make a virtual environment here; install the package python3-venv and repeat." >&2
exit 2
