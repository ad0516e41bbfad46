#!/bin/sh
# Installs Segue from a checkout into an environment of its own: sh install.sh CHECKOUT TARGET
# The versions are those of requirements/run.txt, each checked by its hash: the server, and PostgreSQL.
set -eu
checkout=$1
target=$2
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT

"${PYTHON:-python3}" -m venv "$build/venv"
"$build/venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-cache-dir \
    --require-hashes -r "$checkout/requirements/build.txt"
(cd "$checkout" && "$build/venv/bin/python" -m hatchling build --target wheel -d "$build/dist")

"${PYTHON:-python3}" -m venv --without-pip "$target"
install="$build/venv/bin/python -m uv pip install --quiet --python $target/bin/python"
$install --require-hashes -r "$checkout/requirements/run.txt"
$install --no-deps "$build"/dist/*.whl
"$target/bin/python" -m compileall -q "$target/lib"
cp "$checkout/deploy/healthcheck.py" "$target/healthcheck.py"
