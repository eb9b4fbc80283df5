"""A camera that is not who it says is not read, and nobody's modules come from a folder."""

from __future__ import annotations

import http.server
import io
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import av
import numpy as np
import pytest

from vision.camera.capture_process import pictures
from vision.camera.decoding import open_video
from vision.camera.source import open_source
from vision.config.table import CameraSection
from vision.errors import ConfigurationError, OutsideError

MAKE = Path(__file__).parents[2] / "deploy" / "mosquitto" / "certificates.sh"


def film() -> bytes:
    """Return a short film."""
    out = io.BytesIO()
    with av.open(out, "w", format="avi") as container:
        stream = container.add_stream("mjpeg", rate=10)
        stream.width, stream.height, stream.pix_fmt = 64, 64, "yuvj420p"
        for shade in range(5):
            picture = np.full((64, 64, 3), 40 * shade, np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="bgr24")))
        container.mux(stream.encode())
    return out.getvalue()


class Server(http.server.ThreadingHTTPServer):
    """An https camera; `/elsewhere` sends whoever asks to a file."""

    def __init__(self, folder: Path) -> None:
        words = ["sh", str(MAKE), str(folder / "authority"), str(folder / "own"), "localhost"]
        subprocess.run(words, check=True, capture_output=True)
        content = film()
        target = folder / "film.avi"
        target.write_bytes(content)

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if self.path == "/elsewhere":
                    self.send_response(302)
                    self.send_header("Location", target.as_uri())
                    self.end_headers()
                    return
                self.send_response(200)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "own/server.crt", folder / "own/server.key")
        self.socket = context.wrap_socket(self.socket, server_side=True)
        self.ca = str(folder / "own/ca.crt")
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def read(self, path: str, tls_ca: str) -> int:
        """Return how many pictures are read from an address of this server."""
        source = f"https://localhost:{self.server_address[1]}{path}"
        camera = CameraSection(source=source, tls_ca=tls_ca)
        return sum(image is not None for image in pictures(camera.model_dump()))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """Give a running server."""
    with Server(tmp_path) as running:
        yield running
        running.shutdown()


def test_camera_whose_certificate_nobody_vouches_for_is_not_read(server: Server) -> None:
    """Who stands between the reader and its camera shows it no film."""
    assert server.read("/", server.ca) > 0
    assert server.read("/", "") == 0


def test_camera_cannot_send_the_reader_elsewhere(server: Server) -> None:
    """A redirection to a file of this machine leads nowhere."""
    assert server.read("/elsewhere", server.ca) == 0


@pytest.mark.parametrize("source", ["file:///etc/passwd", "concat://a", "subfile://x"])
def test_address_of_no_camera_is_refused_with_the_cure(source: str) -> None:
    """The video library knows many more schemes than cameras have."""
    with pytest.raises(ConfigurationError, match="not a camera address"):
        open_source(CameraSection(source=source))


def test_no_module_comes_from_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file `av.py` where the reader was started would have had the camera's password."""
    (tmp_path / "av.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OutsideError):
        open_source(CameraSection(source="http://127.0.0.1:9/none", open_s=0.5))
    assert not (tmp_path / "ran").exists()


def test_list_of_films_is_no_film(tmp_path: Path) -> None:
    """A file that names another one by a relative name opens nothing."""
    (tmp_path / "other.avi").write_bytes(film())
    assert open_video(tmp_path / "other.avi").format.name == "avi"
    (tmp_path / "film.mp4").write_text("ffconcat version 1.0\nfile other.avi\n", "utf-8")
    with pytest.raises(ConfigurationError, match="is not a video"):
        open_video(tmp_path / "film.mp4")
