"""Others' tools read a release as it is: dataset hubs, Croissant, BEIR, ir_datasets, minisign, and Python alone."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import re
import subprocess
import sys
from collections.abc import Callable
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.urls import reverse

from base.errors import ReeljudgeError
from campaigns.models import Campaign, Membership
from judging.models import Candidate
from metrics import MeasureError, alpha, load_release
from metrics.formats.csv_tables import Ratings
from releases.archive import ReleaseArchive, script
from releases.checks import CHECKS, verify
from releases.difference import compare
from releases.freezing import freeze_release
from releases.models import Release
from releases.publishing.methods import at, written
from releases.publishing.parquet import OF_JUDGEMENTS, columns_of_judgements
from releases.publishing.signing import TRUSTED, SignedRelease, public_key, signature_of
from releases.stated import ordinal_alpha
from tests.cast import browser
from tests.installation import ROOT
from tests.releases.test_releases import FORGERIES, frozen, judged, judged_in_order, opened, tampered, unpacked
from tests.stand_ins import write_pairs
from tests.terminal import printed, refused

__all__ = ["judged"]  # a fixture
# The zip is written by a thread with a connection of its own, which sees what is committed.
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.any_database]
OLD = Path(__file__).parent / "release-0.1.0.zip"  # written by version 0.1.0, of the campaign `judged`

# What others' tools say of the release in the present folder, as JSON.
READ = """
import json, os, sys, warnings
warnings.simplefilter("ignore")
offline = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
os.environ |= offline | {"HF_HOME": sys.argv[1], "IR_DATASETS_HOME": sys.argv[1]}
sys.path[:0] = [os.getcwd(), sys.argv[2]]
import datasets, ir_datasets, metrics, mlcroissant
datasets.disable_progress_bars()
sys.modules["reeljudge"] = metrics
about, found = json.load(open("MANIFEST.json")), {}
croissant = mlcroissant.Dataset("croissant.json")
found["issues"] = [*croissant.metadata.ctx.issues.errors, *croissant.metadata.ctx.issues.warnings]
import ir_datasets_definition
for split in about["splits"]:
    for config in ("pairs", "qrels", "judgements", "corpus", "queries"):
        one = config in ("corpus", "queries")
        rows = datasets.load_dataset(os.getcwd(), config, split=config if one else split, cache_dir=sys.argv[1])
        found[f"{config} {split}"] = [rows.num_rows, rows[:3]]
        name = config if one else f"{config}-{split}"
        found[f"croissant {config} {split}"] = sum(1 for _ in croissant.records(name))
    known = ir_datasets.load(f"reeljudge/{about['campaign']}/v{about['version']}/{split}")
    grades = {(each.query_id, each.doc_id): each.relevance for each in known.qrels_iter()}
    store, first = known.docs_store(), next(known.docs_iter())
    assert store.get(first.doc_id) == first and store.get_many(["none"]) == {} and known.docs_count()
    found[f"ir_datasets {split}"] = [len(grades), len(list(known.queries_iter())), len(list(known.docs_iter()))]
examples = [part.split("```")[0] for part in open("README.md").read().split("```python")[1:]]
os.chdir("..")
for each in examples:
    exec(each, {})
print()
print(json.dumps(found))
"""


def python(*arguments: object, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def read_by_others(release: Release, folder: Path) -> dict[str, Any]:
    there = unpacked(Path(release.file.path), folder)
    done = python("-c", READ, folder / "cache", ROOT, folder=there, HOME=str(folder))
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def check_what_others_read(release: Release, folder: Path) -> None:
    """That they count what the release counts, and that the release written again has the same checksum."""
    archive = ReleaseArchive(Path(release.file.path))
    found, about = read_by_others(release, folder), archive.manifest
    assert all('"url"' in each for each in found["issues"]), found["issues"]
    assert sum(found[f"qrels {split}"][0] for split in about["splits"]) == about["counts"]["pairs"]["settled"]
    total = sum(1 for _ in archive.lines("judgements.jsonl"))
    assert sum(found[f"judgements {split}"][0] for split in about["splits"]) == total
    for split in about["splits"]:
        assert found[f"queries {split}"][0] == about["counts"]["queries"]
        assert found[f"pairs {split}"][0] == found[f"qrels {split}"][0]
        for config in ("pairs", "qrels", "judgements", "corpus", "queries"):
            assert found[f"croissant {config} {split}"] == found[f"{config} {split}"][0]
        assert found[f"ir_datasets {split}"][0] == found[f"qrels {split}"][0]
    assert sum(found[f"ir_datasets {split}"][1] for split in about["splits"]) == about["counts"]["queries"]
    assert not any(verify(archive).values())
    Release.objects.filter(pk=release.pk).update(state=Release.State.MAKING)
    freeze_release(newer := Release.objects.get(pk=release.pk), lambda *_: None)
    assert newer.sha256 == release.sha256


def test_a_simulated_campaign_is_read_by_others(tmp_path: Path) -> None:
    call_command("generate_campaign", "made", "--queries", "12", "--annotators", "6")
    campaign = Campaign.objects.get(name="made")
    lead = campaign.add_member(User.objects.create(username="leo"), "lead")
    release = frozen(campaign, lead, with_unfinished=True)
    check_what_others_read(release, tmp_path)
    found = json.loads((tmp_path / "made-v1" / "croissant.json").read_text())
    assert "14.00 SGD" in found["rai:annotatorDemographics"]
    unfinished = len(ReleaseArchive(Path(release.file.path)).manifest["unfinished"]["queries"])
    assert f"held as they were: {unfinished}." in found["rai:dataLimitations"]
    assert re.search(r"alpha of all grades is [\d.]+ \(95 % interval, ", found["rai:dataAnnotationAnalysis"])


@pytest.mark.parametrize("below", [1000, pytest.param(10**6, marks=[pytest.mark.long, pytest.mark.timeout(1200)])])
def test_the_ratings_of_tvr_ranking_are_read_by_others(shared: Path, tmp_path: Path, below: int) -> None:
    """Those of a thousand pairs, or all 227,808, with stand-ins for the queries and moments."""
    header, *lines = (shared / "tvr_ranking" / "raw_annotation.csv").read_text().splitlines()
    some = (line for line in lines if int(line.split(",")[0]) < below)
    (tmp_path / "ratings.csv").write_text("\n".join([header, *some]))
    write_pairs(tmp_path / "ratings.csv", tmp_path / "pairs.csv")
    files = ("--ratings", tmp_path / "ratings.csv", "--pairs", tmp_path / "pairs.csv")
    assert f"tvr-ranking: {min(below, 96_483):,} pairs" in printed("import_ratings", "tvr-ranking", *files)
    campaign = Campaign.objects.get()
    release = frozen(campaign, campaign.add_member(User.objects.create(username="leo"), "lead"))
    check_what_others_read(release, tmp_path)
    about = ReleaseArchive(Path(release.file.path)).manifest
    assert about["agreement"]["alpha"] == pytest.approx(0.615, abs=0.1 if below == 1000 else 5e-4)
    assert about["cost"]["hours"] is None


def test_splits_are_named_as_hubs_name_them() -> None:
    release = judged_in_order(["2", "10", "1"])
    assert release.manifest["splits"] == {"validation": ["val"], "test": ["Test"], "unsplit": [""]}
    found = load_release(str(release.file))
    assert found.splits == {"validation": ("2",), "test": ("1",), "unsplit": ("10",)}
    parts = [found.qrels_of(split) for split in found.splits]
    assert [part.queries for part in parts] == [("2",), ("1",), ("10",)]
    assert sum(len(part.grades) for part in parts) == len(found.qrels.grades)


def checked(folder: Path) -> tuple[int, str]:
    """What `verify.py` says where there is nothing but Python's own library."""
    done = python("-I", "-S", folder / "verify.py", folder=folder.parent)
    return done.returncode, done.stdout + done.stderr


def _another_order(files: dict[str, bytes]) -> None:
    lines = files["pool.jsonl"].splitlines(keepends=True)
    files["pool.jsonl"] = b"".join(reversed(lines)) + lines[0].replace(b'"query_id": "', b'"query_id": "0')


def _another_table(files: dict[str, bytes]) -> None:
    name = next(name for name in files if name.startswith("data/judgements/"))
    files[name] = files[name].replace((3).to_bytes(8, "little"), (4).to_bytes(8, "little"), 1)


def _another_grade_for_beir(files: dict[str, bytes]) -> None:
    files["beir/qrels/test.tsv"] = re.sub(rb"4\n", b"3\n", files["beir/qrels/test.tsv"], count=1)


LATER: dict[Callable[[dict[str, bytes]], None], str] = {
    _another_order: "The sample is the first queries",
    _another_table: "The files for hubs and BEIR",
    _another_grade_for_beir: "The files for hubs and BEIR",
}


def test_judgements_of_earlier_releases_have_no_doubt() -> None:
    assert list(columns_of_judgements({"grade": 3})) == list(OF_JUDGEMENTS)[:-1]
    assert columns_of_judgements({"grade": 3, "doubt": None}) == columns_of_judgements(None) == OF_JUDGEMENTS


def test_verify_py_finds_what_was_changed(
    judged: Campaign, leo: Membership, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    """With Python alone, as the server does, also where somebody set the checksums right again."""
    release = frozen(judged, leo)
    folder = unpacked(Path(release.file.path), tmp_path / "whole")
    code, output = checked(folder)
    assert (code, output.count("  ok ")) == (0, len(CHECKS)), output
    (folder / "qrels.txt").write_bytes((folder / "qrels.txt").read_bytes().replace(b"4\n", b"3\n", 1))
    assert (checked(folder)[0], "qrels.txt has SHA-256" in checked(folder)[1]) == (1, True)
    grade = next(change for change in FORGERIES if change.__name__ == "_another_grade")
    for change, check in ({grade: FORGERIES[grade]} | LATER).items():
        with subtests.test(change.__name__):
            file = tampered(release, tmp_path, change)
            code, output = checked(unpacked(file, tmp_path / change.__name__))
            assert code == 1
            assert f"BROKEN  {check}" in output
            assert next(says for says, findings in verify(ReleaseArchive(file)).items() if findings).startswith(check)


@pytest.mark.parametrize(
    ("path", "value", "check"),
    [
        ("counts.annotators", 9, "The counts are right"),
        ("counts.grades.4", 8, "The counts are right"),
        ("agreement.alpha", 0.9, "The agreement"),
        ("agreement.round_one.alpha", None, "The agreement"),
        ("agreement.contested_percent", 0.0, "The agreement"),
        ("cost.hours", 5000, "The cost"),
        ("protocol.batch_size", 10, "The protocol"),
        ("protocol.depth", 400, "The protocol"),
    ],
)
def test_verify_py_finds_a_number_of_the_manifest_that_the_files_do_not_give(
    judged: Campaign, leo: Membership, tmp_path: Path, path: str, value: object, check: str
) -> None:
    folder = unpacked(Path(frozen(judged, leo).file.path), tmp_path)
    manifest = json.loads((folder / "MANIFEST.json").read_text())
    *names, last = path.split(".")
    reduce(getitem, names, manifest)[last] = value
    (folder / "MANIFEST.json").write_text(json.dumps(manifest))
    code, output = checked(folder)
    assert (code, f"BROKEN  {check}" in output) == (1, True), output


def test_verify_py_lists_what_it_does_not_check(judged: Campaign, leo: Membership, tmp_path: Path) -> None:
    Campaign.objects.update(hourly_rate=12, currency="EUR")
    judged.refresh_from_db()
    output = checked(unpacked(Path(frozen(judged, leo).file.path), tmp_path))[1]
    lines = [line.removeprefix("  not checked: ") for line in output.splitlines() if "not checked" in line]
    assert [line.partition(": ")[2] for line in lines[:2]] == [
        "no file of a release shows pay",
        "no file of a release shows these settings",
    ]
    assert lines[2].startswith("the content of CITATION.cff, ")
    assert "README.md" in lines[2]
    assert lines[3].startswith("who made the release: ")
    assert lines[4].startswith("this program, which is a part of the release. ")


def test_another_copy_of_verify_py_checks_a_folder(judged: Campaign, leo: Membership, tmp_path: Path) -> None:
    folder = unpacked(Path(frozen(judged, leo).file.path), tmp_path)
    copy = tmp_path / "verify.py"
    copy.write_text(script())
    (folder / "verify.py").write_text("print('all is well')")
    done = python("-I", "-S", copy, folder, folder=tmp_path)
    assert (done.returncode, "verify.py has SHA-256" in done.stdout) == (1, True)
    assert "this program" not in done.stdout


def test_alpha_in_verify_py_is_that_of_the_library() -> None:
    rng = np.random.default_rng(5)
    units = [rng.integers(0, 5, size).tolist() for size in rng.integers(1, 5, 200)]
    pairs = np.repeat(np.arange(len(units)), [len(grades) for grades in units])
    grades = np.array([grade for unit in units for grade in unit])
    right = alpha(Ratings(pairs, np.arange(len(grades)), grades))
    assert ordinal_alpha(units) == pytest.approx(right)
    assert ordinal_alpha([[3, 3], [2]]) is None
    assert ordinal_alpha([[0, 4] * 100_000]) == pytest.approx(0, abs=1e-4)  # its time grows with the number


def test_verify_py_goes_on_after_the_first_mismatch(judged: Campaign, leo: Membership, tmp_path: Path) -> None:
    folder = unpacked(Path(frozen(judged, leo).file.path), tmp_path)
    (folder / "qrels.txt").write_text("1 0 nothing@0-1 3\n")
    (folder / "ratings.csv").write_text("pair_id,worker,relevance,outcome\n")
    output = checked(folder)[1]
    assert output.count("BROKEN") == 3
    assert "qrels.txt has SHA-256" in output
    assert "ratings.csv: the grades of pair 1-1 are not those" in output


def test_verify_py_survives_a_reader_that_ends(judged: Campaign, leo: Membership, tmp_path: Path) -> None:
    folder = unpacked(Path(frozen(judged, leo).file.path), tmp_path)
    program = f"{sys.executable} verify.py | head -n 1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", program], cwd=folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "films, release 1\n", "")


def test_verify_py_refuses_what_is_no_release(tmp_path: Path, judged: Campaign, leo: Membership) -> None:
    (tmp_path / "verify.py").write_bytes(opened(frozen(judged, leo)).read("verify.py"))
    code, output = checked(tmp_path)
    assert (code, "expected a release that is unpacked" in output, "Traceback" in output) == (2, True, False)


def test_a_release_of_version_0_1_0_is_still_one() -> None:
    assert printed("verify_release", OLD).count("  ok ") == len(CHECKS)
    release = load_release(OLD)
    assert (len(release.qrels.grades), len(release.judgements), len(release.moments)) == (19, 46, 19)
    assert ([*release.queries], release.splits, release.pool) == (["1"], {"val": ("1",)}, None)


def test_a_release_is_loaded_from_its_zip_and_its_folder(judged: Campaign, leo: Membership, tmp_path: Path) -> None:
    stored = frozen(judged, leo)
    file = Path(stored.file.path)
    one = load_release(file, sha256=stored.sha256)
    folder = unpacked(file, tmp_path)
    other = load_release(folder)
    assert repr(one) == f"<release 1 of {judged.name}>"
    for release in (one, other):
        assert (len(release.qrels.grades), len(release.judgements), len(release.moments)) == (19, 46, 20)
        assert release.splits == {"test": ("1",)}
        assert release.queries == {"1": judged.queries.get().text}
        assert release.pool is not None
        assert release.pool.queries == ("1",)
    assert one.judgements == other.judgements
    assert one.moments == other.moments
    (folder / "pairs.csv").write_text("changed")
    late = load_release(folder)  # nothing but the manifest is read here
    assert len(late.qrels.grades) == 19
    with pytest.raises(MeasureError, match=r"pairs.csv: SHA-256 is .*the manifest has another one"):
        _ = late.judgements
    with pytest.raises(MeasureError, match=f"SHA-256 is {stored.sha256}, not 00"):
        load_release(file, sha256="00")
    with pytest.raises(MeasureError, match="split 'dev': not found; there are test"):
        one.qrels_of("dev")


@pytest.mark.parametrize("content", [b"", b"PK", b"not a zip"])
def test_what_is_no_release_is_not_loaded(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.zip").write_bytes(content)
    with pytest.raises(MeasureError, match=r"a.zip: MANIFEST.json cannot be read .*expected a release"):
        load_release(tmp_path / "a.zip")


# A key, a public key and a signature of `a release`, made by py-minisign 0.12.
KEY = """untrusted comment: minisign secret key
RWQAAEIyAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAACNBOmni1R+Ku1wD8Xf58XR0m4kAP7ZgXqtKlseQz5LGWjUCaZJPohOnrn9OqzYUhppcFYfk1yuMwVuGsgz965NvHed9beQ+oWMjF/MgUyTgHej2zkHuffNa4Rx/mV3IyC4vuTKECOa0=
"""
PUBLIC_KEY = "RWQI0E6aeLVH4unrn9OqzYUhppcFYfk1yuMwVuGsgz965NvHed9beQ+o"
SIGNATURE = """untrusted comment: signature of a Reeljudge release
RUQI0E6aeLVH4hE1hcvczMbN5ELhOHSSv2+lFhHEl/gg8jrMtGqccNkgjur2Oi/5GTw1hnEMJIffUaRye5Nr4DgU6lcpp7wcoAE=
trusted comment: file:films-v1.zip\thashed
rVkyusLPZ2KwGuHxAVu++d0URWyKI6i4wVbQRfqASubT0MyqEGzE46CxmhIWkPjZFIL4aFgBH3JEnr8xkXkGDw==
"""


@pytest.fixture
def key(tmp_path: Path, settings: Any) -> None:
    (tmp_path / "release.key").write_text(KEY)
    settings.RELEASE_KEY = str(tmp_path / "release.key")


def test_a_signature_is_the_one_that_minisign_makes(key: None, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"a release\n")
    lines = signature_of(tmp_path / "file", SignedRelease("films", "2", "ab", "cd")).splitlines()
    assert (lines[:2], public_key()) == (SIGNATURE.splitlines()[:2], PUBLIC_KEY)
    comment = "file:films-v2.zip\thashed\tcampaign:films\tversion:2\tsha256:ab\tprevious:cd"
    assert lines[2] == TRUSTED + comment
    signature, whole, public = (base64.b64decode(each) for each in (lines[1], lines[3], PUBLIC_KEY))
    Ed25519PublicKey.from_public_bytes(public[10:]).verify(whole, signature[10:] + comment.encode())


@pytest.mark.parametrize("content", ["", KEY.replace("RWQAAEIy", "RWRTY0Iy"), KEY[:-9] + "A" * 8 + "\n"])
def test_what_is_no_key_is_refused(key: None, tmp_path: Path, content: str) -> None:
    (tmp_path / "release.key").write_text(content)
    with pytest.raises(ReeljudgeError, match=r"RELEASE_KEY: .*expected a secret key that minisign -G -W makes"):
        public_key()


def broken(*arguments: object) -> str:
    with pytest.raises(CommandError) as fault:
        call_command(*map(str, arguments), stdout=io.StringIO())
    assert fault.value.returncode == 1
    return str(fault.value)


def test_a_signed_release_shows_what_was_changed(key: None, judged: Campaign, leo: Membership, tmp_path: Path) -> None:
    release = frozen(judged, leo)
    file, signature = tmp_path / "films-v1.zip", tmp_path / "films-v1.zip.minisig"
    file.write_bytes(Path(release.file.path).read_bytes())
    page = browser(leo).get(reverse("release", args=["films", 1]), {"tab": "files"}).content.decode()
    assert reverse("release-signature", args=["films", 1]) in page
    signature.write_bytes(browser(leo).get(reverse("release-signature", args=["films", 1])).content)
    assert "file:films-v1.zip" in signature.read_text()
    right = ("verify_release", file, "--key", PUBLIC_KEY, "--sha256", release.sha256)
    assert "the signature is right" in printed(*right)
    one = signature.read_text()
    for changed, flaw in (
        (one.replace("films-v1", "films-v2"), "the trusted comment of the signature was changed"),
        (SIGNATURE, "the signature is not that of this file"),
        (one.replace("RUQI0E6a", "RUQI0E6b"), "the signature is by the key "),
    ):
        signature.write_text(changed)
        assert flaw in broken(*right)
    signature.write_text(one)
    file.write_bytes(file.read_bytes() + b"\n")
    assert "the signature is not that of this file" in broken(*right[:4])
    assert "SHA-256 is" in broken("verify_release", file, "--sha256", release.sha256)
    signature.write_text("nothing")
    assert "expected a signature of minisign" in refused(*right[:4])
    assert "expected --key, too" in refused("verify_release", file, "--signature", signature)


def signed(release: Release, folder: Path, name: str = "") -> tuple[object, ...]:
    """The command that verifies a copy of the release and its signature, under this name or its own."""
    file = folder / (name or f"{release.campaign.name}-v{release.version}.zip")
    file.write_bytes(Path(release.file.path).read_bytes())
    Path(f"{file}.minisig").write_text(release.signature)
    return "verify_release", file, "--key", PUBLIC_KEY


def test_a_signature_says_which_release_it_is_for(key: None, judged: Campaign, leo: Membership, tmp_path: Path) -> None:
    first, second = frozen(judged, leo), frozen(judged, leo)
    answer = printed(*signed(second, tmp_path), "--campaign", "films", "--version", 2, "--previous", first.sha256)
    fields = f"campaign:films  version:2  sha256:{second.sha256}  previous:{first.sha256}"
    assert f"trusted comment: file:films-v2.zip  hashed  {fields}\n" in answer
    assert "previous:\n" in printed(*signed(first, tmp_path), "--previous", "")


def test_an_older_release_is_not_taken_for_the_newer_one(
    key: None, judged: Campaign, leo: Membership, tmp_path: Path
) -> None:
    first, second = frozen(judged, leo), frozen(judged, leo)
    old = signed(first, tmp_path, "new.zip")
    assert "is release 1 of films; expected release 2" in broken(*old, "--version", 2)
    flaw = f"by its signature, previous is none, not {second.sha256}"
    assert flaw in broken(*old, "--previous", second.file.path)
    assert "is release 1 of films, and its name is that of another" in broken(*signed(first, tmp_path, "films-v2.zip"))


def test_a_release_of_another_campaign_is_not_taken_for_this_one(
    key: None, judged: Campaign, leo: Membership, tmp_path: Path
) -> None:
    release = frozen(judged, leo)
    other = signed(release, tmp_path, "plays-v1.zip")
    assert "is release 1 of films; expected one of plays" in broken(*other, "--campaign", "plays")
    assert "its name is that of another" in broken(*other)
    about = ("plays", "1", release.sha256, "")
    Path(f"{other[1]}.minisig").write_text(signature_of(Path(release.file.path), SignedRelease(*about)))
    assert "by its signature, campaign is plays, not films" in broken(*other, "--campaign", "films")


def test_a_signature_of_before_does_not_say_which_release_it_is_for(
    key: None, judged: Campaign, leo: Membership, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SignedRelease, "comment", "file:films-v1.zip\thashed")
    command = signed(frozen(judged, leo), tmp_path)
    assert "warning: the signature does not say which release it is for" in printed(*command)
    assert "does not say which release it is for" in broken(*command, "--version", 1)
    assert "expected --key, too" in refused("verify_release", command[1], "--previous", "0" * 64)


def test_without_a_key_nothing_is_signed(judged: Campaign, leo: Membership) -> None:
    frozen(judged, leo)
    assert browser(leo).get(reverse("release-signature", args=["films", 1])).status_code == 404


def test_each_number_of_the_methods_has_its_source(judged: Campaign, leo: Membership) -> None:
    archive = opened(frozen(judged, leo))
    about, text = json.loads(archive.read("MANIFEST.json")), archive.read("methods.md").decode()
    notes = dict(re.findall(r"^\[\^(\d+)\]: `MANIFEST.json`: (.*)$", text, re.M))
    sentences = re.findall(r"^(.*)\[\^(\d+)\]$", text, re.M)
    assert len(sentences) == len(notes) > 8
    for sentence, note in sentences:
        rest = sentence
        for path in re.findall("`([^`]+)`", notes[note]):
            value = written(at(about, path))
            assert value in rest, (sentence, path)
            rest = rest.replace(value, "", 1)
        # What is left are the scale and the width of intervals.
        assert set(re.findall(r"\d+", rest)) <= {"0", "4", "95"}, sentence
    assert about["agreement"]["alpha"] is not None
    assert f"alpha of all grades is {about['agreement']['alpha']}; for an interval there are too few batches." in text
    latex = archive.read("methods.tex").decode()
    assert "% MANIFEST.json: agreement.alpha\n" in latex
    assert f"{about['agreement']['same_percent']} \\% of these pairs" in latex


def test_imported_ratings_say_no_more_than_is_known(tmp_path: Path) -> None:
    from tests.judging.test_import_ratings import importing

    printed(*importing(tmp_path))
    campaign = Campaign.objects.get()
    archive = opened(frozen(campaign, campaign.add_member(User.objects.create(username="leo"), "lead")))
    text = archive.read("methods.md").decode()
    assert "The ratings were made elsewhere and imported." in text
    assert "Pairs in which one worker counts twice: 1." in text
    assert "hours of active work" not in text
    assert "Two annotators graded each pair" not in text
    assert "rai:dataAnnotationPlatform" not in json.loads(archive.read("croissant.json"))


def test_a_difference_is_put_into_words(judged: Campaign, leo: Membership) -> None:
    old = frozen(judged, leo)
    first, second, third = Candidate.objects.settled().order_by("rank")[:3]
    Candidate.objects.filter(pk=first.pk).update(outcome=Candidate.Outcome.DISCARDED, grade=None)
    Candidate.objects.filter(pk=second.pk).update(grade=(second.grade or 0) - 1)
    Candidate.objects.filter(pk=third.pk).update(grade=(third.grade or 0) - 2)
    new = frozen(judged, leo)
    words = compare(old, new).words
    assert words == [
        "From release 1 to release 2, 0 pairs were added, 1 pair is gone, and 2 pairs have another final grade:"
        " 0 a higher one, 2 a lower one.",
        "Discarded pairs: 1 before, 2 now.",
    ]
    assert printed("diff_releases", old.file.path, new.file.path, "--words").splitlines() == words
    assert words[1] in browser(leo).get(reverse("release", args=["films", 2]) + "?tab=changes").content.decode()
    assert browser(leo).get("/api/v1/campaigns/films/releases/difference?from=1&to=2").json()["words"] == words
    assert compare(old, old).words == ["The qrels of release 1 and release 1 are the same."]


def test_citations_name_the_release(judged: Campaign, leo: Membership) -> None:
    import yaml

    archive = opened(frozen(judged, leo))
    cited = yaml.safe_load(archive.read("CITATION.cff"))
    assert {"cff-version", "message", "title", "authors"} <= cited.keys()
    assert (cited["type"], cited["version"], cited["license"]) == ("dataset", "1", "CC-BY-4.0")
    doi = json.loads(archive.read("datacite.json"))["data"]["attributes"]
    assert {"titles", "creators", "publisher", "types"} <= doi.keys()  # obligatory, beside the year and the DOI
    assert "publicationYear" not in doi
    listed = [line.split("\t") for line in archive.read("topics.tsv").decode().splitlines()]
    assert listed == [["1", judged.queries.get().text]]


def test_beir_reads_a_folder(judged: Campaign, leo: Membership) -> None:
    """As its loader does: documents and queries as JSON lines, qrels as TSV with a header."""
    archive = opened(frozen(judged, leo))
    corpus = [json.loads(line) for line in archive.read("beir/corpus.jsonl").splitlines()]
    queries = [json.loads(line) for line in archive.read("beir/queries.jsonl").splitlines()]
    rows = csv.reader(archive.read("beir/qrels/test.tsv").decode().splitlines(), delimiter="\t")
    assert next(rows) == ["query-id", "corpus-id", "score"]
    grades = [(query, moment, int(grade)) for query, moment, grade in rows]
    assert len(grades) == 19
    assert {query for query, _, _ in grades} == {each["_id"] for each in queries}
    assert {moment for _, moment, _ in grades} < {each["_id"] for each in corpus}
    assert all(each["text"] and each["title"] == "" for each in corpus)


def test_publishing_is_left_to_whoever_runs_the_commands(judged: Campaign, leo: Membership) -> None:
    file = frozen(judged, leo).file.path
    answer = printed("publish_release", file, "--hub", "lab/films", "--prefix", "10.1234")
    assert "hf upload lab/films films-v1 . --repo-type dataset" in answer
    assert "https://api.datacite.org/dois" in answer
    assert hashlib.sha256(Path(file).read_bytes()).hexdigest() == Release.objects.get().sha256
