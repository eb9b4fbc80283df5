"""What of a stream is whole: after a loss no picture is, until a key frame makes all new.

A picture of H.264 is predicted from earlier ones. When one of those never came, over a
bad network or from a camera that cannot keep up, the decoder goes on from what it has and does not
say so: things that moved meanwhile stay where they were, in pieces, for as long as the camera takes
to the next key frame. Such a picture may show a card that is not there. That pictures are missing
is seen in their numbers (`frame_num`, H.264 7.4.3), which go up by one with each picture that
others may be predicted from; FFmpeg fills the gap, also where it is asked to give up at every error
(`err_detect=explode`). A picture of which a part is missing is marked by the decoder when it is
shown; where a stream has pictures predicted from a later one (B), as cameras seldom send, those
between were shown before. Decoders of H.265 leave such pictures out by themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from av import Packet
from av.error import InvalidDataError
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

# Bytes of a unit that are looked at: the longest set of parameters with all its scaling lists is
# shorter, and of a slice only the beginning is needed.
HEAD_BYTES = 600
START = b"\0\0\1"  # of a unit
SLICE, KEY_SLICE, OF_SEQUENCE, OF_PICTURE = 1, 5, 7, 8  # kinds of units
MOST_BITS, MOST_CYCLE = 16, 255  # of a number, and of an order that is given ahead (7.4.2.1.1)
# Profiles whose parameters say more of colours and scaling (7.3.2.1.1).
HIGH = frozenset({44, 83, 86, 100, 110, 118, 122, 128, 134, 135, 138, 139, 244})
SEPARATE = 3  # the kind of colours that may lie in planes of their own


class WholePictures:
    """Decodes the packets of a stream; a picture that cannot be trusted is `None`."""

    def __init__(self, stream: VideoStream) -> None:
        """Decode with `stream`, in one thread: several do not mark a picture that lacks a part."""
        self._context = context = stream.codec_context
        context.thread_type = "NONE"
        self._numbers = PictureNumbers(context.extradata or b"") if context.name == "h264" else None
        self._whole = True
        self._keys: list[int | None] = []  # times of the key packets since the last loss

    def decode(self, packet: Packet[VideoStream]) -> Iterator[VideoFrame | None]:
        """Yield the pictures that a packet completes, `None` for each that is not whole."""
        missing = self._numbers is not None and self._numbers.missing(bytes(packet))
        if missing or packet.is_corrupt:
            self._lose(packet.pts)
        elif packet.is_keyframe and not self._whole:
            self._keys.append(packet.pts)
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
                self._whole = True
                self._keys.clear()
            yield frame if self._whole else None

    def _lose(self, at: int | None) -> None:
        """Trust nothing until a key frame comes.

        Pictures that come after it and are shown before it may be damaged: they are predicted from
        earlier ones as well.
        """
        key_at = self._keys[0] if self._keys else None
        if at is None or key_at is None or at >= key_at:
            self._whole = False
            self._keys.clear()

    def _renews(self, frame: VideoFrame) -> bool:
        """Whether it is a key frame that came after the loss, and not one still on its way.

        A stream without key frames renews every picture little by little, from one packet that is
        called a key to the next; then the picture of the second is whole.
        """
        needed = 1 if frame.key_frame else 2
        if len(self._keys) < needed:
            return False
        key_at = self._keys[needed - 1]
        return frame.pts is None or key_at is None or frame.pts >= key_at


@dataclass(frozen=True, slots=True)
class _Parameters:
    """What the parameters of a sequence (7.3.2.1.1) say of the numbers of its pictures."""

    bits: int
    separate: bool
    gaps_allowed: bool


class PictureNumbers:
    """Follows the numbers of the pictures of an H.264 stream, in either of its two framings.

    Where the stream says that numbers may be left out, as with layers of several frame rates,
    nothing can be known. A picture that begins the numbers again without being a key frame (memory
    management operation 5, which cameras do not use) counts as a loss.
    """

    def __init__(self, parameters: bytes) -> None:
        """Take what the stream says of itself ahead, if it does."""
        # Framed by lengths (as in MP4 and RTMP), the parameters are a record of version 1.
        framed = parameters[:1] == b"\1" and len(parameters) > len(START) + 3
        self._length_bytes = (parameters[4] & 3) + 1 if framed else 0
        self._sequences: dict[int, _Parameters] = {}
        self._sequence_of: dict[int, int] = {}  # by the number of the parameters of a picture
        self._last: int | None = None
        for unit in _record(parameters) if framed else _units(parameters, 0):
            self._learn(unit)

    def missing(self, data: bytes) -> bool:
        """Whether a picture from which others are predicted is missing before that of a packet."""
        for unit in _units(data, self._length_bytes):
            kind = unit[0] & 31
            if kind in (SLICE, KEY_SLICE):
                return self._follow(unit, key=kind == KEY_SLICE)
            self._learn(unit)
        return False

    def _follow(self, unit: bytes, *, key: bool) -> bool:
        bits = _Bits(unit)
        bits.exponential()  # the first macroblock
        bits.exponential()  # the kind of slice
        sequence = self._sequences.get(self._sequence_of.get(bits.exponential(), -1))
        if sequence is None:
            return False
        bits.take(2 if sequence.separate else 0)
        number, last = bits.take(sequence.bits), self._last
        expected = (last, (last + 1) % (1 << sequence.bits)) if last is not None else (number,)
        if key or unit[0] >> 5:  # others are predicted from it
            self._last = number
        return not key and not sequence.gaps_allowed and number not in expected

    def _learn(self, unit: bytes) -> None:
        bits = _Bits(unit)
        if unit[0] & 31 == OF_PICTURE:
            self._sequence_of[bits.exponential()] = bits.exponential()
        if unit[0] & 31 != OF_SEQUENCE:
            return
        profile = bits.take(8)
        bits.take(16)
        name, separate = bits.exponential(), False
        if profile in HIGH:
            colours = bits.exponential()
            separate = colours == SEPARATE and bool(bits.take(1))
            bits.exponential()
            bits.exponential()
            bits.take(1)
            if bits.take(1):
                for index in range(12 if colours == SEPARATE else 8):
                    _skip_scaling_list(bits, 16 if index < 6 else 64)
        length, order = bits.exponential() + 4, bits.exponential()
        if order == 0:
            bits.exponential()
        elif order == 1:
            bits.take(1)
            bits.exponential()
            bits.exponential()
            for _ in range(min(bits.exponential(), MOST_CYCLE)):
                bits.exponential()
        bits.exponential()
        if length <= MOST_BITS:  # more are no parameters, but what came in their place
            self._sequences[name] = _Parameters(length, separate, bool(bits.take(1)))


def _record(parameters: bytes) -> Iterator[bytes]:
    """Yield the units of a record of parameters (ISO/IEC 14496-15, 5.3.3.1)."""
    at = 5
    for mask in (31, 255):  # of the bits that say how many sets of sequences, of pictures, follow
        count = parameters[at] & mask if at < len(parameters) else 0
        at += 1
        for _ in range(count):
            length = int.from_bytes(parameters[at : at + 2])
            at += 2
            yield parameters[at : at + length] or b"\0"
            at += length


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
