"""What of a stream is whole: after a loss no picture is, until a key frame makes all anew.

A picture of H.264 is told as what differs from earlier ones. When one of those never came, over a
bad network or from a camera that cannot keep up, the decoder goes on from what it has and does not
say so: things that moved meanwhile stay where they were, in pieces, for as long as the camera takes
to the next key frame. Such a picture may show a card that is not there. That pictures are missing
is seen in their numbers (`frame_num`, H.264 7.4.3), which go up by one with each picture that
others may be told from. A picture of which a part is missing is marked by the decoder when it is
shown; where a stream has pictures that are told from a later one (B), as cameras seldom send, those
between were shown before. Decoders of H.265 leave such pictures out by themselves.
"""

from __future__ import annotations

from collections.abc import Iterator

from av import Packet
from av.error import InvalidDataError
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

# Bytes of a unit that are looked at: the longest set of parameters with all its scaling lists is
# shorter, and of a slice only the beginning is needed.
HEAD_BYTES = 600
START = b"\0\0\1"  # of a unit
SLICE, KEY_SLICE, PARAMETERS = 1, 5, 7  # kinds of units
# Profiles whose parameters say more of colours and scaling (7.3.2.1.1).
HIGH = frozenset({44, 83, 86, 100, 110, 118, 122, 128, 134, 135, 138, 139, 244})
SEPARATE = 3  # the kind of colours that may lie in planes of their own


class WholePictures:
    """Decodes the packets of a stream; a picture that cannot be trusted is `None`."""

    def __init__(self, stream: VideoStream) -> None:
        """Decode with `stream`; what is damaged is an error to its decoder, not a guess."""
        self._context = context = stream.codec_context
        context.options = {"err_detect": "explode"}
        context.thread_type = "NONE"  # several threads do not mark a picture that lacks a part
        self._numbers = PictureNumbers(context.extradata or b"") if context.name == "h264" else None
        self._whole = True
        self._key_at: int | None = None
        self._key_came = False

    def decode(self, packet: Packet[VideoStream]) -> Iterator[VideoFrame | None]:
        """Yield the pictures that a packet completes, `None` for each that is not whole."""
        missing = self._numbers is not None and self._numbers.missing(bytes(packet))
        if missing or packet.is_corrupt:
            self._lose(packet.pts)
        elif packet.is_keyframe and not self._whole:
            self._key_came, self._key_at = True, packet.pts
        try:
            frames = self._context.decode(packet)
        except InvalidDataError:
            self._lose(packet.pts)
            frames = []
            yield None
        for frame in frames:
            if frame.is_corrupt:
                self._lose(frame.pts)
            elif not self._whole and self._renews(frame):
                self._whole, self._key_came = True, False
            yield frame if self._whole else None

    def _lose(self, at: int | None) -> None:
        """Trust nothing until a key frame comes.

        Pictures that come after it and are shown before it may be damaged: they are told from
        earlier ones as well.
        """
        key_at = self._key_at if self._key_came else None
        if at is None or key_at is None or at >= key_at:
            self._whole = self._key_came = False

    def _renews(self, frame: VideoFrame) -> bool:
        """Whether it is the key frame that came after the loss, and not one still on its way."""
        late = frame.pts is None or self._key_at is None or frame.pts >= self._key_at
        return self._key_came and bool(frame.key_frame) and late


class PictureNumbers:
    """Follows the numbers of the pictures of an H.264 stream, in either of its two framings."""

    def __init__(self, parameters: bytes) -> None:
        """Take what the stream says of itself ahead, if it does."""
        # Framed by lengths (as in MP4 and RTMP), the parameters begin with a version, 1.
        framed = parameters[:1] == b"\1" and len(parameters) > 8
        self._length_bytes = (parameters[4] & 3) + 1 if framed else 0
        self._number_bits = 0
        self._gaps_allowed = self._separate = False
        self._last: int | None = None
        units = [parameters[8 : 8 + HEAD_BYTES]] if framed else _units(parameters, 0)
        for unit in units:
            if unit and unit[0] & 31 == PARAMETERS:
                self._learn(unit)

    def missing(self, data: bytes) -> bool:
        """Whether a picture that others are told from is missing before the one in a packet."""
        for unit in _units(data, self._length_bytes):
            kind = unit[0] & 31
            if kind == PARAMETERS:
                self._learn(unit)
            elif kind in (SLICE, KEY_SLICE) and self._number_bits:
                return self._follow(unit, key=kind == KEY_SLICE)
        return False

    def _follow(self, unit: bytes, *, key: bool) -> bool:
        bits = _Bits(unit)
        for _ in range(3):  # first macroblock, kind of slice, parameters of the picture
            bits.exponential()
        bits.take(2 if self._separate else 0)
        number, last = bits.take(self._number_bits), self._last
        expected = (last, (last + 1) % (1 << self._number_bits)) if last is not None else (number,)
        if key or unit[0] >> 5:  # others are told from it
            self._last = number
        return not key and not self._gaps_allowed and number not in expected

    def _learn(self, unit: bytes) -> None:
        """Take from the parameters how long a number is and whether some may be left out."""
        bits = _Bits(unit)
        profile = bits.take(8)
        bits.take(16)
        bits.exponential()
        self._separate = False
        if profile in HIGH:
            colours = bits.exponential()
            self._separate = colours == SEPARATE and bool(bits.take(1))
            bits.exponential()
            bits.exponential()
            bits.take(1)
            if bits.take(1):
                for index in range(12 if colours == SEPARATE else 8):
                    _skip_scaling_list(bits, 16 if index < 6 else 64)
        self._number_bits = bits.exponential() + 4
        order = bits.exponential()
        if order == 0:
            bits.exponential()
        elif order == 1:
            bits.take(1)
            for _ in range(2):
                bits.exponential()
            for _ in range(bits.exponential()):
                bits.exponential()
        bits.exponential()
        self._gaps_allowed = bool(bits.take(1))


def _skip_scaling_list(bits: _Bits, size: int) -> None:
    """Pass over a scaling list (7.3.2.1.1.1), if there is one."""
    if not bits.take(1):
        return
    last = following = 8
    for _ in range(size):
        if following:
            code = bits.exponential()
            following = (last + ((code + 1) // 2 if code % 2 else -(code // 2))) % 256
        last = following or last


def _units(data: bytes, length_bytes: int) -> Iterator[bytes]:
    """Yield the beginnings of the units in a packet, framed by lengths or (0) by start codes."""
    at = 0
    while not length_bytes and (at := data.find(START, at)) >= 0:
        at += len(START)
        if at < len(data):
            yield data[at : at + HEAD_BYTES]
    while length_bytes and at + length_bytes < len(data):
        length = int.from_bytes(data[at : at + length_bytes])
        at += length_bytes
        yield data[at : at + min(length, HEAD_BYTES)] or b"\0"
        at += length


class _Bits:
    """The bits of a unit after its first byte; beyond its end there are zeros."""

    def __init__(self, unit: bytes) -> None:
        # Within a unit 0 0 3 stands for 0 0, so that no start code comes about (7.4.1).
        plain = unit[1:].replace(b"\0\0\3", b"\0\0")
        self._value, self._left = int.from_bytes(plain), 8 * len(plain)

    def take(self, count: int) -> int:
        """Return the next bits as a number."""
        self._left -= count
        shifted = self._value >> self._left if self._left >= 0 else 0
        return shifted & ((1 << count) - 1)

    def exponential(self) -> int:
        """Return the next number of the kind ue(v) (9.1)."""
        zeros = 0
        while self._left > 0 and not self.take(1):
            zeros += 1
        return (1 << zeros) - 1 + self.take(zeros)
