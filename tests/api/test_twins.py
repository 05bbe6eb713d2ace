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
    "load-ahead": ("api-load-ahead",),
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
    **dict.fromkeys(("draft-data", "draft-rules", "draft-create", "draft-progress"), ("api-draft",)),
    "draft-reading": ("api-draft-reading", "api-draft"),
    "draft-problems": ("api-draft-problems",),
    "draft-queries": ("api-draft", "api-draft-draw", "api-draft-plan"),
    "draft-store": ("api-draft-store",),
    "draft-check-start": ("api-draft-check",),
    "draft-make": ("api-draft-make",),
    "draft-remove": ("api-draft",),
    "uploads": ("api-uploads",),
    "upload": ("api-upload",),
    "upload-remove": ("api-upload",),
    # Corpora and their captions
    "corpus": ("api-corpus", "api-moments", "api-moment"),
    "corpus-moment-cut": ("api-moment-clip",),
    "captions": ("api-captions", "api-captions-waiting", "api-replaced", "api-cast"),
    "captions-work": ("api-captions",),
    "reword": ("api-reword",),
    "caption-accept": ("api-caption-accept",),
    "cast-draft": ("api-cast-draft",),
    # A campaign
    "campaigns": ("api-campaigns", "api-corpora"),
    "campaign": ("api-campaign", "api-progress", "api-frontier", "api-digest"),
    "meeting": ("api-progress", "api-agreement", "api-leaderboard"),
    "queries": ("api-queries", "api-query", "api-batches", "api-to-review", "api-reviews", "api-search"),
    "campaign-jobs": ("api-jobs", "api-job"),
    "activity": ("api-history", "api-reopenings", "api-jobs", "api-job"),
    "corpus-work": ("api-corpus-jobs",),
    "site-work": ("api-site-jobs", "api-any-job"),
    "job-again": ("api-any-job-again", "api-system-again", "api-search-index"),
    "job-cancel": ("api-any-job-cancel",),
    "batch": ("api-batch",),
    "review": ("api-review",),
    "batches-open": ("api-batches-open",),
    "exam": ("api-exam", "api-exam-batches"),
    "exam-make": ("api-exam",),
    "exam-truth": ("api-exam-batch",),
    "exam-verdict": ("api-exam-verdict",),
    "guideline": ("api-guideline", "api-guideline-versions", "api-guideline-version"),
    "guideline-edit": ("api-guideline",),
    "example-add": ("api-examples", "api-teachable"),
    "example-remove": ("api-example",),
    "search-cut": ("api-search-clip",),
    "campaign-settings": ("api-settings",),
    "inbox": ("api-queue", "api-questions", "api-flags", "api-applicants", "api-messages"),
    "digest-mail": ("api-digest-mail",),
    "kept-answer-take-back": ("api-kept-answer",),
    "handle-question": ("api-question-handled",),
    "send-message": ("api-messages",),
    "annotators": (
        *("api-people", "api-members", "api-invitations", "api-invitation-links", "api-applicants"),
        *("api-checks", "api-hours", "api-steering"),
    ),
    "annotators-tick": ("api-steering",),
    "annotator": ("api-member", "api-agreement-annotator", "api-check-pairs", "api-examinee"),
    "annotator-change": ("api-member-change", "api-member-role"),
    "annotator-creates": ("api-member-creates",),
    "invite": ("api-invitations",),
    "invite-people": ("api-invitations-by-mail", "api-invitation-links"),
    "applicant": ("api-applicant",),
    "invitation-send": ("api-invitation-mail",),
    "invitation-withdraw": ("api-invitation",),
    "steer": (
        *("api-steering-limits", "api-steering-group", "api-steering-priority", "api-steering-share"),
        *("api-messages", "api-member-change"),
    ),
    "hours-approve": ("api-hours",),
    "agreement": ("api-agreement", "api-agreement-queries", "api-severity"),
    "agreement-count": ("api-agreement",),
    "agreement-counting": ("api-agreement",),
    "judgements": ("api-judgements",),
    "figure": ("api-figure",),
    "start-study": ("api-study",),
    "releases": ("api-releases", "api-verification", "api-figures", "api-exports", "api-training-sets"),
    "release-make": ("api-releases",),
    "release": ("api-release",),
    "release-changes": ("api-release-difference",),
    "release-zip": ("api-release-file",),
    "release-file": ("api-release-file",),
    "release-signature": ("api-release-signature",),
    "action-prepare": ("api-actions", "api-reopenings", "api-reopening-cost", "api-withdrawal"),
    "action": ("api-action",),
    "action-change": ("api-action", "api-action-begun", "api-action-undone"),
    "saved-views": ("api-views", "api-view"),
    "undo": ("api-review",),
    "handle-flag": ("api-flag-handled",),
    "reopening-undo": ("api-reopening-undone", "api-reopened-queries"),
    "adjudicate": ("api-grade",),
    "training-set-make": ("api-training-sets",),
    "training-set": ("api-training-set",),
    "export": ("api-export",),
    # Runs
    "run-upload": ("api-runs",),
    "upload-check": ("api-submission", "api-submission-check"),
    "run-progress": ("api-submission",),
    "run-files": ("api-submission-files",),
    "run-piece": ("api-submission-file",),
    "run": ("api-run", "api-run-scores"),
    "run-file": ("api-run-file",),
    "run-description": ("api-run",),
    "run-visibility": ("api-run-visibility",),
    "run-entry": ("api-run-entry",),
    "compare": ("api-run-queries",),
    "run-figure": ("api-run-scatter",),
    "explain": ("api-run-query",),
    "leaderboard": ("api-leaderboard", "api-runs", "api-rejudged", "api-held-back", "api-watches"),
    "held-back-change": ("api-held-back",),
    "leaderboard-measure": ("api-measures", "api-measure"),
    "measures": ("api-believe",),
    "measures-ask": ("api-believe",),
    "measures-file": ("api-believe-file",),
    "unjudged": ("api-pools", "api-enlargements", "api-enlargement"),
    "model-judges": ("api-predictors", "api-predictors-worth", "api-predictor"),
    "predictors-weigh": ("api-predictors-worth",),
    "predictor-ask": ("api-predictor",),
    "predictor-progress": ("api-predictor",),
    "predictor-grades": ("api-predictor-grades",),
    "predictor-remove": ("api-predictor",),
    "predictor-files": ("api-predictor-files",),
    "predictor-piece": ("api-predictor-file",),
    "watch-begin": ("api-watches",),
    "watch-change": ("api-watch",),
    "unjudged-propose": ("api-enlargements",),
    "unjudged-open": ("api-enlargement-opening",),
    "systems": ("api-systems", "api-system-kinds"),
    "system": ("api-system", "api-system-search"),
    "system-remove": ("api-system",),
    "system-curves": ("api-system-curves",),
    # Webhooks
    "webhook-make": ("api-webhooks", "api-deliveries"),
    "webhook-change": ("api-webhook", "api-webhook-test"),
    "webhook-again": ("api-delivery-again",),
    # The account
    "account": ("api-root",),
}
OF_THE_SAME_NUMBERS = "The resource of the page has the same numbers as JSON."
OF_BROWSERS = "A browser needs it to show the pages as an app. No program does."
REASONS = {
    **dict.fromkeys(("manifest", "offline", "service-worker"), OF_BROWSERS),
    "corpus-films": "In the terminal, import_corpus --media adds films to a corpus.",
    "find": "Programs filter the lists of queries, annotators and runs.",
    "home": "It leads a browser to one of the other pages.",
    "hours-csv": OF_THE_SAME_NUMBERS,
    "links-csv": OF_THE_SAME_NUMBERS,
    "unjudged-csv": OF_THE_SAME_NUMBERS,
    "rejudged-csv": OF_THE_SAME_NUMBERS,
    "replaced-csv": OF_THE_SAME_NUMBERS,
    "leaderboard-file": OF_THE_SAME_NUMBERS,
    "leaderboard-figure": OF_THE_SAME_NUMBERS,
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
