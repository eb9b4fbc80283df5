"""Two cameras on loopback that can be made to fail in every way: HTTP (MJPEG) and RTSP (H.264).

Both keep their port when they die and come back, as a camera does.
"""

from __future__ import annotations

import http.server
import itertools
import random
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path
from typing import Any, Protocol

import cv2
import numpy as np

from tests.mqtt.mqtt_tools import free_port
from vision.sight.geometry.plane import Image

SIZE = (640, 360)
OTHER_SIZE = (320, 240)
PICTURE_S = 0.033
FAULTS = ("killed", "silent", "frozen", "resized", "garbled")
PYTHON = "/usr/bin/python3"


def picture(number: int, size: tuple[int, int] = SIZE) -> Image:
    """Return a picture with a sensor's noise that shows its number as a grey level."""
    rng = np.random.default_rng(number)
    image = np.full((size[1], size[0], 3), 40 + 5 * number % 160, np.uint8)
    noise = rng.integers(0, 12, (size[1] // 8, size[0] // 8, 3), np.uint8)
    return image + np.asarray(cv2.resize(noise, size, interpolation=cv2.INTER_NEAREST), np.uint8)


class BadCamera(Protocol):
    """A camera that fails on demand."""

    url: str

    def fail(self, fault: str) -> None:
        """Bring about a fault."""

    def mend(self) -> None:
        """End it; returns when the camera serves again."""

    def close(self) -> None:
        """Take the camera away for good."""


class HttpCamera:
    """An MJPEG camera; `fault` is what is wrong with it, "" for nothing."""

    def __init__(self) -> None:
        self.fault = ""
        self._port = free_port()
        self._server: http.server.ThreadingHTTPServer | None = None
        self.url = f"http://127.0.0.1:{self._port}/video.mjpg"
        self._jpegs = [_jpeg(number) for number in range(60)]
        self._small = [_jpeg(number, OTHER_SIZE) for number in range(60)]
        self._serve()

    def fail(self, fault: str) -> None:
        """Bring about a fault; `killed` closes the port too."""
        self.fault = fault
        if fault == "killed":
            self._end()

    def mend(self) -> None:
        """Serve as it should be."""
        self.fault = ""
        if self._server is None:
            self._serve()

    def close(self) -> None:
        """End the server and every connection."""
        self.fault = "killed"
        self._end()

    def _serve(self) -> None:
        camera = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                camera.stream(self)

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        http.server.ThreadingHTTPServer.allow_reuse_address = True
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", self._port), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def _end(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def stream(self, handler: http.server.BaseHTTPRequestHandler) -> None:
        """Send pictures, as the fault of the moment has them."""
        handler.send_response(200)
        handler.send_header("Content-Type", "multipart/x-mixed-replace; boundary=frame")
        handler.end_headers()
        last = self._jpegs[0]
        for number in itertools.count():
            fault = self.fault
            if fault == "killed":
                return
            if fault == "silent":
                time.sleep(PICTURE_S)
                continue
            pictures = self._small if fault == "resized" else self._jpegs
            data = last = last if fault == "frozen" else pictures[number % len(pictures)]
            data = garbled(data, number) if fault == "garbled" else data
            head = b"--frame\r\nContent-Type: image/jpeg\r\nContent-Length: %d\r\n\r\n" % len(data)
            try:
                handler.wfile.write(head + data + b"\r\n")
            except OSError:
                return
            time.sleep(PICTURE_S)


def garbled(data: bytes, seed: int) -> bytes:
    """Return data of the same length, all of it noise."""
    return random.Random(seed).randbytes(len(data))


def _jpeg(number: int, size: tuple[int, int] = SIZE) -> bytes:
    return bytes(cv2.imencode(".jpg", picture(number, size))[1].tobytes())


def has_rtsp_server() -> bool:
    """Whether Debian's GStreamer RTSP server is installed."""
    probe = (
        "import gi; gi.require_version('GstRtspServer', '1.0'); gi.require_version('Gst', '1.0')"
    )
    probe += "; from gi.repository import Gst, GstRtspServer; Gst.init(None)"
    probe += "; assert Gst.ElementFactory.find('x264enc') and Gst.ElementFactory.find('rtph264pay')"
    if not Path(PYTHON).exists():
        return False
    return subprocess.run([PYTHON, "-c", probe], capture_output=True, check=False).returncode == 0


class RtspCamera:
    """GStreamer's RTSP server behind a wire that can be made to garble what passes."""

    def __init__(self) -> None:
        self._port = free_port()
        self._wire = Wire(self._port)
        self.url = f"rtsp://127.0.0.1:{self._wire.port}/table"
        self._server = self._serve(SIZE)
        self._fault = ""

    def _serve(self, size: tuple[int, int]) -> subprocess.Popen[str]:
        script = str(Path(__file__).with_name("rtsp_server.py"))
        words = [PYTHON, script, str(self._port), *map(str, size)]
        server = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert server.stdout is not None
        assert server.stdout.readline() == "ready\n"
        return server

    def fail(self, fault: str) -> None:
        """Bring about a fault: kill it, stop it, freeze its picture, change its size, garble."""
        self._fault = fault
        if fault in ("killed", "resized"):
            self._kill()
        if fault == "resized":
            self._server = self._serve(OTHER_SIZE)
        if fault == "silent":
            self._server.send_signal(signal.SIGSTOP)
        if fault == "frozen":
            self._tell("freeze")
        self._wire.garbling = fault == "garbled"

    def mend(self) -> None:
        """Serve as it should be."""
        self._wire.garbling = False
        if self._fault == "silent":
            self._server.send_signal(signal.SIGCONT)
        if self._fault == "frozen":
            self._tell("go")
        if self._fault in ("killed", "resized"):
            self._kill()
            self._server = self._serve(SIZE)
        self._fault = ""

    def _tell(self, word: str) -> None:
        assert self._server.stdin is not None
        self._server.stdin.write(word + "\n")
        self._server.stdin.flush()

    def _kill(self) -> None:
        self._server.kill()
        self._server.communicate()

    def close(self) -> None:
        """End the server and the wire."""
        self._kill()
        self._wire.close()


class Wire:
    """A TCP wire to a port on loopback; while `garbling` every byte from there becomes another."""

    def __init__(self, target: int) -> None:
        self.garbling = False
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client = self._listener.accept()[0]
            except OSError:
                return
            try:
                server = socket.create_connection(("127.0.0.1", self._target), timeout=5)
                server.settimeout(None)
            except OSError:
                client.close()
                continue
            for ends in ((client, server, False), (server, client, True)):
                threading.Thread(target=self._carry, args=ends, daemon=True).start()

    def _carry(self, source: socket.socket, sink: socket.socket, garbles: bool) -> None:
        try:
            while data := source.recv(65536):
                sink.sendall(garbled(data, len(data)) if garbles and self.garbling else data)
        except OSError:
            pass
        finally:
            for end in (source, sink):
                end.close()

    def close(self) -> None:
        """Take no more connections."""
        self._listener.close()
