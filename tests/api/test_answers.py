"""What every resource has in common: problem documents, pages, limits, and who may ask from elsewhere."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import URLPattern

from api.resource import ROUTES
from api.urls import urlpatterns
from campaigns.models import Campaign, Membership
from judging.models import Batch
from tests.api.asking import Program, problem_in
from tests.cast import browser, make_query

LIST = "campaigns/films/queries"
WRITING = [
    (method, route)
    for route in urlpatterns
    if route in ROUTES
    for method in ("POST", "PUT", "PATCH", "DELETE")
    if hasattr(route.callback.view_class, method.lower())  # type: ignore[attr-defined]
]
JSON = "application/json"
WRONG = ((b"{}", JSON), (b"[", JSON), (b"a=b", "text/plain"))


def test_every_error_is_a_problem_document(leo: Membership, campaign: Campaign) -> None:
    lead, pk = Program(leo), campaign.queries.get().pk
    problem_in(Program(None).get(LIST), 401)
    problem_in(lead.get("nothing"), 404)
    problem_in(lead.get("campaigns/plays"), 404)
    answer = lead.post(LIST)
    assert "POST" in problem_in(answer, 405)["detail"]
    assert answer["Allow"] == "GET, HEAD"
    assert problem_in(lead.get(LIST, show="nonsense"), 400)["fields"].keys() == {"show"}
    assert problem_in(lead.get(LIST, shows="closed"), 400)["fields"].keys() == {"shows"}
    address = f"{LIST}/{pk}/withdrawal"
    found = problem_in(lead.ask("PUT", address, {"reason": 7, "why": "x"}), 400)
    assert found["fields"] == {"why": ["not known; expected one of reason, withdrawn_for"]}
    assert problem_in(lead.ask("PUT", address, {"reason": 7}), 400)["fields"] == {"reason": ["7; expected a text"]}
    for body in ("{", "[1]", '{"reason": NaN}', '{"reason": "\\u0000"}', '{"reason": "\\ud800"}'):
        problem_in(lead.ask("PUT", address, body), 400)
    sent = lead.client.put(f"/api/v1/{address}", "reason=x", content_type="text/plain", headers=lead.headers)
    problem_in(sent, 415)
    large = '{"reason": "%s"}' % ("x" * 2**20)
    problem_in(lead.ask("PUT", address, large), 413)
    problem_in(lead.get(f"campaigns/films/jobs/{10**30}"), 404)
    assert campaign.queries.get().withdrawn is None


def written(client: Client, method: str, route: URLPattern, body: bytes, kind: str) -> int:
    """The status of an operation at an address of its kind."""
    of_kind = {"slug": "films", "int": "1", "str": "x"}
    address = re.sub(r"<(\w+):\w+>", lambda part: of_kind[part[1]], str(route.pattern))
    return client.generic(method, f"/api/v1/{address}", body, content_type=kind).status_code


def test_who_may_not_write_learns_nothing_of_the_body(batch: Batch, ada: Membership) -> None:
    """A stranger gets a 401, and somebody with another account a 404, whatever they send."""
    outsider = browser(User.objects.create_user("outsider"))
    for method, route in WRITING:
        assert {written(Client(), method, route, *wrong) for wrong in WRONG} == {401}, (method, route)
        if str(route.name).startswith("api-replaced-"):
            continue  # it names the new address to whoever is signed in
        assert {written(outsider, method, route, *wrong) for wrong in WRONG} == {404}, (method, route)
        if not route.callback.__module__.endswith("judging"):
            assert {written(browser(ada), method, route, *wrong) for wrong in WRONG} == {404}, (method, route)


def test_pages_follow_one_another_whatever_is_new(leo: Membership, campaign: Campaign) -> None:
    for number in range(2, 6):
        make_query(campaign, str(number), f"A person does thing {number}.")
    lead = Program(leo)
    first = lead.get(LIST, limit=2, sort="-id").json()
    assert [each["query_id"] for each in first["results"]] == ["5", "4"]
    make_query(campaign, "6", "A person does something else.")
    second = lead.get(first["next"].removeprefix("http://testserver")).json()
    assert [each["query_id"] for each in second["results"]] == ["3", "2"]
    back = lead.get(second["previous"].removeprefix("http://testserver")).json()
    assert [each["query_id"] for each in back["results"]] == ["5", "4"]
    cursor = second["next"].partition("cursor=")[2].partition("&")[0]
    for address, wrong in ((LIST, "x"), (LIST, cursor[:-1]), ("campaigns/films/batches", cursor)):
        assert "cursor" in problem_in(lead.get(address, cursor=wrong), 404)["detail"]


def test_who_asks_too_much_waits(leo: Membership, ada: Membership, settings: Any) -> None:
    settings.API_RATE = "3/m"
    lead = Program(leo)
    assert [lead.get("").status_code for _ in range(3)] == [200] * 3
    answer = lead.get("")
    problem_in(answer, 429)
    assert int(answer["Retry-After"]) > 0
    assert Program(ada).get("").status_code == 200


@pytest.mark.django_db
def test_no_other_site_may_ask_unless_a_setting_names_it(leo: Membership, settings: Any) -> None:
    lead, there = Program(leo), "https://lab.example.org"
    assert "Access-Control-Allow-Origin" not in lead.ask("GET", "", origin=there)
    assert Client().options("/api/v1/", headers={"origin": there}).status_code == 401
    settings.API_ORIGINS = [there]
    answer = lead.ask("GET", "", origin=there)
    assert answer["Access-Control-Allow-Origin"] == there
    assert "Access-Control-Allow-Credentials" not in answer
    before = Client().options("/api/v1/", headers={"origin": there})
    assert before.status_code == 204
    assert "Authorization" in before["Access-Control-Allow-Headers"]
    assert "Access-Control-Allow-Origin" not in lead.ask("GET", "", origin="https://evil.example.org")
