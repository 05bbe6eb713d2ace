"""All that pages do, the API does: each address of a page has twins below /api/v1, or a reason why it has none."""

from __future__ import annotations

from collections.abc import Sequence

from django.urls import URLPattern, URLResolver

from accounts.urls import urlpatterns as accounts
from annotate.urls import urlpatterns as annotate
from api.urls import urlpatterns as api
from lead.urls import urlpatterns as lead
from runs.urls import urlpatterns as runs

TWINS: dict[str, tuple[str, ...]] = {
    # The annotator's pages
    "clip": ("api-clip",),
    "place": ("api-place",),
    "work": ("api-campaigns", "api-mine"),
    "tutorial": ("api-guideline", "api-examples"),
    "exam-result": ("api-mine-exam",),
    **dict.fromkeys(("practice", "practice-clip", "practise"), ("api-practice", "api-practised")),
    "claim": ("api-claim",),
    "wait": ("api-waiting",),
    "news": ("api-waiting",),
    "mine": ("api-mine",),
    "read-message": ("api-message-read",),
    "ask": ("api-mine-questions",),
    "own-questions": ("api-own-questions",),
    "ask-at": ("api-ask-at",),
    "workplace": ("api-assignment",),
    "judge": ("api-judgement",),
    "flag": ("api-flag",),
    "resume": ("api-resume",),
    "submit": ("api-submit",),
    # Making a campaign
    "drafts": ("api-drafts",),
    **dict.fromkeys(
        ("draft-corpus", "draft-films", "draft-settings", "draft-people", "draft-check", "draft-progress"),
        ("api-draft",),
    ),
    "draft-reading": ("api-draft-reading", "api-draft"),
    "draft-problems": ("api-draft-problems",),
    "draft-plan": ("api-draft-plan",),
    "draft-queries": ("api-draft", "api-draft-draw"),
    "draft-store": ("api-draft-store",),
    "draft-check-start": ("api-draft-check",),
    "draft-make": ("api-draft-make",),
    "draft-remove": ("api-draft",),
    "uploads": ("api-uploads",),
    "upload": ("api-upload",),
    "upload-remove": ("api-upload",),
    # Corpora and their captions
    "corpora": ("api-corpora",),
    "corpus": ("api-corpus", "api-moments"),
    "corpus-moment": ("api-moment",),
    "corpus-moment-cut": ("api-moment-clip",),
    "captions": ("api-captions",),
    "captions-work": ("api-captions",),
    "reword": ("api-reword",),
    "caption-queue": ("api-captions-waiting",),
    "caption-accept": ("api-caption-accept",),
    "replaced": ("api-replaced",),
    "cast": ("api-cast",),
    "cast-draft": ("api-cast-draft",),
    # A campaign
    "campaigns": ("api-campaigns",),
    "campaign": ("api-campaign", "api-progress", "api-queries", "api-query", "api-batches"),
    "frontier": ("api-frontier",),
    "campaign-jobs": ("api-jobs", "api-job"),
    "campaign-work": ("api-jobs", "api-job"),
    "corpus-work": ("api-corpus-jobs",),
    "site-work": ("api-site-jobs", "api-any-job"),
    "job-again": ("api-any-job-again", "api-system-again", "api-search-index"),
    "job-cancel": ("api-any-job-cancel",),
    "batch": ("api-batch",),
    "review": ("api-review",),
    "batches-open": ("api-batches-open",),
    "exam": ("api-exam", "api-exam-batches"),
    "exam-make": ("api-exam",),
    "exam-batch": ("api-exam-batch",),
    "exam-truth": ("api-exam-batch",),
    "exam-person": ("api-examinee",),
    "exam-verdict": ("api-exam-verdict",),
    "guideline": ("api-guideline", "api-guideline-versions", "api-guideline-version"),
    "guideline-edit": ("api-guideline",),
    "examples": ("api-examples", "api-teachable"),
    "example-judged": ("api-examples",),
    "example-own": ("api-examples",),
    "example-remove": ("api-example",),
    "search": ("api-search",),
    "search-cut": ("api-search-clip",),
    "campaign-settings": ("api-settings",),
    "checks": ("api-checks",),
    "check-pairs": ("api-check-pairs",),
    "messages": ("api-messages",),
    "questions": ("api-questions",),
    "queue": ("api-queue",),
    "digest": ("api-digest",),
    "digest-mail": ("api-digest-mail",),
    "kept-answer-take-back": ("api-kept-answer",),
    "handle-question": ("api-question-handled",),
    "send-message": ("api-messages",),
    "people": ("api-people", "api-members", "api-invitations", "api-applicants"),
    "person": ("api-member",),
    "person-change": ("api-member-change", "api-member-role"),
    "person-creates": ("api-member-creates",),
    "invite": ("api-invitations",),
    "invite-people": ("api-invitations-by-mail", "api-invitation-links"),
    "people-links": ("api-invitation-links",),
    "applicant": ("api-applicant",),
    "invitation-send": ("api-invitation-mail",),
    "invitation-withdraw": ("api-invitation",),
    "steering": ("api-steering",),
    "steer": ("api-steering-limits", "api-steering-group", "api-steering-priority", "api-steering-share"),
    "hours": ("api-hours",),
    "hours-approve": ("api-hours",),
    "agreement": ("api-agreement",),
    "agreement-count": ("api-agreement",),
    "agreement-counting": ("api-agreement",),
    "agreement-annotator": ("api-agreement-annotator",),
    "agreement-queries": ("api-agreement-queries",),
    "severity": ("api-severity",),
    "agreement-judgements": ("api-judgements",),
    "figures": ("api-figures",),
    "figure": ("api-figure",),
    "start-study": ("api-study",),
    "releases": ("api-releases", "api-release", "api-verification"),
    "release-make": ("api-releases",),
    "release-difference": ("api-release-difference",),
    "release": ("api-release-file",),
    "release-signature": ("api-release-signature",),
    "reviews": ("api-to-review", "api-reviews"),
    "action-prepare": ("api-actions",),
    "action": ("api-action",),
    "action-change": ("api-action", "api-action-begun", "api-action-undone"),
    "saved-views": ("api-views", "api-view"),
    "undo": ("api-review",),
    "flags": ("api-flags",),
    "handle-flag": ("api-flag-handled",),
    "reopenings": ("api-reopenings",),
    "reopen": ("api-reopenings", "api-reopening-cost"),
    "reopening-undo": ("api-reopening-undone", "api-reopened-queries"),
    "history": ("api-history",),
    "adjudicate": ("api-grade",),
    "withdraw": ("api-withdrawal",),
    "exports": ("api-exports", "api-training-sets"),
    "training-set-make": ("api-training-sets",),
    "training-set": ("api-training-set",),
    "export": ("api-export",),
    # Runs
    "runs": ("api-runs",),
    "run-new": ("api-runs",),
    "run-check": ("api-submission", "api-submission-check"),
    "run-progress": ("api-submission",),
    "run-files": ("api-submission-files",),
    "run-piece": ("api-submission-file",),
    "run": ("api-run", "api-run-scores"),
    "run-file": ("api-run-file",),
    "run-description": ("api-run",),
    "run-visibility": ("api-run-visibility",),
    "run-entry": ("api-run-entry",),
    "run-queries": ("api-run-queries",),
    "run-scatter": ("api-run-scatter",),
    "run-query": ("api-run-query",),
    "leaderboard": ("api-leaderboard",),
    "rejudged": ("api-rejudged",),
    "held-back": ("api-held-back",),
    "leaderboard-measure": ("api-measures", "api-measure"),
    "believe": ("api-believe",),
    "believe-ask": ("api-believe",),
    "believe-file": ("api-believe-file",),
    "pools": ("api-pools", "api-enlargements"),
    "watches": ("api-watches",),
    "predictors": ("api-predictors", "api-predictors-worth"),
    "predictors-weigh": ("api-predictors-worth",),
    "predictor": ("api-predictor",),
    "predictor-progress": ("api-predictor",),
    "predictor-grades": ("api-predictor-grades",),
    "predictor-remove": ("api-predictor",),
    "predictor-files": ("api-predictor-files",),
    "predictor-piece": ("api-predictor-file",),
    "watch-look": ("api-watch",),
    "watch-end": ("api-watch",),
    "pool-propose": ("api-enlargements",),
    "pool": ("api-enlargement",),
    "pool-open": ("api-enlargement-opening",),
    "systems": ("api-systems",),
    "system-new": ("api-systems", "api-system-kinds"),
    "system": ("api-system",),
    "system-remove": ("api-system",),
    "system-curves": ("api-system-curves",),
    "system-search": ("api-system-search",),
    # Webhooks
    "webhooks": ("api-webhooks",),
    "webhook": ("api-deliveries",),
    "webhook-change": ("api-webhook", "api-webhook-test"),
    "webhook-again": ("api-delivery-again",),
    # The account
    "account": ("api-root",),
}
OF_THE_SAME_NUMBERS = "The resource of the page has the same numbers as JSON."
OF_BROWSERS = "A browser needs it to show the pages as an app. No program does."
REASONS = {
    **dict.fromkeys(("manifest", "offline", "service-worker"), OF_BROWSERS),
    "home": "It leads a browser to one of the other pages.",
    "hours-csv": OF_THE_SAME_NUMBERS,
    "people-links-csv": OF_THE_SAME_NUMBERS,
    "pools-csv": OF_THE_SAME_NUMBERS,
    "rejudged-csv": OF_THE_SAME_NUMBERS,
    "replaced-csv": OF_THE_SAME_NUMBERS,
    "leaderboard-file": OF_THE_SAME_NUMBERS,
    "guideline-changes": "A program compares the texts of two versions by itself.",
    **dict.fromkeys(("public-run-file", "public-leaderboard"), "They are for people without an account."),
    "public-run": "It is for people without an account, and the API knows nobody without one.",
    "language": "It is the language of pages. The API speaks English.",
    **dict.fromkeys(("preferences", "suggest-no-breaks"), "A browser hears keys and suggests breaks; no program does."),
    "tokens": "A token must not make tokens, which could outlast it.",
    "token-revoke": "A token must not end others, which would lock its owner's programs out.",
}
# What proves who somebody is, or changes how it is proved, asks a person and not a program that holds a token.
SIGNING_IN = (
    "sign-",
    "account_",
    "mfa_",
    "openid_",
    "session",
    "usersessions_",
    "sso-",
    "invitation",
    "join",
    "first-",
)


def names_of(patterns: Sequence[URLPattern | URLResolver]) -> set[str]:
    found: set[str] = set()
    for each in patterns:
        found |= names_of(each.url_patterns) if isinstance(each, URLResolver) else {str(each.name)}
    return found


def test_each_page_has_its_twins_or_a_reason() -> None:
    pages = names_of([*annotate, *lead, *runs, *accounts])
    signing_in = {name for name in pages if name.startswith(SIGNING_IN)} - {*TWINS}
    assert pages == {*TWINS, *REASONS, *signing_in}
    assert not {*TWINS} & {*REASONS}


def test_each_twin_is_there_and_each_address_of_the_api_is_one() -> None:
    twins = {twin for named in TWINS.values() for twin in named}
    replaced = {name for name in names_of(api) if name.startswith("api-replaced-")}
    assert twins | replaced | {"api-schema"} == names_of(api)
