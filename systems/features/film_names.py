"""The names of video files and pictures. Importing this loads no FFmpeg, which web processes do not need."""

import os

# The demuxer is forced by the file's ending, so that a hostile file cannot choose a riskier one.
DEMUXERS = {
    ".mp4": "mp4",
    ".m4v": "mp4",
    ".mov": "mov",
    ".mkv": "matroska",
    ".webm": "matroska",
    ".avi": "avi",
    ".3gp": "mov",
    ".3g2": "mov",
    ".flv": "flv",
    ".ts": "mpegts",
    ".mts": "mpegts",
    ".m2ts": "mpegts",
    ".mpg": "mpeg",
    ".mpeg": "mpeg",
    ".vob": "mpeg",
    ".ogv": "ogg",
    ".wmv": "asf",
    ".": "",  # of a film whose name lost its ending: whichever of these it is
}
PICTURES = {".jpg", ".jpeg", ".png", ".webp"}


def stem_and_ending(name: str) -> tuple[str, str]:
    """Return the name of a film without its ending, and the ending in small letters.

    >>> stem_and_ending("a.b.MP4"), stem_and_ending("a.")
    (('a.b', '.mp4'), ('a', '.'))
    """
    stem, ending = os.path.splitext(name)
    return stem, ending.lower()
