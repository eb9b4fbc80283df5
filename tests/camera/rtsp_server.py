"""A camera that serves H.264 by RTSP, made of GStreamer's server; run by Debian's own Python.

    /usr/bin/python3 tests/camera/rtsp_server.py PORT WIDTH HEIGHT

Prints `ready`, then obeys the lines `freeze` (an encoder that goes on with a picture that stands
still) and `go`. It ends with its standard input.
"""

import sys
import threading

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstRtspServer", "1.0")
from gi.repository import GLib, Gst, GstRtspServer  # noqa: E402

LAUNCH = (
    "( videotestsrc name=film is-live=true pattern=ball ! "
    "video/x-raw,width={width},height={height},framerate=30/1 ! "
    "x264enc tune=zerolatency speed-preset=ultrafast key-int-max=30 bitrate=1500 ! "
    "rtph264pay name=pay0 pt=96 config-interval=1 )"
)
PATTERNS = {"go": "ball", "freeze": "checkers-8"}


def main() -> None:
    """Serve until the standard input ends."""
    port, width, height = sys.argv[1:4]
    Gst.init(None)
    films = []
    factory = GstRtspServer.RTSPMediaFactory()
    factory.set_launch(LAUNCH.format(width=width, height=height))
    factory.set_shared(True)
    pattern = ["ball"]

    def configure(_: object, media: GstRtspServer.RTSPMedia) -> None:
        film = media.get_element().get_by_name("film")
        Gst.util_set_object_arg(film, "pattern", pattern[0])
        films.append(film)

    factory.connect("media-configure", configure)
    server = GstRtspServer.RTSPServer()
    server.set_address("127.0.0.1")
    server.set_service(port)
    server.get_mount_points().add_factory("/table", factory)
    server.attach(None)
    loop = GLib.MainLoop()

    def obey() -> None:
        for line in sys.stdin:
            pattern[0] = PATTERNS[line.strip()]
            for film in films:
                Gst.util_set_object_arg(film, "pattern", pattern[0])
        loop.quit()

    threading.Thread(target=obey, daemon=True).start()
    print("ready", flush=True)
    loop.run()


if __name__ == "__main__":
    main()
