"""Pages travel packed; clips, of which parts are asked for, and files that are packed already do not."""

from __future__ import annotations

import gzip
import re

from django.http import HttpResponse, StreamingHttpResponse
from django.test import RequestFactory
from django.urls import reverse

from base.middleware import CompressionMiddleware
from campaigns.models import Membership
from judging.models import Batch
from tests.cast import browser, claim

PACKED = {"accept-encoding": "gzip, deflate, br"}


def test_a_page_is_packed_and_its_length_tells_nothing_of_its_secrets(batch: Batch, ada: Membership) -> None:
    held, client = claim(ada), browser(ada)
    answers = [client.get(reverse("workplace", args=[held.token]), headers=PACKED) for _ in range(8)]
    for answer in answers:
        assert answer["Content-Encoding"] == "gzip"
        assert "Accept-Encoding" in answer["Vary"]
        assert b'id="workplace"' in gzip.decompress(answer.content)
    assert len({len(answer.content) for answer in answers}) > 1  # against BREACH
    tokens = [re.search(rb'csrfmiddlewaretoken" value="(\w+)"', gzip.decompress(each.content)) for each in answers]
    assert len({token[1] for token in tokens if token}) == len(answers)


def test_what_is_sent_in_parts_or_is_no_text_stays_as_it_is() -> None:
    request = RequestFactory().get("/", headers=PACKED)
    clip = StreamingHttpResponse([b"x" * 1000], content_type="video/mp4", headers={"Content-Length": "1000"})
    release = HttpResponse(b"x" * 1000, content_type="application/zip")
    for answer in (clip, release, StreamingHttpResponse([b"x" * 1000], content_type="text/html")):
        packed = CompressionMiddleware(lambda request: HttpResponse()).process_response(request, answer)
        assert not packed.has_header("Content-Encoding")
