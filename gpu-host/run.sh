#!/bin/bash
# The gate on an offline GPU host, from a bundle (make gpu-bundle):
#
#   run.sh [--rig h200] [--time-limit S] [--out DIR] [--dry-run] gate | selftest | baselines N | aa N | planted NAME |
#          patch NAME… | culprit NAME… | visit [ARM] | clients [ARM] | captures [ARM] | killed [ARM] | doctor | pytest | install
#
# run.sh --help tells all options; docs/gpu-host.md tells the rest. $PYTHON is the Python that has torch (python3).
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
python=${PYTHON:-python3}
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
	echo "gpu-host: tried: run the driver with '$python'" >&2
	echo "          found: $("$python" --version 2>&1 || true): it is no Python 3.11 or later" >&2
	echo "          do:    name the Python that has torch: PYTHON=/path/to/python3 $0 …" >&2
	exit 1
fi
exec "$python" -u "$here/driver.py" "$@"
