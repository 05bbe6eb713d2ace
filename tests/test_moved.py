"""Addresses of 0.1.0 whose pages moved: each redirects to the page that has its contents now."""

from __future__ import annotations

import re

from django.urls import resolve

from campaigns.models import Membership
from config.urls import MOVED
from judging.models import Batch
from tests.cast import browser


def test_an_old_address_redirects_to_a_page(batch: Batch, ada: Membership, leo: Membership) -> None:
    client = browser(leo)
    for pattern in MOVED:
        old = re.sub(r"<(slug|path):name>", "films", str(pattern.pattern))
        old = re.sub(r"<slug:\w+>", "all", old)
        old = "/" + re.sub(r"<int:\w+>", str(ada.worker), old) + "?page=2"
        answer = client.get(old)
        assert answer.status_code == 302, old
        address = answer["Location"]
        assert "page=2" in address
        assert resolve(address.split("?")[0]).url_name, old
        assert client.get(address).status_code in (200, 404), old  # 404: no object has this number
