"""nginx, with the site of deploy/nginx, sends clips to whom we let have them, and to nobody else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.conf import settings as used
from django.core.files.base import ContentFile

from campaigns.models import Membership
from corpus.models import Clip
from judging.models import Batch
from tests import nginx
from tests.cast import browser, claim
from tests.telling import Sent, check_sent, cut_telling_batch

pytestmark = nginx.needs_nginx
VARYING = ("date", "content-length", "x-request-id")
CONTENT = bytes(range(256)) * 1000


@pytest.fixture
def front(live_server: Any, tmp_path: Path, settings: Any) -> Iterator[nginx.Front]:
    """nginx before a real server, both with clips in a folder."""
    settings.MEDIA_ADDRESSES = "accel"
    Path(settings.MEDIA_ROOT).mkdir()
    with nginx.front(tmp_path / "nginx", [urlsplit(live_server.url).netloc], settings.MEDIA_ROOT) as made:
        yield made


@pytest.mark.any_database
@pytest.mark.django_db(transaction=True)
def test_nginx_sends_a_clip_and_its_parts(front: nginx.Front, batch: Batch, ada: Membership, bob: Membership) -> None:
    clip = claim(ada).candidates_in_order()[0].clip
    assert isinstance(clip, Clip)
    clip.state = Clip.State.READY
    clip.file.save(f"clips/{clip.token}.mp4", content=ContentFile(CONTENT))
    address = f"{front.address}/clips/{clip.token}"
    whole = front.client.get(address, headers=cookies(ada))
    assert (whole.status_code, whole.content) == (200, CONTENT)
    assert whole.headers["Content-Type"] == "video/mp4"
    assert "private" in whole.headers["Cache-Control"]
    part = front.client.get(address, headers=cookies(ada) | {"range": "bytes=5-9"})
    assert (part.status_code, part.content) == (206, CONTENT[5:10])
    assert front.client.get(address, headers=cookies(bob)).status_code == 404
    assert front.client.get(address).status_code == 302
    assert front.client.get(f"{front.address}/stored/{clip.file.name}", headers=cookies(ada)).status_code == 404


@pytest.mark.any_database
@pytest.mark.django_db(transaction=True)
def test_what_nginx_sends_of_a_clip_tells_nothing_about_it(
    front: nginx.Front, tmp_path: Path, django_user_model: Any
) -> None:
    """Neither its film nor its place in the order of cutting, which its file's time could tell."""
    batch = cut_telling_batch(tmp_path)
    ada = batch.query.campaign.add_member(django_user_model.objects.create(username="ada"), "annotator")
    sent = []
    for candidate in claim(ada).candidates_in_order():
        assert candidate.clip
        answer = front.client.get(f"{front.address}/clips/{candidate.clip.token}", headers=cookies(ada))
        assert answer.headers["Last-Modified"] == "Sat, 01 Jan 2000 00:00:00 GMT"
        assert "max-age=86400" in answer.headers["Cache-Control"]
        kept = {name: value for name, value in answer.headers.items() if name not in VARYING}
        sent.append(Sent(candidate.clip.token, kept, answer.content))
    check_sent(sent, tmp_path)


def cookies(who: Membership) -> dict[str, str]:
    name = used.SESSION_COOKIE_NAME
    return {"cookie": f"{name}={browser(who).cookies[name].value}"}
