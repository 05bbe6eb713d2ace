"""nginx, set up as docs/deployment.md says, sends clips to whom we let have them, and to nobody else."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.conf import settings as used
from django.core.files.base import ContentFile

from campaigns.models import Membership
from corpus.models import Clip
from judging.models import Batch
from tests.cast import browser, claim
from tests.installation import ROOT
from tests.telling import Sent, check_sent, cut_telling_batch
from tests.waiting import wait_until

pytestmark = pytest.mark.skipif(not shutil.which("nginx"), reason="nginx is not installed")
CONTENT = bytes(range(256)) * 1000


@pytest.fixture
def front(live_server: Any, tmp_path: Path, settings: Any) -> Iterator[str]:
    """nginx before a real server, with the locations of the document; returns its address."""
    settings.MEDIA_ADDRESSES = "accel"
    Path(settings.MEDIA_ROOT).mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    locations = re.search(r"```nginx\n(.*?)```", (ROOT / "docs" / "deployment.md").read_text(), re.S)
    assert locations
    ours = locations[1].replace("http://127.0.0.1:8000", live_server.url)
    ours = ours.replace("/srv/reeljudge/media/", f"{settings.MEDIA_ROOT}/")
    (tmp_path / "nginx.conf").write_text(
        f"daemon off; pid {tmp_path}/pid; error_log {tmp_path}/errors; events {{}}\n"
        "user root;\n"
        f"http {{ access_log off; client_body_temp_path {tmp_path}/body; proxy_temp_path {tmp_path}/proxy;\n"
        f"fastcgi_temp_path {tmp_path}/f; uwsgi_temp_path {tmp_path}/u; scgi_temp_path {tmp_path}/s;\n"
        f"server {{ listen 127.0.0.1:{port};\n{ours} }} }}\n"
    )
    nginx = subprocess.Popen(["nginx", "-c", f"{tmp_path}/nginx.conf", "-e", f"{tmp_path}/errors"])
    try:
        wait_until(lambda: _listens(port), lambda: "nginx listens")
        yield f"http://127.0.0.1:{port}"
    finally:
        nginx.terminate()
        nginx.wait(20)


def _listens(port: int) -> bool:
    with socket.socket() as trial:
        return not trial.connect_ex(("127.0.0.1", port))


@pytest.mark.django_db(transaction=True)
def test_nginx_sends_a_clip_and_its_parts(front: str, batch: Batch, ada: Membership, bob: Membership) -> None:
    clip = claim(ada).candidates_in_order()[0].clip
    assert isinstance(clip, Clip)
    clip.state = Clip.State.READY
    clip.file.save(f"clips/{clip.token}.mp4", content=ContentFile(CONTENT))
    address = f"{front}/clips/{clip.token}"
    whole = httpx.get(address, cookies=cookies(ada))
    assert (whole.status_code, whole.content) == (200, CONTENT)
    assert whole.headers["Content-Type"] == "video/mp4"
    assert "private" in whole.headers["Cache-Control"]
    part = httpx.get(address, cookies=cookies(ada), headers={"range": "bytes=5-9"})
    assert (part.status_code, part.content) == (206, CONTENT[5:10])
    assert httpx.get(address, cookies=cookies(bob)).status_code == 404
    assert httpx.get(address).status_code == 302
    assert httpx.get(f"{front}/stored/{clip.file.name}", cookies=cookies(ada)).status_code == 404


@pytest.mark.django_db(transaction=True)
def test_what_nginx_sends_of_a_clip_tells_nothing_about_it(
    front: str, tmp_path: Path, django_user_model: Any
) -> None:
    """Neither its film nor its place in the order of cutting, which its file's time could tell."""
    batch = cut_telling_batch(tmp_path)
    ada = batch.query.campaign.add_member(django_user_model.objects.create(username="ada"), "annotator")
    sent = []
    for candidate in claim(ada).candidates_in_order():
        assert candidate.clip
        answer = httpx.get(f"{front}/clips/{candidate.clip.token}", cookies=cookies(ada))
        assert answer.headers["Last-Modified"] == "Sat, 01 Jan 2000 00:00:00 GMT"
        assert "max-age=86400" in answer.headers["Cache-Control"]
        told = {
            name: value for name, value in answer.headers.items() if name not in ("date", "content-length")
        }
        sent.append(Sent(candidate.clip.token, told, answer.content))
    check_sent(sent, tmp_path)


def cookies(who: Membership) -> dict[str, str]:
    return {used.SESSION_COOKIE_NAME: browser(who).cookies[used.SESSION_COOKIE_NAME].value}
