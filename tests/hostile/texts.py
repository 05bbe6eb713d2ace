"""Texts that no reader expects: what each form of file and of body can do to whoever reads it."""

from __future__ import annotations

import gzip
import io
import zipfile

DEEP = 3000
MIB = 2**20

# None of these is what a reader of JSON may take: broken, nested, too large a number, or no JSON at all.
BROKEN_JSON: dict[str, bytes] = {
    "nested lists": b"[" * DEEP,
    "nested lists that end": b"[" * DEEP + b"]" * DEEP,
    "nested objects": b'{"a":' * DEEP + b"1" + b"}" * DEEP,
    "nested in a field": b'{"name": ' + b"[" * 500 + b"]" * 500 + b"}",
    "a number of many digits": b'{"size": ' + b"9" * 5000 + b"}",
    "the same key twice": b'{"name": "a", "name": "b"}',
    "half of a pair": b'{"name": "\\ud800"}',
    "half of a pair as a key": b'{"\\udfff": 1}',
    "half of a pair in bytes": b'{"name": "\xed\xa0\x80"}',
    "cut off": b'{"name": "a", "size": ',
    "cut off in a text": b'{"name": "a',
    "two documents": b"{} {}",
    "a comma too many": b'{"name": "a",}',
    "latin-1": '{"name": "é"}'.encode("latin-1"),
    "utf-16": '{"name": "a"}'.encode("utf-16"),
    "utf-32": '{"name": "a"}'.encode("utf-32"),
    "utf-16 without a mark": '{"name": "a"}'.encode("utf-16-le"),
    "NUL": b'{"name": "a\0b"}',
    "a minus sign": b"-",
    "binary": bytes(range(256)),
    "a picture": b"\x89PNG\r\n\x1a\n" + bytes(64),
    "a page": b"<!doctype html><p>Sign in",
}
# These are JSON, or nearly so. A reader takes them or refuses them, but in one sentence.
ODD_JSON: dict[str, bytes] = {
    "NaN": b'{"name": NaN, "size": NaN}',
    "infinity": b'{"size": -Infinity}',
    "a number beyond all": b'{"size": 1e400}',
    "a whole number beyond floats": b'{"size": 1' + b"0" * 308 + b"}",
    "NUL, written": b'{"name": "\\u0000"}',
    "NUL in a key": b'{"\\u0000": 1}',
    "a mark at the beginning": b'\xef\xbb\xbf{"name": "a"}',
    "null": b"null",
    "a list": b"[]",
    "a list of lists": b"[[]]",
    "a list of texts": b'["a", 1, null]',
    "a number": b"7",
    "a text": b'"a"',
    "an object": b"{}",
    "an object of lists": b'{"name": [], "a": [[1, 2]], "b": [null], "c": [{}]}',
    "an object of objects": b'{"name": {"name": {}}, "v": {"w": null}}',
    "an object of texts": b'{"1": "a", "__proto__": "b", "../x": "c"}',
    "a long text": b'{"name": "' + b"a" * 900_000 + b'"}',
    "many keys": b"{" + b",".join(b'"%d":%d' % (n, n) for n in range(50_000)) + b"}",
    "many keys and one twice": b"{" + b"".join(b'"%d":1,' % n for n in range(50_000)) + b'"49999":1}',
    "many lines": b'{"a": 1}\n' * 1000,
    "lines of lists": b"[]\n[]\n",
    "empty": b"",
    "blank": b" \n\t\r\n ",
    "a mark alone": b"\xef\xbb\xbf",
}
CSV: dict[str, bytes] = {
    "a quote that never ends": b'video,start,end,description\n"a,0,1,x\n' + b"y,0,1,z\n" * 1000,
    "a header alone": b"video,start,end,description\n",
    "no name in the header": b",,,\n1,2,3,4\n",
    "the same name twice": b"pair_id,pair_id,worker,relevance\n1,1,1,1\n",
    "columns too few": b"pair_id,worker,relevance\n1\n",
    "columns too many": b"pair_id,worker,relevance\n" + b"1," * 5000 + b"1\n",
    "a header of many columns": b"a," * 50_000 + b"a\n1\n",
    "a header of many names": b",".join(b"%d" % n for n in range(50_000)) + b"\n1\n",
    "a field beyond csv's limit": b"video,start,end,description\na,0,1," + b"x" * 200_000 + b"\n",
    "NUL in a field": b"video,start,end,description\na\0,0,1,x\n",
    "a formula": b"pair_id,worker,relevance\n=1+1,@SUM(A1),3\n",
    "numbers that are none": b"pair_id,worker,relevance\n1,1,1e400\n2,2,nan\n",
    "digits of another script": "pair_id,worker,relevance\n1,1,٣\n".encode(),
    "a grade of many digits": b"pair_id,worker,relevance\n1,1," + b"9" * 5000 + b"\n",
    "carriage returns": b"video,start,end,description\ra,0,1,x\r",
    "latin-1 in a field": "video,start,end,description\né,0,1,x\n".encode("latin-1"),
    "utf-16 with columns": "video,start,end,description\na,0,1,x\n".encode("utf-16"),
}
LINES: dict[str, bytes] = {
    "one long line": b"a" * (2 * MIB),
    "one long line of fields": b"1 0 a@0-1 " * 100_000,
    "many blank lines": b"\n" * 100_000,
    "fields too few": b"1 0\n",
    "fields too many": b"1 0 a@0-1000 1 2 3 4 5\n",
    "a time of many digits": b"1 0 a@0-" + b"9" * 5000 + b" 1\n",
    "a grade of many digits": b"1 0 a@0-1000 " + b"9" * 5000 + b"\n",
    "a score beyond all": b"1 Q0 a@0-1000 1 1e400 t\n",
    "a rank of many digits": b"1 Q0 a@0-1000 " + b"9" * 5000 + b" 1 t\n",
    "turned directions": "1 0 \u202ea@0-1000 9\n".encode(),
    "a terminal's orders": b"1 0 \x1b[2J\x1b]0;x\x07 9\n",
    "separators of Charades": b"v 0 1##" * 1000 + b"\n",
    "times that are none": b"v nan inf##a person sits\n",
}


def gzip_bomb(mib: int) -> bytes:
    """Return a small gzip file that unpacks to so many MiB of one JSON text."""
    return gzip.compress(b"[1") + gzip.compress(b" " * (16 * MIB)) * (mib // 16)


def zip_bomb(mib: int, name: str) -> bytes:
    """Return a small zip with one member of so many MiB."""
    file = io.BytesIO()
    with (
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open(name, "w", force_zip64=True) as member,
    ):
        for _ in range(mib):
            member.write(b" " * MIB)
    return file.getvalue()


PACKED: dict[str, bytes] = {
    "gzip that is cut off": gzip.compress(b'{"1": []}' * 100)[:30],
    "gzip with a wrong checksum": gzip.compress(b'{"1": []}')[:-8] + bytes(8),
    "gzip and something behind it": gzip.compress(b'{"1": []}') + b"more",
    "gzip of nothing": gzip.compress(b""),
    "gzip of gzip": gzip.compress(gzip.compress(b'{"1": []}')),
    "gzip's first bytes": b"\x1f\x8b",
    "gzip that grows a thousandfold": gzip_bomb(32),
    "zip": zip_bomb(1, "a.json"),
    "zip's first bytes": b"PK\x03\x04",
}
FILES: dict[str, bytes] = BROKEN_JSON | ODD_JSON | CSV | LINES | PACKED
