"""Cameras that serve films as they are (H.264) by RTSP, in real time; run by Debian's own Python.

    /usr/bin/python3 tests/camera/film_server.py PORT FILM.mp4 ...

Film n, from 0, is at rtsp://127.0.0.1:PORT/n, and begins when somebody connects. Prints `ready`,
and ends with its standard input.
"""

import sys
import threading

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstRtspServer", "1.0")
from gi.repository import GLib, Gst, GstRtspServer  # noqa: E402

LAUNCH = (
    '( filesrc location="{}" ! qtdemux ! h264parse config-interval=-1 ! '
    "rtph264pay name=pay0 pt=96 config-interval=-1 )"
)


def main() -> None:
    """Serve until the standard input ends."""
    port, *films = sys.argv[1:]
    Gst.init(None)
    server = GstRtspServer.RTSPServer()
    server.set_address("127.0.0.1")
    server.set_service(port)
    for number, film in enumerate(films):
        factory = GstRtspServer.RTSPMediaFactory()
        factory.set_launch(LAUNCH.format(film))
        server.get_mount_points().add_factory(f"/{number}", factory)
    server.attach(None)
    loop = GLib.MainLoop()

    def end() -> None:
        sys.stdin.read()
        loop.quit()

    threading.Thread(target=end, daemon=True).start()
    print("ready", flush=True)
    loop.run()


if __name__ == "__main__":
    main()
