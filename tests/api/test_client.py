"""The library's client and its commands against a running server: submit, score, compare, export, download."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZipFile

import httpx
import pytest

from metrics import ApiError, Client, MeasureError, RunRefused, calc_aggregate
from metrics import run as reeljudge_run
from metrics.client import client as client_module
from metrics.client import requests
from tests.installation import ROOT, Installation
from tests.metrics.packaged import make_environment, run, wheel
from tests.metrics.shared import run_cli

CAMPAIGN, MEASURE = "remote", "nDCG_IoU(iou=0.5)@20"
NEEDED = ("numpy", "scipy", "httpx", "httpcore", "h11", "anyio", "certifi", "idna", "typing_extensions")
TOKENS = f"""
from accounts.models import Token
from campaigns.models import Campaign
from tests.runs.systems import person
Campaign.objects.update(public_board=True)
campaign = Campaign.objects.get(name={CAMPAIGN!r})
print("token", Token.objects.make(person(campaign, "rhea", "researcher").user, "a program", Token.Scope.values, 1)[1])
"""


class Site(NamedTuple):
    """A server with a released campaign, and the token of one of its researchers."""

    address: str
    token: str


@pytest.fixture(scope="module")
def site(servers: Callable[[str], Installation]) -> Site:
    place = servers("sqlite")
    place.manage("generate_campaign", CAMPAIGN, "--queries", "4", "--annotators", "5")
    place.manage("freeze_release", CAMPAIGN, "--licence", "CC0-1.0", "--with-unfinished")
    return Site(place.address, place.shell(TOKENS).split("token ")[1].strip())


@pytest.fixture
def client(site: Site, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    monkeypatch.setattr(client_module, "WAITS", (0.01, 0.01, 0.01))
    monkeypatch.setenv("REELJUDGE_ADDRESS", f"{site.address}/")
    monkeypatch.setenv("REELJUDGE_TOKEN", site.token)
    with Client() as client:
        yield client


@pytest.fixture
def qrels(client: Client, tmp_path: Path) -> Path:
    return client.download_export(CAMPAIGN, "qrels.jsonl", tmp_path / "qrels.jsonl")


@pytest.fixture
def file(qrels: Path, tmp_path: Path) -> Path:
    """A run that has every judged moment, the worst first."""
    found: dict[str, list[Any]] = {}
    pairs = [json.loads(line) for line in qrels.read_text().splitlines()]
    for place, pair in enumerate(sorted(pairs, key=lambda pair: pair["relevance"])):
        moment = {name: pair[name] for name in ("video_name", "timestamp")}
        found.setdefault(str(pair["query_id"]), []).append(moment | {"model_scores": -place})
    (tmp_path / "run.json").write_text(json.dumps(found))
    return tmp_path / "run.json"


def test_a_run_is_submitted_and_scored_as_the_library_scores_it(
    client: Client, file: Path, qrels: Path, tmp_path: Path
) -> None:
    assert {each["name"]: each["role"] for each in client.campaigns()} == {CAMPAIGN: "researcher"}
    assert {"made", "counting", "numbers"} <= client.progress(CAMPAIGN).keys()
    stored = client.submit(CAMPAIGN, file, name="worst first", system="a list")
    found = client.scores(CAMPAIGN, stored["number"])
    assert found["release"] == client.releases(CAMPAIGN)[0]["version"] == 1
    value = next(
        each["value"] for each in found["scores"] if each["convention"] == "paper" and each["measure"] == MEASURE
    )
    ours = calc_aggregate([MEASURE], str(qrels), str(file))
    assert value == pytest.approx(next(iter(ours.values())))
    board = client.leaderboard(CAMPAIGN, [MEASURE], convention="paper")
    row = next(row for row in board["rows"] if row["name"] == "worst first")
    assert row["scores"][MEASURE]["value"] == pytest.approx(value)
    assert client.download_run(CAMPAIGN, stored["number"], tmp_path / "again.json").read_bytes() == (file.read_bytes())
    with ZipFile(client.download_release(CAMPAIGN, 1, tmp_path / "release.zip")) as release:
        assert release.testzip() is None
    assert calc_aggregate([MEASURE], client.load_release(CAMPAIGN), str(file)) == ours
    with pytest.raises(MeasureError, match=r"has no release 9; it has \[1\]"):
        client.load_release(CAMPAIGN, 9)
    with pytest.raises(ApiError, match="no other run of the campaign has") as refusal:
        client.submit(CAMPAIGN, file, name="worst first")
    assert (refusal.value.status, [*refusal.value.fields]) == (422, ["name"])


def test_a_run_by_the_address_of_its_page(
    client: Client, site: Site, file: Path, qrels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A listed run needs no account; one of the person's own campaigns a token, which no public page gets."""
    listed = client.submit(CAMPAIGN, file, name="for everybody", visibility="listed", citation="Somebody (2026).")
    number, page = listed["number"], f"{site.address}/campaigns/{CAMPAIGN}/runs/{listed['number']}/"
    own = reeljudge_run(page)
    expected = calc_aggregate([MEASURE], str(qrels), str(file))
    assert calc_aggregate([MEASURE], str(qrels), own) == expected
    assert own.name == f"{CAMPAIGN}-run-{number}"
    client.scores(CAMPAIGN, number)
    link = _link_of(site, "for everybody")
    monkeypatch.delenv("REELJUDGE_TOKEN")
    assert calc_aggregate([MEASURE], str(qrels), reeljudge_run(link)) == expected
    with pytest.raises(MeasureError, match="no token"):
        reeljudge_run(page)
    monkeypatch.setenv("REELJUDGE_TOKEN", site.token)
    put = f"{site.address}/api/v1/campaigns/{CAMPAIGN}/runs/{number}/visibility"
    headers = {"Authorization": f"Bearer {site.token}"}
    assert httpx.put(put, json={"visibility": "public"}, headers=headers).status_code == 200
    with pytest.raises(ApiError, match="has no file for everybody; expected the page of a run that its owner lists"):
        reeljudge_run(link)
    for wrong in (site.address, f"{site.address}/campaigns/x/runs/", "ftp://a/campaigns/x/runs/1/", ""):
        with pytest.raises(MeasureError, match="the address is that of no run"):
            reeljudge_run(wrong)


def _link_of(site: Site, name: str) -> str:
    """The address of a run's page, as the leaderboard has it that everybody sees."""
    text = httpx.get(f"{site.address}/campaigns/{CAMPAIGN}/leaderboard/public/").text
    [link] = re.findall(rf'href="([^"]+/runs/public/[^"]+)">{name}<', text)
    return f"{site.address}{link}"


def test_exports_are_tables_with_pandas_and_without(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = client.export(CAMPAIGN, "qrels.txt")
    assert [*frame.columns] == ["query_id", "iteration", "moment_id", "relevance"]
    assert frame.relevance.between(0, 4).all()
    assert len(frame) == len(client.export(CAMPAIGN, "qrels.jsonl"))
    monkeypatch.setitem(sys.modules, "pandas", None)  # as where it is not installed
    rows = client.export(CAMPAIGN, "moments.csv")
    assert {type(row["start"]) for row in rows} == {float}
    assert {row["moment_id"] for row in rows} == {*frame.moment_id}
    with pytest.raises(MeasureError, match="not a table"):
        requests.rows_in("release.zip", b"")


class Losing(httpx.BaseTransport):
    """Sends each request, but loses the first answer to each that changes something."""

    def __init__(self, real: httpx.BaseTransport) -> None:
        self.real, self.lost = real, list[str]()
        self.close = real.close  # type: ignore[method-assign]

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        answer = self.real.handle_request(request)
        name = f"{request.method} {request.url.path} {request.headers.get('upload-offset', '')}"
        if request.method != "GET" and name not in self.lost:
            answer.read()
            self.lost.append(name)
            raise httpx.ReadError("the connection broke")
        return answer


def test_a_run_is_stored_once_although_every_answer_is_lost_once(client: Client, file: Path) -> None:
    file.write_text(file.read_text() + "\n" * (1 << 20))  # in two pieces
    client._http._transport = losing = Losing(client._http._transport)
    stored = client.submit(CAMPAIGN, file, name="over a bad line")
    assert [name.partition(" ")[0] for name in losing.lost] == ["POST", "POST", "PATCH", "PATCH", "POST"]
    assert stored["size"] == file.stat().st_size
    assert [run["name"] for run in client.runs(CAMPAIGN)].count("over a bad line") == 1


def test_a_run_with_faults_is_told_line_by_line_and_not_stored(client: Client, file: Path) -> None:
    before = client.runs(CAMPAIGN)
    broken = json.loads(file.read_text())
    for query, moments in broken.items():
        moments[0]["video_name"] = f"nowhere {query}"
    file.write_text(json.dumps(broken))
    with pytest.raises(RunRefused, match=r"not stored because of \d+ faults, the first: .*nowhere") as refusal:
        client.submit(CAMPAIGN, file, name="broken")
    assert refusal.value.count == len(refusal.value.messages) == len(broken)
    done = run_cli("submit", CAMPAIGN, file, "--name", "broken")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[:-1] == [*refusal.value.messages]
    assert done.stderr.splitlines()[-1].startswith(f"error: {file}: not stored")
    assert client.runs(CAMPAIGN) == before


def test_each_error_is_one_line_without_the_token(client: Client, site: Site, tmp_path: Path) -> None:
    with pytest.raises(ApiError, match=r"^campaigns/unknown/runs: Nothing is here for you") as fault:
        client.runs("unknown")
    assert (fault.value.status, fault.value.code) == (404, "notfound")
    with pytest.raises(MeasureError, match="there is no such file"):
        client.submit(CAMPAIGN, tmp_path / "missing.json")
    with pytest.raises(MeasureError, match="cannot be written: No such file"):
        client.download_release(CAMPAIGN, 1, tmp_path / "missing" / "release.zip")
    assert not [*tmp_path.rglob("*.part")]
    with Client(site.address, "rj-wrong") as stranger, pytest.raises(ApiError, match="token is unknown") as fault:
        stranger.campaigns()
    assert fault.value.status == 401
    for words, message in (
        (["--address", "http://127.0.0.1:9"], "does not answer"),
        (["--address", "judge.example.org"], "expected one such as https://"),
        (["--address", f"http://a:{site.token}@localhost"], "expected one such as https://"),
        (["--token", f"{site.token}\n{site.token}"], "copy it again"),
        (["--release", "7"], "Nothing is here for you"),
        (["--convention", "unknown"], "there are scores of "),
    ):
        done = run_cli("scores", CAMPAIGN, 1, *words)
        assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr
        assert message in done.stderr
        assert site.token not in done.stderr + repr(client)


def test_answers_of_others_than_a_reeljudge_are_errors_of_one_line() -> None:
    page, moved = b"<html>\n", {"location": "https://there\x1b[2J/"}
    for answer, message in (
        (httpx.Response(502, content=page), "campaigns: answered with the status 502"),
        (httpx.Response(301, content=page, headers=moved), "campaigns: is at https://there [2J/ instead"),
    ):
        assert str(requests.problem("campaigns?limit=1", answer)).startswith(message)
    with pytest.raises(ApiError, match="is no JSON"):
        requests.json_in(httpx.Response(200, content=page))
    assert requests.below_api("https://elsewhere.example/api/v1/campaigns?cursor=1") == "campaigns?cursor=1"


def test_the_documented_commands_and_program_run(
    client: Client, file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(file.parent)
    document = (ROOT / "docs" / "api.md").read_text()
    blocks = dict(re.findall(r"<!-- run: client (\w+) -->\n```\w+\n(.*?)```", document, re.S))
    printed = []
    for line in blocks["shell"].splitlines():
        done = run_cli(*shlex.split(line.replace("films", CAMPAIGN))[1:])
        assert done.returncode == 0, f"{line}: {done.stderr}"
        printed.append(done.stdout)
    assert len(printed) == 4
    assert MEASURE in printed[0]
    assert "mine-seed2" in printed[2]
    program = blocks["python"].replace("films", CAMPAIGN).replace("from reeljudge import", "from metrics import")
    exec(program, {})
    assert f"{MEASURE} 0." in capsys.readouterr().out


def test_the_notebook_runs(client: Client, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(file.parent)
    notebook = json.loads((ROOT / "docs" / "quickstart" / "researcher.ipynb").read_text())
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    program = "\n".join(cells).replace("films", CAMPAIGN).replace("from reeljudge import", "from metrics import")
    known: dict[str, Any] = {}
    exec(program, known)
    known["client"].close()
    there = known["scores"].set_index(["convention", "measure"]).value["paper", MEASURE]
    assert next(iter(known["here"].aggregate().values())) == pytest.approx(there)


def test_a_clean_environment_submits_a_run_and_prints_its_scores(
    site: Site, client: Client, file: Path, tmp_path: Path
) -> None:
    place = make_environment(tmp_path / "place", wheel(), *NEEDED)
    where = {"REELJUDGE_ADDRESS": site.address, "REELJUDGE_TOKEN": site.token}
    program = place / "bin" / "reeljudge"
    printed = run(program, "submit", CAMPAIGN, file, "--name", "from a clean place", folder=tmp_path, **where)
    assert re.match(r"run \d+, from a clean place: release 1, convention paper\n", printed)
    assert re.search(rf"^{re.escape(MEASURE)}  +0\.\d{{4}}", printed, re.M)
    assert site.token not in printed
    assert "from a clean place" in run(program, "leaderboard", CAMPAIGN, folder=tmp_path, **where)


def test_a_wait_of_an_hour_is_an_error_at_once() -> None:
    document = {"detail": "You have asked for many examinations in a short time. Try again in 60 min."}
    answers = [httpx.Response(429, json=document, headers={"Retry-After": "3600"})]
    client = Client("https://judge.example.org", "rj-token")
    client._http = httpx.Client(base_url=client.address, transport=httpx.MockTransport(lambda _: answers.pop()))
    with pytest.raises(ApiError, match="in 60 min"):
        client.ask("POST", "campaigns/films/believe")
