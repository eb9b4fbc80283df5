#!/bin/sh
# Installs the Debian or Ubuntu packages that a part of the project needs and that are missing:
#   run    to run the reader (OpenCV's shared libraries, Python's venv)
#   test   the same, and what the tests talk to: a real broker, a real browser, a video tool,
#          a real RTSP camera, a cluster of brokers, a database, a monitor's checker of its rules
# Does nothing where all are there. Needs root, or sudo, only if something is missing.
set -eu

run="libgl1 libglib2.0-0 python3-venv"
test="$run mosquitto mosquitto-clients chromium ffmpeg"
test="$test python3-gi gir1.2-gst-rtsp-server-1.0 gstreamer1.0-plugins-good gstreamer1.0-plugins-ugly"
test="$test nats-server postgresql prometheus"
# Other builds of Node bring npm without a package of that name.
command -v npm >/dev/null || test="$test nodejs npm"

case "${1:-}" in
    run) wanted=$run ;;
    test) wanted=$test ;;
    *) echo "usage: $0 run|test" >&2; exit 2 ;;
esac

if ! command -v dpkg-query >/dev/null; then
    echo "not a Debian or Ubuntu system: please see to it that these are there: $wanted" >&2
    exit 0
fi

missing=""
for package in $wanted; do
    # Ubuntu 24.04 and Debian 13 renamed some libraries with a t64 ending.
    for name in "$package" "${package}t64"; do
        if dpkg-query -W -f='${Status}' "$name" 2>/dev/null | grep -q "ok installed"; then
            continue 2
        fi
    done
    missing="$missing $package"
done
[ -z "$missing" ] && exit 0

as_root=""
if [ "$(id -u)" != 0 ]; then
    as_root=sudo
fi
echo "installing:$missing" >&2
export DEBIAN_FRONTEND=noninteractive
$as_root apt-get update -qq
# shellcheck disable=SC2086
$as_root apt-get install -y -qq --no-install-recommends $missing >/dev/null
