"""Corpora, captions and the cast list over the API."""

from __future__ import annotations

import pytest

from campaigns.models import Membership
from corpus.models import Corpus, Moment
from judging.models import Candidate, Query
from retrieval.models import CastName, Rewording, Substitution
from tests.api.asking import Program, problem_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def place(corpus: Corpus, leo: Membership) -> str:
    """The corpus, before anything is ranked by its captions."""
    Candidate.objects.all().delete()
    Query.objects.all().delete()
    return f"corpora/{corpus.pk}"


def test_a_corpus_and_its_moments(corpus: Corpus, leo: Membership, ada: Membership) -> None:
    lead = Program(leo)
    assert [each["name"] for each in lead.get("corpora").json()["results"]] == ["films"]
    assert Program(ada).get("corpora").json()["results"] == []
    address = f"corpora/{corpus.pk}"
    assert lead.get(address).json()["figures"]["moments"] == 60
    page = lead.get(f"{address}/moments", limit=25).json()
    again = lead.get(page["next"].removeprefix("http://testserver")).json()
    seen = [each["id"] for each in (*page["results"], *again["results"])]
    assert seen == list(Moment.objects.order_by("video", "start").values_list("pk", flat=True)[:50])
    [one] = lead.get(f"{address}/moments", q="description 3", video="secret-video-3", limit=1).json()["results"]
    assert one["moment"] == "secret-video-3@1250-4500"
    answer = lead.post(f"{address}/moments/{one['id']}/clip")
    assert (answer.status_code, answer.json()["cutting"]) == (202, False)  # the corpus has no films


def test_a_caption_that_waits_is_accepted_once(place: str, corpus: Corpus, leo: Membership) -> None:
    lead, before = Program(leo), Moment.objects.earliest("pk").description
    order = Substitution.objects.create(corpus=corpus, by="cast")
    row = Rewording.objects.create(corpus=corpus, before=before, state="queued", substitution=order)
    assert lead.get(f"{place}/captions").json()["waiting"] == 1
    assert [each["before"] for each in lead.get(f"{place}/captions/waiting").json()["results"]] == [before]
    address = f"{place}/captions/waiting/{row.pk}"
    for _ in range(2):
        assert lead.ask("PUT", address, {"text": "A woman waves."}).json()["state"] == "accepted"
    problem_in(lead.ask("PUT", address, {"text": "Another."}), 409)
    replaced = lead.get(f"{place}/captions/replaced").json()["replaced"]
    assert (replaced["descriptions"], replaced["changed"]) == (1, 1)
    answer = lead.post(f"{place}/captions/rewording", {"by": "cast"})
    assert (answer.status_code, answer["Location"]) == (202, f"/api/v1/{place}/captions")
    assert [job["kind"] for job in lead.get(answer["Location"]).json()["jobs"]] == ["reword-descriptions"]


def test_names_are_said_together_or_not_at_all(place: str, corpus: Corpus, leo: Membership) -> None:
    olga, ben = (CastName.objects.create(corpus=corpus, name=name, count=n) for n, name in enumerate(("Olga", "Ben")))
    lead, address = Program(leo), f"{place}/cast"
    found = lead.get(address)
    assert [each["name"] for each in found.json()["results"]] == ["Ben", "Olga"]
    names: list[dict[str, object]] = [
        {"id": olga.pk, "phrase": "woman", "confirmed": True},
        {"id": ben.pk, "confirmed": True},
    ]
    problem_in(lead.ask("PATCH", address, {"names": names}), 428)
    fault = problem_in(lead.ask("PATCH", address, {"names": names}, if_match=found["ETag"]), 422)
    assert fault["fields"]["names"][0].startswith("Ben: field phrase")
    assert not CastName.objects.filter(confirmed=True).exists()
    names[1]["stays"] = True
    changed = lead.ask("PATCH", address, {"names": names}, if_match=found["ETag"])
    assert {each["name"]: each["phrase"] for each in changed.json()} == {"Ben": "", "Olga": "woman"}
    problem_in(lead.ask("PATCH", address, {"names": names}, if_match=found["ETag"]), 412)
    assert lead.get(address, show="open").json()["results"] == []
