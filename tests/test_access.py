"""Who may do what: every address, by every method, for every kind of person; by default nothing.

The people of another campaign try too, at the addresses of this campaign, and at those of their own with this
campaign's objects.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from http.cookies import SimpleCookie
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import connection, transaction
from django.db.models.functions import Now
from django.test import Client, RequestFactory
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from campaigns.models import Applicant, CacheEntry, Campaign, Delivery, Guideline, Membership, Message, Webhook
from config.urls import MovedPage
from corpus.models import Clip, Corpus, Moment
from drafts.models import Draft, Upload
from jobs.models import Job
from jobs.running import work_off
from judging.models import (
    Action,
    Assignment,
    Batch,
    Candidate,
    Example,
    Flag,
    KeptAnswer,
    Kind,
    Practice,
    Query,
    Question,
    Reopening,
    Review,
    Sitting,
)
from judging.pool.ranking import rank_candidates
from judging.review import reviewing
from judging.review.actions import prepare
from judging.work import submitting
from releases.freezing import freeze
from releases.models import Release, TrainingSet
from reports.models import SavedView
from retrieval.models import Rewording, Substitution
from runs.measures import HEADLINE
from runs.models import (
    Arrival,
    Benchmark,
    Enlargement,
    Inquiry,
    PredictionsFile,
    Predictor,
    Run,
    ScoringReference,
    Submission,
    TrainedSystem,
    Watch,
)
from tests.cast import browser, claim, clip_addresses, content_of, expire, judge_all
from tests.conftest import Case
from tests.remembered import remembered

# name: (method, stranger, outsider, annotator, other annotator, researcher, lead)
# Who signed in a while ago is led to a page that asks for the password again before anything of the second factor.
# Whom the matrix does not name may do nothing: other methods are refused, and HEAD is allowed where GET is.
MATRIX = {
    "guideline-edit": ("POST", 302, 404, 404, 404, 404, 400),  # let in, but the form is empty
    "example-add": ("POST", 302, 404, 404, 404, 404, 400),
    "webhook-make": ("POST", 302, 404, 404, 404, 404, 400),  # let in, but the settings name no host
    "home": ("GET", 302, 302, 302, 302, 302, 302),
    "sign-in": ("GET", 200, 302, 302, 302, 302, 302),
    "account_login": ("GET", 200, 302, 302, 302, 302, 302),
    "mfa_authenticate": ("GET", 302, 302, 302, 302, 302, 302),
    "mfa_login_webauthn": ("GET", 302, 302, 302, 302, 302, 302),
    "openid_connect_login": ("POST", 404, 404, 404, 404, 404, 404),  # the settings name no provider
    "openid_connect_callback": ("GET", 404, 404, 404, 404, 404, 404),
    "account_reset_password": ("GET", 200, 200, 200, 200, 200, 200),
    "account_reset_password_done": ("GET", 200, 200, 200, 200, 200, 200),
    "account_reset_password_from_key": ("GET", 200, 200, 200, 200, 200, 200),  # says that the link has ended
    "language": ("POST", 302, 302, 302, 302, 302, 302),
    "account": ("GET", 302, 200, 200, 200, 200, 200),
    "account_change_password": ("GET", 302, 200, 200, 200, 200, 200),
    "account_set_password": ("GET", 302, 302, 302, 302, 302, 302),
    "account_email": ("GET", 302, 200, 200, 200, 200, 200),
    "account_confirm_email": ("GET", 200, 200, 200, 200, 200, 200),  # says that the link has ended
    "account_reauthenticate": ("GET", 302, 200, 200, 200, 200, 200),
    "mfa_reauthenticate": ("GET", 302, 302, 302, 302, 302, 302),
    "mfa_reauthenticate_webauthn": ("GET", 302, 302, 302, 302, 302, 302),
    "mfa_index": ("GET", 302, 200, 200, 200, 200, 200),
    "mfa_activate_totp": ("GET", 302, 302, 302, 302, 302, 302),
    "mfa_deactivate_totp": ("GET", 302, 404, 404, 404, 404, 404),
    "mfa_add_webauthn": ("GET", 302, 302, 302, 302, 302, 302),
    "mfa_remove_webauthn": ("GET", 302, 302, 302, 302, 302, 302),
    "mfa_view_recovery_codes": ("GET", 302, 404, 404, 404, 404, 404),
    "mfa_generate_recovery_codes": ("GET", 302, 302, 302, 302, 302, 302),
    "usersessions_list": ("POST", 302, 302, 302, 302, 302, 302),
    "session-end": ("POST", 302, 404, 404, 404, 404, 404),
    "sso-disconnect": ("POST", 302, 302, 302, 302, 302, 302),
    "invitation": ("GET", 302, 302, 302, 302, 302, 302),
    "join": ("GET", 404, 404, 404, 404, 404, 404),
    "first-link": ("GET", 302, 302, 302, 302, 302, 302),
    "first-account": ("GET", 404, 404, 404, 404, 404, 404),  # there are accounts
    "sign-out": ("POST", 302, 302, 302, 302, 302, 302),
    "work": ("GET", 302, 200, 200, 200, 200, 200),
    "service-worker": ("GET", 200, 200, 200, 200, 200, 200),
    "manifest": ("GET", 200, 200, 200, 200, 200, 200),
    "tour": ("GET", 302, 404, 404, 404, 404, 404),  # of the demo, which is not here
    "offline": ("GET", 200, 200, 200, 200, 200, 200),
    "tutorial": ("GET", 302, 404, 200, 200, 200, 200),
    "exam-result": ("GET", 302, 404, 200, 404, 404, 404),  # the other annotator has sat none
    "practice": ("GET", 302, 404, 200, 200, 404, 404),
    "practice-clip": ("GET", 302, 404, 200, 404, 404, 404),
    "practise": ("POST", 302, 404, 302, 404, 404, 404),
    "claim": ("POST", 302, 404, 302, 302, 404, 404),
    "load-ahead": ("POST", 302, 404, 200, 200, 404, 404),
    "wait": ("POST", 302, 404, 302, 302, 404, 404),
    "news": ("POST", 401, 404, 200, 200, 404, 404),
    "mine": ("GET", 302, 404, 200, 200, 404, 404),
    "preferences": ("GET", 302, 200, 200, 200, 200, 200),
    "suggest-no-breaks": ("POST", 302, 200, 200, 200, 200, 200),
    "ask": ("POST", 302, 404, 302, 302, 404, 404),
    "own-questions": ("GET", 302, 404, 200, 404, 404, 404),
    "ask-at": ("POST", 401, 404, 200, 404, 404, 404),
    "read-message": ("POST", 302, 404, 302, 404, 404, 404),
    "workplace": ("GET", 302, 404, 200, 404, 404, 404),
    "judge": ("PUT", 401, 404, 200, 404, 404, 404),
    "flag": ("PUT", 401, 404, 200, 404, 404, 404),
    "submit": ("POST", 401, 404, 200, 404, 404, 404),
    "resume": ("POST", 401, 404, 200, 404, 404, 404),
    "clip": ("GET", 302, 404, 404, 404, 200, 200),
    "place": ("GET", 302, 404, 200, 404, 404, 404),
    # Nobody of this cast may create campaigns; tests.drafts has those who may, and other people's drafts.
    "drafts": ("GET", 302, 404, 404, 404, 404, 404),
    "draft-data": ("GET", 302, 404, 404, 404, 404, 404),
    "draft-reading": ("GET", 302, 404, 404, 404, 404, 404),
    "draft-problems": ("GET", 302, 404, 404, 404, 404, 404),
    "draft-queries": ("GET", 302, 404, 404, 404, 404, 404),
    "draft-store": ("POST", 302, 404, 404, 404, 404, 404),
    "draft-rules": ("GET", 302, 404, 404, 404, 404, 404),
    "draft-create": ("GET", 302, 404, 404, 404, 404, 404),
    "draft-check-start": ("POST", 302, 404, 404, 404, 404, 404),
    "draft-progress": ("GET", 302, 404, 404, 404, 404, 404),
    "draft-make": ("POST", 302, 404, 404, 404, 404, 404),
    "draft-remove": ("POST", 302, 404, 404, 404, 404, 404),
    "uploads": ("POST", 401, 404, 404, 404, 404, 404),
    "upload": ("GET", 302, 404, 404, 404, 404, 404),
    "upload-remove": ("POST", 302, 404, 404, 404, 404, 404),
    "campaigns": ("GET", 302, 200, 200, 200, 200, 200),
    "corpus": ("GET", 302, 404, 404, 404, 200, 200),
    "corpus-moment-cut": ("POST", 302, 404, 404, 404, 302, 302),
    "captions": ("GET", 302, 404, 404, 404, 404, 200),
    "captions-work": ("GET", 302, 404, 404, 404, 404, 200),
    "corpus-films": ("POST", 302, 404, 404, 404, 404, 404),  # leads who may also create campaigns
    "reword": ("POST", 302, 404, 404, 404, 404, 302),
    "caption-accept": ("POST", 302, 404, 404, 404, 404, 302),
    "replaced-csv": ("GET", 302, 404, 404, 404, 404, 200),
    "cast-draft": ("POST", 302, 404, 404, 404, 404, 302),
    "campaign": ("GET", 302, 404, 404, 404, 200, 200),
    "meeting": ("GET", 302, 404, 404, 404, 200, 200),
    "campaign-jobs": ("GET", 302, 404, 404, 404, 200, 200),
    "action-prepare": ("POST", 302, 404, 404, 404, 404, 302),
    "action": ("GET", 302, 404, 404, 404, 200, 200),
    "queries": ("GET", 302, 404, 404, 404, 200, 200),
    "inbox": ("GET", 302, 404, 404, 404, 200, 200),
    "activity": ("GET", 302, 404, 404, 404, 200, 200),
    "action-change": ("POST", 302, 404, 404, 404, 404, 302),
    "saved-views": ("POST", 302, 404, 404, 404, 302, 302),
    "corpus-work": ("GET", 302, 404, 404, 404, 200, 200),
    "site-work": ("GET", 302, 200, 200, 200, 200, 200),
    "job-again": ("POST", 302, 404, 404, 404, 404, 302),
    "job-cancel": ("POST", 302, 404, 404, 404, 404, 302),
    "batch": ("GET", 302, 404, 404, 404, 200, 200),
    "review": ("POST", 302, 404, 404, 404, 404, 302),
    "batches-open": ("POST", 302, 404, 404, 404, 404, 302),
    "exam": ("GET", 302, 404, 404, 404, 200, 200),
    "exam-make": ("POST", 302, 404, 404, 404, 404, 302),
    "exam-truth": ("POST", 302, 404, 404, 404, 404, 302),
    "exam-verdict": ("POST", 302, 404, 404, 404, 404, 302),
    "guideline": ("GET", 302, 404, 404, 404, 200, 200),
    "example-remove": ("POST", 302, 404, 404, 404, 404, 302),
    "campaign-settings": ("GET", 302, 404, 404, 404, 200, 200),
    "digest-mail": ("POST", 302, 404, 404, 404, 404, 302),
    "kept-answer-take-back": ("POST", 302, 404, 404, 404, 404, 302),
    "handle-question": ("POST", 302, 404, 404, 404, 404, 302),
    "send-message": ("POST", 302, 404, 404, 404, 404, 302),
    "annotators": ("GET", 302, 404, 404, 404, 404, 200),
    "annotators-tick": ("POST", 302, 404, 404, 404, 404, 302),
    "annotator": ("GET", 302, 404, 404, 404, 200, 200),
    "annotator-change": ("POST", 302, 404, 404, 404, 404, 302),
    "annotator-creates": ("POST", 302, 404, 404, 404, 404, 404),  # a lead who may not create campaigns
    "invite": ("POST", 302, 404, 404, 404, 404, 200),
    "invite-people": ("POST", 302, 404, 404, 404, 404, 302),
    "links-csv": ("GET", 302, 404, 404, 404, 404, 200),
    "applicant": ("POST", 302, 404, 404, 404, 404, 302),
    "invitation-send": ("POST", 302, 404, 404, 404, 404, 404),  # of a link there is no mail
    "invitation-withdraw": ("POST", 302, 404, 404, 404, 404, 302),
    "steer": ("POST", 302, 404, 404, 404, 404, 302),
    "hours-csv": ("GET", 302, 404, 404, 404, 404, 200),
    "hours-approve": ("POST", 302, 404, 404, 404, 404, 302),
    "releases": ("GET", 302, 404, 404, 404, 200, 200),
    "release-make": ("POST", 302, 404, 404, 404, 404, 302),
    "release": ("GET", 302, 404, 404, 404, 200, 200),
    "release-signature": ("GET", 302, 404, 404, 404, 200, 200),
    "release-zip": ("GET", 302, 404, 404, 404, 200, 200),
    "release-file": ("GET", 302, 404, 404, 404, 200, 200),
    "release-changes": ("GET", 302, 404, 404, 404, 400, 400),  # let in, but from which one?
    "agreement": ("GET", 302, 404, 404, 404, 200, 200),
    "agreement-count": ("POST", 302, 404, 404, 404, 404, 302),
    "agreement-counting": ("GET", 302, 404, 404, 404, 200, 200),
    "judgements": ("GET", 302, 404, 404, 404, 200, 200),
    "figure": ("GET", 302, 404, 404, 404, 200, 200),
    "start-study": ("POST", 302, 404, 404, 404, 404, 302),
    "leaderboard": ("GET", 302, 404, 404, 404, 200, 200),
    "leaderboard-file": ("GET", 302, 404, 404, 404, 200, 200),
    "leaderboard-figure": ("GET", 302, 404, 404, 404, 404, 404),  # of two runs
    "leaderboard-measure": ("POST", 302, 404, 404, 404, 302, 302),
    "rejudged-csv": ("GET", 302, 404, 404, 404, 404, 404),  # no run is scored
    "measures": ("GET", 302, 404, 404, 404, 200, 200),
    "measures-file": ("GET", 302, 404, 404, 404, 200, 200),
    "measures-ask": ("POST", 302, 404, 404, 404, 400, 400),  # let in, but there are no runs to examine
    "unjudged": ("GET", 302, 404, 404, 404, 200, 200),
    "unjudged-csv": ("GET", 302, 404, 404, 404, 404, 404),  # no release has two pools
    "unjudged-propose": ("POST", 302, 404, 404, 404, 404, 400),  # let in, but there are no runs to propose from
    "watch-begin": ("POST", 302, 404, 404, 404, 404, 400),  # let in, but there are no such runs
    "watch-change": ("POST", 302, 404, 404, 404, 404, 302),
    "model-judges": ("GET", 302, 404, 404, 404, 404, 200),
    "predictors-weigh": ("POST", 302, 404, 404, 404, 404, 302),
    "predictor-ask": ("POST", 302, 404, 404, 404, 404, 400),  # let in, but no file has arrived
    "predictor-progress": ("GET", 302, 404, 404, 404, 404, 200),
    "predictor-grades": ("GET", 302, 404, 404, 404, 404, 200),
    "predictor-remove": ("POST", 302, 404, 404, 404, 404, 302),
    "predictor-files": ("POST", 401, 404, 404, 404, 404, 201),
    "predictor-piece": ("GET", 302, 404, 404, 404, 404, 200),
    "unjudged-open": ("POST", 302, 404, 404, 404, 404, 302),
    "run": ("GET", 302, 404, 404, 404, 200, 200),
    "run-file": ("GET", 302, 404, 404, 404, 200, 200),
    "run-description": ("GET", 302, 404, 404, 404, 200, 200),
    "compare": ("GET", 302, 404, 404, 404, 400, 400),  # let in, but which run?
    "explain": ("GET", 302, 404, 404, 404, 400, 400),
    "run-figure": ("GET", 302, 404, 404, 404, 400, 400),  # let in, but beside which run?
    "public-run": ("GET", 200, 200, 404, 404, 200, 200),  # whoever has the link, unless they are to stay blind
    "public-run-file": ("GET", 404, 404, 404, 404, 404, 404),  # of listed runs only
    "public-leaderboard": ("GET", 404, 404, 404, 404, 404, 404),  # unless a lead has made it public
    "held-back-change": ("POST", 302, 404, 404, 404, 404, 302),
    # The researcher's own; the lead has others.
    "run-visibility": ("POST", 302, 404, 404, 404, 302, 404),
    "run-entry": ("POST", 302, 404, 404, 404, 302, 404),
    "run-upload": ("GET", 302, 404, 404, 404, 200, 200),
    "upload-check": ("GET", 302, 404, 404, 404, 200, 404),
    "run-progress": ("GET", 302, 404, 404, 404, 200, 404),
    "run-files": ("POST", 401, 404, 404, 404, 201, 404),
    "run-piece": ("GET", 302, 404, 404, 404, 200, 404),
    "systems": ("GET", 302, 404, 404, 404, 200, 200),
    "system": ("GET", 302, 404, 404, 404, 200, 200),
    "system-remove": ("POST", 302, 404, 404, 404, 302, 302),
    "system-curves": ("GET", 302, 404, 404, 404, 200, 200),
    "undo": ("POST", 302, 404, 404, 404, 404, 302),
    "handle-flag": ("POST", 302, 404, 404, 404, 404, 302),
    "reopening-undo": ("POST", 302, 404, 404, 404, 404, 302),
    "adjudicate": ("POST", 302, 404, 404, 404, 404, 302),
    "export": ("GET", 302, 404, 404, 404, 200, 200),
    "training-set-make": ("POST", 302, 404, 404, 404, 404, 302),
    "training-set": ("GET", 302, 404, 404, 404, 200, 200),
    "find": ("GET", 302, 404, 404, 404, 200, 200),
    "search-cut": ("POST", 302, 404, 404, 404, 404, 302),
    # The API, by session. Whom a resource is not for finds nothing, as on the pages; what is asked is looked at first.
    "api-root": ("GET", 401, 200, 200, 200, 200, 200),
    "api-schema": ("GET", 401, 200, 200, 200, 200, 200),
    "api-campaigns": ("GET", 401, 200, 200, 200, 200, 200),
    "api-campaign": ("GET", 401, 404, 404, 404, 200, 200),
    "api-progress": ("GET", 401, 404, 404, 404, 200, 200),
    "api-agreement": ("GET", 401, 404, 404, 404, 200, 200),
    "api-jobs": ("GET", 401, 404, 404, 404, 200, 200),
    "api-job": ("GET", 401, 404, 404, 404, 200, 200),
    **{f"api-replaced-{number}": ("POST", 401, 410, 410, 410, 410, 410) for number in range(1, 5)},
    "api-corpus-jobs": ("GET", 401, 404, 404, 404, 200, 200),
    "api-site-jobs": ("GET", 401, 200, 200, 200, 200, 200),
    "api-any-job": ("GET", 401, 404, 404, 404, 404, 200),
    "api-any-job-again": ("POST", 401, 404, 404, 404, 404, 202),
    "api-any-job-cancel": ("POST", 401, 404, 404, 404, 404, 200),
    "api-queries": ("GET", 401, 404, 404, 404, 200, 200),
    "api-query": ("GET", 401, 404, 404, 404, 200, 200),
    "api-withdrawal": ("PUT", 401, 404, 404, 404, 404, 204),
    "api-batches": ("GET", 401, 404, 404, 404, 200, 200),
    "api-to-review": ("GET", 401, 404, 404, 404, 200, 200),
    "api-batch": ("GET", 401, 404, 404, 404, 200, 200),
    "api-review": ("PUT", 401, 404, 404, 404, 404, 200),
    "api-grade": ("PUT", 401, 404, 404, 404, 404, 409),  # let in, but there is a consensus to come
    "api-actions": ("GET", 401, 404, 404, 404, 200, 200),
    "api-action": ("GET", 401, 404, 404, 404, 200, 200),
    "api-action-begun": ("PUT", 401, 404, 404, 404, 404, 202),
    "api-action-undone": ("PUT", 401, 404, 404, 404, 404, 409),  # it has not ended yet
    "api-views": ("GET", 401, 404, 404, 404, 200, 200),
    "api-view": ("DELETE", 401, 404, 404, 404, 404, 204),
    "api-reviews": ("GET", 401, 404, 404, 404, 200, 200),
    "api-flags": ("GET", 401, 404, 404, 404, 200, 200),
    "api-flag-handled": ("POST", 401, 404, 404, 404, 404, 200),
    "api-reopenings": ("GET", 401, 404, 404, 404, 200, 200),
    "api-guideline": ("GET", 401, 404, 200, 200, 200, 200),
    "api-guideline-versions": ("GET", 401, 404, 404, 404, 200, 200),
    "api-guideline-version": ("GET", 401, 404, 404, 404, 200, 200),
    "api-settings": ("GET", 401, 404, 404, 404, 200, 200),
    "api-members": ("GET", 401, 404, 404, 404, 404, 200),
    "api-member": ("GET", 401, 404, 404, 404, 404, 200),
    "api-member-change": ("POST", 401, 404, 404, 404, 404, 200),
    "api-member-role": ("PUT", 401, 404, 404, 404, 404, 200),
    "api-invitations": ("GET", 401, 404, 404, 404, 404, 200),
    "api-invitations-by-mail": ("POST", 401, 404, 404, 404, 404, 409),  # let in, but the site sends no mails
    "api-invitation": ("DELETE", 401, 404, 404, 404, 404, 204),
    "api-messages": ("GET", 401, 404, 404, 404, 404, 200),
    "api-steering": ("GET", 401, 404, 404, 404, 404, 200),
    "api-steering-limits": ("PUT", 401, 404, 404, 404, 404, 200),
    "api-steering-group": ("PUT", 401, 404, 404, 404, 404, 200),
    "api-steering-priority": ("PUT", 401, 404, 404, 404, 404, 200),
    "api-steering-share": ("PUT", 401, 404, 404, 404, 404, 422),  # let in, but there is no such group
    "api-hours": ("GET", 401, 404, 404, 404, 404, 200),
    "api-releases": ("GET", 401, 404, 404, 404, 200, 200),
    "api-release-difference": ("GET", 401, 400, 400, 400, 400, 400),  # which two?
    "api-release": ("GET", 401, 404, 404, 404, 200, 200),
    "api-release-file": ("GET", 401, 404, 404, 404, 200, 200),
    "api-release-signature": ("GET", 401, 404, 404, 404, 200, 200),
    "api-verification": ("POST", 401, 404, 404, 404, 202, 202),
    "api-exports": ("GET", 401, 404, 404, 404, 200, 200),
    "api-export": ("GET", 401, 404, 404, 404, 200, 200),
    "api-training-sets": ("GET", 401, 404, 404, 404, 200, 200),
    "api-training-set": ("GET", 401, 404, 404, 404, 200, 200),
    "api-judgements": ("GET", 401, 404, 404, 404, 200, 200),
    "api-search": ("GET", 401, 404, 404, 404, 202, 202),
    # As on the pages, the submission and the run are the researcher's own.
    "api-runs": ("GET", 401, 404, 404, 404, 200, 200),
    "api-run": ("GET", 401, 404, 404, 404, 200, 200),
    "api-run-file": ("GET", 401, 404, 404, 404, 200, 200),
    "api-run-scores": ("GET", 401, 404, 404, 404, 200, 200),
    "api-run-visibility": ("PUT", 401, 404, 404, 404, 200, 404),
    "api-run-entry": ("PUT", 401, 404, 404, 404, 409, 404),
    "api-submission": ("GET", 401, 404, 404, 404, 200, 404),
    "api-submission-files": ("POST", 401, 404, 404, 404, 201, 404),
    "api-submission-file": ("GET", 401, 404, 404, 404, 200, 404),
    "api-submission-check": ("POST", 401, 404, 404, 404, 422, 404),  # let in, but no file has arrived
    "api-pools": ("GET", 401, 404, 404, 404, 404, 404),  # no release has two pools
    "api-watches": ("GET", 401, 404, 404, 404, 404, 200),
    "api-watch": ("GET", 401, 404, 404, 404, 404, 200),
    "api-predictors": ("GET", 401, 404, 404, 404, 404, 200),
    "api-predictors-worth": ("GET", 401, 404, 404, 404, 404, 200),
    "api-predictor": ("GET", 401, 404, 404, 404, 404, 200),
    "api-predictor-grades": ("GET", 401, 404, 404, 404, 404, 200),
    "api-predictor-files": ("POST", 401, 404, 404, 404, 404, 201),
    "api-predictor-file": ("GET", 401, 404, 404, 404, 404, 200),
    "api-enlargements": ("GET", 401, 404, 404, 404, 200, 200),
    "api-enlargement": ("GET", 401, 404, 404, 404, 200, 200),
    "api-enlargement-opening": ("PUT", 401, 404, 404, 404, 404, 202),
    "api-systems": ("GET", 401, 404, 404, 404, 200, 200),
    "api-system-kinds": ("GET", 401, 404, 404, 404, 200, 200),
    "api-system": ("GET", 401, 404, 404, 404, 200, 200),
    "api-system-again": ("POST", 401, 404, 404, 404, 202, 202),
    "api-system-curves": ("GET", 401, 404, 404, 404, 200, 200),
    "api-system-search": ("GET", 401, 404, 404, 404, 409, 409),  # let in, but it is not trained
    "api-rejudged": ("GET", 401, 404, 404, 404, 404, 404),  # no run is scored
    "api-leaderboard": ("GET", 401, 404, 404, 404, 200, 200),
    "api-held-back": ("GET", 401, 404, 404, 404, 200, 200),
    "api-webhooks": ("GET", 401, 404, 404, 404, 404, 200),
    "api-webhook": ("DELETE", 401, 404, 404, 404, 404, 204),
    "api-webhook-test": ("POST", 401, 404, 404, 404, 404, 202),
    "api-deliveries": ("GET", 401, 404, 404, 404, 404, 200),
    "api-delivery-again": ("POST", 401, 404, 404, 404, 404, 202),
    "api-claim": ("POST", 401, 404, 200, 200, 404, 404),
    "api-load-ahead": ("POST", 401, 404, 200, 200, 404, 404),
    "api-waiting": ("PUT", 401, 404, 204, 204, 404, 404),
    "api-mine": ("GET", 401, 404, 200, 200, 404, 404),
    "api-mine-exam": ("GET", 401, 404, 200, 404, 404, 404),
    "api-mine-questions": ("POST", 401, 404, 201, 201, 404, 404),
    "api-own-questions": ("GET", 401, 404, 200, 404, 404, 404),
    "api-ask-at": ("POST", 401, 404, 201, 404, 404, 404),
    "api-questions": ("GET", 401, 404, 404, 404, 404, 200),
    "api-queue": ("GET", 401, 404, 404, 404, 200, 200),
    "api-kept-answer": ("DELETE", 401, 404, 404, 404, 404, 204),
    "api-digest": ("GET", 401, 404, 404, 404, 404, 200),
    "api-digest-mail": ("PUT", 401, 404, 404, 404, 404, 204),
    "api-people": ("GET", 401, 404, 404, 404, 404, 200),
    "api-invitation-links": ("GET", 401, 404, 404, 404, 404, 200),
    "api-applicants": ("GET", 401, 404, 404, 404, 404, 200),
    "api-applicant": ("POST", 401, 404, 404, 404, 404, 200),
    "api-question-handled": ("POST", 401, 404, 404, 404, 404, 200),
    "api-practice": ("POST", 401, 404, 200, 200, 404, 404),
    "api-practised": ("GET", 401, 404, 200, 404, 404, 404),
    "api-message-read": ("PUT", 401, 404, 204, 404, 404, 404),
    "api-assignment": ("GET", 401, 404, 200, 404, 404, 404),
    "api-judgement": ("PUT", 401, 404, 200, 404, 404, 404),
    "api-flag": ("PUT", 401, 404, 200, 404, 404, 404),
    "api-resume": ("POST", 401, 404, 200, 404, 404, 404),
    "api-submit": ("POST", 401, 404, 204, 404, 404, 404),
    "api-clip": ("GET", 401, 404, 404, 404, 200, 200),
    "api-place": ("GET", 401, 404, 200, 404, 404, 404),
    "api-agreement-queries": ("GET", 401, 404, 404, 404, 200, 200),
    "api-severity": ("GET", 401, 404, 404, 404, 200, 200),
    "api-agreement-annotator": ("GET", 401, 404, 404, 404, 200, 200),
    "api-frontier": ("GET", 401, 404, 404, 404, 200, 200),
    "api-batches-open": ("POST", 401, 404, 404, 404, 404, 200),
    "api-exam": ("GET", 401, 404, 404, 404, 200, 200),
    "api-exam-batches": ("GET", 401, 404, 404, 404, 200, 200),
    "api-exam-batch": ("GET", 401, 404, 404, 404, 200, 200),
    "api-examinee": ("GET", 401, 404, 404, 404, 200, 200),
    "api-exam-verdict": ("POST", 401, 404, 404, 404, 404, 200),
    "api-examples": ("GET", 401, 404, 200, 200, 200, 200),
    "api-example": ("DELETE", 401, 404, 404, 404, 404, 204),
    "api-teachable": ("GET", 401, 404, 404, 404, 200, 200),
    "api-checks": ("GET", 401, 404, 404, 404, 404, 200),
    "api-check-pairs": ("GET", 401, 404, 404, 404, 404, 200),
    "api-figures": ("GET", 401, 404, 404, 404, 200, 200),
    "api-figure": ("GET", 401, 404, 404, 404, 200, 200),
    "api-study": ("POST", 401, 404, 404, 404, 404, 202),
    "api-reopening-cost": ("GET", 401, 404, 404, 404, 404, 200),
    "api-reopening-undone": ("PUT", 401, 404, 404, 404, 404, 202),
    "api-reopened-queries": ("GET", 401, 404, 404, 404, 200, 200),
    "api-history": ("GET", 401, 404, 404, 404, 404, 200),
    "api-member-creates": ("PUT", 401, 404, 404, 404, 404, 404),  # a lead who may not create campaigns
    "api-invitation-mail": ("POST", 401, 404, 404, 404, 404, 404),  # of a link there is no mail
    "api-search-clip": ("POST", 401, 404, 404, 404, 404, 202),
    "api-search-index": ("POST", 401, 404, 404, 404, 404, 202),
    "api-run-queries": ("GET", 401, 404, 404, 404, 409, 409),  # let in, but there are no scores
    "api-run-query": ("GET", 401, 404, 404, 404, 409, 409),
    "api-run-scatter": ("GET", 401, 404, 404, 404, 422, 422),  # let in, but beside which run?
    "api-measures": ("POST", 401, 404, 404, 404, 200, 200),
    "api-measure": ("DELETE", 401, 404, 404, 404, 404, 204),
    "api-believe": ("GET", 401, 404, 404, 404, 200, 200),
    "api-believe-file": ("GET", 401, 404, 404, 404, 200, 200),
    "api-corpora": ("GET", 401, 200, 200, 200, 200, 200),
    "api-corpus": ("GET", 401, 404, 404, 404, 200, 200),
    "api-moments": ("GET", 401, 404, 404, 404, 200, 200),
    "api-moment": ("GET", 401, 404, 404, 404, 200, 200),
    "api-moment-clip": ("POST", 401, 404, 404, 404, 202, 202),
    "api-captions": ("GET", 401, 404, 404, 404, 404, 200),
    "api-reword": ("POST", 401, 404, 404, 404, 404, 409),  # let in, but candidates are ranked by the captions
    "api-captions-waiting": ("GET", 401, 404, 404, 404, 404, 200),
    "api-caption-accept": ("PUT", 401, 404, 404, 404, 404, 409),
    "api-replaced": ("GET", 401, 404, 404, 404, 404, 200),
    "api-cast": ("GET", 401, 404, 404, 404, 404, 200),
    "api-cast-draft": ("POST", 401, 404, 404, 404, 404, 202),
    "webhook-change": ("POST", 302, 404, 404, 404, 404, 302),
    "webhook-again": ("POST", 302, 404, 404, 404, 404, 302),
    # As on the pages: nobody of this cast may create campaigns. tests/api/test_drafts.py has those who may.
    "api-drafts": ("GET", 401, 404, 404, 404, 404, 404),
    "api-draft": ("GET", 401, 404, 404, 404, 404, 404),
    "api-draft-reading": ("GET", 401, 404, 404, 404, 404, 404),
    "api-draft-problems": ("GET", 401, 404, 404, 404, 404, 404),
    "api-draft-check": ("POST", 401, 404, 404, 404, 404, 404),
    "api-draft-store": ("POST", 401, 404, 404, 404, 404, 404),
    "api-draft-plan": ("GET", 401, 404, 404, 404, 404, 404),
    "api-draft-draw": ("POST", 401, 404, 404, 404, 404, 404),
    "api-draft-make": ("POST", 401, 404, 404, 404, 404, 404),
    "api-uploads": ("POST", 401, 404, 404, 404, 404, 404),
    "api-upload": ("GET", 401, 404, 404, 404, 404, 404),
    "tokens": ("GET", 302, 200, 200, 200, 200, 200),
    "token-revoke": ("POST", 302, 404, 404, 404, 404, 404),
}
# A second method of the same address.
ALSO = {
    "sign-in": ("POST", 200, 302, 302, 302, 302, 302),
    "account_login": ("POST", 200, 302, 302, 302, 302, 302),
    "mfa_authenticate": ("POST", 302, 302, 302, 302, 302, 302),
    "mfa_login_webauthn": ("POST", 302, 302, 302, 302, 302, 302),
    "account_reset_password": ("POST", 200, 200, 200, 200, 200, 200),
    "account_reset_password_from_key": ("POST", 200, 200, 200, 200, 200, 200),
    "account_change_password": ("POST", 302, 200, 200, 200, 200, 200),
    "account_set_password": ("POST", 302, 302, 302, 302, 302, 302),
    "account": ("POST", 302, 302, 302, 302, 302, 302),
    "account_email": ("POST", 302, 302, 302, 302, 302, 302),
    "account_confirm_email": ("POST", 404, 404, 404, 404, 404, 404),
    "account_reauthenticate": ("POST", 302, 200, 200, 200, 200, 200),
    "mfa_reauthenticate": ("POST", 302, 302, 302, 302, 302, 302),
    "mfa_reauthenticate_webauthn": ("POST", 302, 302, 302, 302, 302, 302),
    "mfa_activate_totp": ("POST", 302, 302, 302, 302, 302, 302),
    "mfa_deactivate_totp": ("POST", 302, 404, 404, 404, 404, 404),
    "mfa_add_webauthn": ("POST", 302, 302, 302, 302, 302, 302),
    "mfa_remove_webauthn": ("POST", 302, 302, 302, 302, 302, 302),
    "mfa_generate_recovery_codes": ("POST", 302, 302, 302, 302, 302, 302),
    "join": ("POST", 404, 404, 404, 404, 404, 404),
    "first-account": ("POST", 404, 404, 404, 404, 404, 404),
    "flag": ("DELETE", 401, 404, 200, 404, 404, 404),
    "practice": ("POST", 302, 404, 302, 302, 404, 404),
    "api-practised": ("PUT", 401, 404, 200, 404, 404, 404),
    "drafts": ("POST", 302, 404, 404, 404, 404, 404),
    "draft-data": ("POST", 302, 404, 404, 404, 404, 404),
    "draft-reading": ("POST", 302, 404, 404, 404, 404, 404),
    "draft-queries": ("POST", 302, 404, 404, 404, 404, 404),
    "draft-rules": ("POST", 302, 404, 404, 404, 404, 404),
    "upload": ("PATCH", 401, 404, 404, 404, 404, 404),
    "captions": ("POST", 302, 404, 404, 404, 404, 400),  # let in, but the cast list is empty
    "campaign-settings": ("POST", 302, 404, 404, 404, 404, 400),
    "tokens": ("POST", 302, 302, 302, 302, 302, 302),  # the password first
    "api-waiting": ("POST", 401, 404, 200, 200, 404, 404),
    "api-withdrawal": ("DELETE", 401, 404, 404, 404, 404, 204),
    "api-review": ("DELETE", 401, 404, 404, 404, 404, 404),  # there is none to undo
    "api-watch": ("DELETE", 401, 404, 404, 404, 404, 204),
    "api-grade": ("DELETE", 401, 404, 404, 404, 404, 204),
    "api-reopenings": ("POST", 401, 404, 404, 404, 404, 409),  # let in, but the batch is being judged
    "api-guideline": ("PUT", 401, 404, 404, 404, 404, 428),  # let in, but which version?
    "api-settings": ("PATCH", 401, 404, 404, 404, 404, 428),
    "api-invitations": ("POST", 401, 404, 404, 404, 404, 201),
    "api-invitation-links": ("POST", 401, 404, 404, 404, 404, 201),
    "api-hours": ("POST", 401, 404, 404, 404, 404, 200),
    "api-messages": ("POST", 401, 404, 404, 404, 404, 201),
    "api-held-back": ("PUT", 401, 404, 404, 404, 404, 200),
    "api-watches": ("POST", 401, 404, 404, 404, 404, 422),
    "model-judges": ("POST", 302, 404, 404, 404, 404, 302),
    "predictor-piece": ("PATCH", 401, 404, 404, 404, 404, 400),  # let in, but where does the piece belong?
    "api-predictors": ("POST", 401, 404, 404, 404, 404, 201),
    "api-predictors-worth": ("PUT", 401, 404, 404, 404, 404, 202),
    "api-predictor": ("DELETE", 401, 404, 404, 404, 404, 204),
    "api-predictor-file": ("PATCH", 401, 404, 404, 404, 404, 400),
    "api-enlargements": ("POST", 401, 404, 404, 404, 404, 422),  # let in, but there are no such runs
    "api-releases": ("POST", 401, 404, 404, 404, 404, 202),
    "api-verification": ("GET", 401, 404, 404, 404, 404, 404),  # nobody has asked for one
    "api-runs": ("POST", 401, 404, 404, 404, 201, 201),
    "api-submission-file": ("PATCH", 401, 404, 404, 404, 400, 404),  # let in, but where does the piece belong?
    "api-training-sets": ("POST", 401, 404, 404, 404, 404, 202),
    "api-systems": ("POST", 401, 404, 404, 404, 202, 202),
    "api-system": ("DELETE", 401, 404, 404, 404, 204, 204),
    "api-actions": ("POST", 401, 404, 404, 404, 404, 201),
    "api-action": ("DELETE", 401, 404, 404, 404, 404, 204),
    "api-views": ("POST", 401, 404, 404, 404, 201, 201),
    "api-webhooks": ("POST", 401, 404, 404, 404, 404, 422),  # let in, but the settings name no host
    "api-flag": ("DELETE", 401, 404, 400, 404, 404, 404),  # its fence is part of the address
    "api-webhook": ("PATCH", 401, 404, 404, 404, 404, 200),
    "api-agreement": ("POST", 401, 404, 404, 404, 404, 202),
    "api-exam": ("POST", 401, 404, 404, 404, 404, 409),  # let in, but there is one
    "api-exam-batch": ("PATCH", 401, 404, 404, 404, 404, 428),
    "api-examples": ("POST", 401, 404, 404, 404, 404, 201),
    "api-believe": ("POST", 401, 404, 404, 404, 422, 422),  # let in, but there are no runs to examine
    "api-cast": ("PATCH", 401, 404, 404, 404, 404, 428),
    "api-drafts": ("POST", 401, 404, 404, 404, 404, 404),
    "api-draft": ("PATCH", 401, 404, 404, 404, 404, 404),
    "api-upload": ("PATCH", 401, 404, 404, 404, 404, 404),
    "preferences": ("POST", 302, 400, 400, 400, 400, 400),  # let in, but the form is empty
    "run-upload": ("POST", 302, 404, 404, 404, 400, 400),  # let in, but the form is empty
    "upload-check": ("POST", 302, 404, 404, 404, 400, 404),  # let in, but no file has arrived
    "systems": ("POST", 302, 404, 404, 404, 400, 400),  # let in, but the form is empty
    "run-piece": ("PATCH", 401, 404, 404, 404, 400, 404),  # let in, but where does the piece belong?
}
# A third one.
AND_ALSO = {
    "api-waiting": ("DELETE", 401, 404, 204, 204, 404, 404),
    "api-watch": ("PUT", 401, 404, 404, 404, 404, 202),
    "api-predictor": ("PUT", 401, 404, 404, 404, 404, 422),  # let in, but no file has arrived
    "api-draft": ("DELETE", 401, 404, 404, 404, 404, 404),
    "api-upload": ("DELETE", 401, 404, 404, 404, 404, 404),
}
PEOPLE = ["stranger", "outsider", "annotator", "other annotator", "researcher", "lead"]
STRANGERS = ["annotator of plays", "researcher of plays", "lead of plays"]  # of another campaign
SOME = ("stranger", "annotator", "lead")  # who ask where it does not matter who asks, as by HEAD where GET is tried
OUTERMOST = ("stranger", "lead")  # who ask by a method that an address has for nobody
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
JSON = (
    *("news", "judge", "flag", "ask-at", "submit", "resume", "uploads", "upload"),
    *("run-files", "run-piece", "predictor-files", "predictor-piece"),
)
FOR_ALL = (  # views that a stranger reaches
    *("sign-in", "account_login", "mfa_authenticate", "mfa_login_webauthn", "join", "language", "sign-out"),
    *("openid_connect_login", "openid_connect_callback", "account_confirm_email", "account_reset_password"),
    *("account_reset_password_done", "account_reset_password_from_key", "first-account"),
    *("public-run", "public-run-file", "public-leaderboard", "service-worker", "manifest", "offline"),
)
# A refusal would be logged with its address, which holds a secret.
EVERY_METHOD = "invitation", "first-link"
READING = ("GET", "HEAD")
ALONE = (
    *(
        "home",
        "site-work",
        "api-site-jobs",
        "sign-in",
        "account_login",
        "mfa_authenticate",
        "mfa_login_webauthn",
        "openid_connect_login",
        "join",
    ),
    *("openid_connect_callback", "account_reset_password", "account_reset_password_done", "language", "account"),
    *("account_change_password", "account_set_password", "account_email", "account_reauthenticate", "sign-out"),
    *("mfa_reauthenticate", "mfa_reauthenticate_webauthn", "mfa_index", "mfa_activate_totp", "mfa_deactivate_totp"),
    *("mfa_add_webauthn", "mfa_view_recovery_codes", "mfa_generate_recovery_codes", "usersessions_list"),
    *("work", "campaigns", "first-account", "drafts", "tokens", "api-root", "api-schema", "api-campaigns"),
    *("api-corpora", "api-drafts", "preferences", "suggest-no-breaks", "service-worker"),
)
# Of the API, with something behind ?
ASKED = "api-search", "api-reopening-cost", "api-run-query", "api-system-search"
OF_ONESELF = {"wait": "Membership", "api-waiting": "Membership"}  # whoever asks changes a row of their own
# What is gone is gone, and what was replaced says so to everybody.
AGAIN_IS_HARMLESS = ("example-remove", *(f"api-replaced-{number}" for number in range(2, 5)))


def views(resolver: URLResolver) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for each in resolver.url_patterns:
        if not isinstance(each, URLPattern):
            found += views(each)
        elif getattr(each.callback, "view_class", None) is not MovedPage:
            found.append((each.name or str(each.pattern), each.callback))
    return found


def test_every_address_has_a_row_in_the_matrix() -> None:
    assert sorted(name for name, _ in views(get_resolver())) == sorted(MATRIX)


def test_a_view_refuses_every_other_method_before_it_looks_at_anything_else() -> None:
    for name, view in views(get_resolver()):
        for method in others(name):
            if resource := getattr(view, "cls", None):
                assert not (method.lower() in resource.http_method_names and hasattr(resource, method.lower())), name
            else:
                assert view(RequestFactory().generic(method, "/")).status_code == 405, (name, method)


@pytest.fixture
@remembered
def held(batch: Batch, ada: Membership) -> Assignment:
    """The batch in Ada's hands, every candidate graded, with a clip for each."""
    assignment = claim(ada)
    judge_all(assignment, lambda candidate: 2, submit=False)
    Clip.objects.update(state=Clip.State.READY, file=default_storage.save("clip.mp4", ContentFile(b"0123456789")))
    return assignment


@pytest.fixture(autouse=True)
def exam(batch: Batch) -> None:
    """An exam of one pair, which nobody has to sit."""
    query = Query.objects.create(campaign=batch.query.campaign, kind=Kind.EXAM, query_id="exam:1", text="its own")
    made = Batch.of(query, 1, state=Batch.State.OPEN)
    made.save()
    moment = batch.candidates.order_by("rank")[0].moment
    Candidate.objects.create(query=query, batch=made, moment=moment, rank=1, similarity=0.5)


@pytest.fixture
def people(
    ada: Membership,
    bob: Membership,
    leo: Membership,
    outsider: User,
    member: Callable[..., Membership],
    plays: list[Membership],
) -> dict[str, Client]:
    researcher = member("rio", "researcher")
    members: list[Membership | User] = [outsider, ada, bob, researcher, leo, *plays]
    who = dict(zip(PEOPLE[1:] + STRANGERS, members, strict=True))
    return {"stranger": Client()} | {name: browser(person) for name, person in who.items()}


@pytest.fixture
def plays(db: None) -> list[Membership]:
    """The people of another campaign, over another corpus; no worker number is one of the first campaign's."""
    campaign = Campaign.objects.create(name="plays", corpus=Corpus.objects.create(name="plays", format="tvr"))
    roles = ("annotator", "researcher", "lead")
    members = [campaign.add_member(User.objects.create(username=f"p-{role}"), role) for role in roles]
    for each in members:
        each.worker += 100
        each.save()
    return members


def letter(held: Assignment) -> Message:
    """A message to who holds the batch."""
    message, _ = Message.objects.get_or_create(to=held.annotator, text="Well done.")
    return message


def question(held: Assignment) -> Question:
    """A question of who holds the batch about its first clip."""
    pair = held.candidates_in_order()[0]
    about = {"candidate": pair, "query": pair.query, "text": "Is it?"}
    return Question.objects.get_or_create(annotator=held.annotator, key=UUID(int=1), defaults=about)[0]


def kept(held: Assignment) -> KeptAnswer:
    """An answer to that question, told to all."""
    asks, lead = question(held), predictor(held).by
    about = {"campaign": lead.campaign, "question": "Is it?", "answer": "It is.", "by": lead}
    return KeptAnswer.objects.get_or_create(source=asks, defaults=about)[0]


def applicant(held: Assignment) -> Applicant:
    """Somebody who asks to join."""
    user, _ = User.objects.get_or_create(username="amy")
    link = held.annotator.campaign.invitations.filter(places=2).first()
    link = link or held.annotator.campaign.invite("annotator", None, timedelta(days=1), places=2)[0]
    return Applicant.objects.get_or_create(invitation=link, user=user)[0]


def practice(held: Assignment) -> Practice:
    """A clip that who holds the batch practises with."""
    known = Example.objects.filter(campaign=held.annotator.campaign).first() or Example.objects.get(pk=example(held))
    return Practice.objects.get_or_create(annotator=held.annotator, example=known)[0]


def flagged(held: Assignment) -> Flag:
    flag, _ = Flag.objects.get_or_create(
        assignment=held, candidate_id=held.candidate_at(1), defaults={"reason": Flag.Reason.OTHER}
    )
    return flag


def invited(held: Assignment) -> int:
    """The key of an open invitation."""
    return held.annotator.campaign.invite("annotator", None, timedelta(days=1))[0].pk


def failed(held: Assignment) -> Job:
    job = rank_candidates.ask(held.annotator.campaign)
    Job.objects.filter(pk=job.pk).update(state=Job.State.FAILED)
    return job


def example(held: Assignment) -> int:
    moment, campaign = held.candidates_in_order()[0].moment, held.annotator.campaign
    fields = {"query": "q", "moment": moment, "clip": clip_of(held), "grade": 4, "why": "w"}
    return Example.objects.create(campaign=campaign, **fields).pk


def clip_of(held: Assignment) -> Clip:
    moment = held.candidates_in_order()[0].moment
    return Clip.objects.get(video=moment.video, start=moment.start)


def waiting_caption(held: Assignment) -> int:
    corpus = held.annotator.campaign.corpus
    order = Substitution.objects.create(corpus=corpus, by="cast")
    fields = {"before": "Olga waves.", "state": "queued", "substitution": order}
    return Rewording.objects.get_or_create(corpus=corpus, before=fields.pop("before"), defaults=fields)[0].pk


def version(held: Assignment) -> int:
    """The number of a guideline that a lead wrote."""
    campaign = held.annotator.campaign
    return Guideline.objects.get_or_create(campaign=campaign, version=1, defaults={"text": "t"})[0].version


def webhook(held: Assignment) -> Webhook:
    made = {"address": "https://example.org/", "secret": "s"}
    return Webhook.objects.get_or_create(campaign=held.annotator.campaign, defaults=made)[0]


def delivery(held: Assignment) -> Delivery:
    return Delivery.objects.get_or_create(webhook=webhook(held), defaults={"event": "test", "body": "{}"})[0]


def exam_batch(held: Assignment) -> int:
    return Batch.objects.get(kind=Kind.EXAM).pk


def worker(held: Assignment) -> int:
    return held.annotator.worker


def draft(held: Assignment) -> Draft:
    """Of somebody who may no longer create campaigns."""
    lead, _ = User.objects.get_or_create(username="leo")
    return Draft.objects.get_or_create(owner=lead, token="0" * 32)[0]


def film(held: Assignment) -> Upload:
    fields = {"purpose": "film", "name": "a.mp4", "size": 9}
    return Upload.objects.get_or_create(draft=draft(held), token="1" * 32, defaults=fields)[0]


def run(held: Assignment) -> Run:
    """A researcher's run that everybody may see who may see any."""
    rio, file = researcher(held), Clip.objects.exclude(file="")[0].file.name
    fields = {"name": "bert", "visibility": "public", "token": "3" * 43, "file": file, "table": file}
    numbers = {"size": 10, "queries": 1, "predictions": 1, "description": 'Trained here.\n{"system": "mcn"}'}
    return Run.objects.get_or_create(campaign=rio.campaign, number=1, by=rio, defaults=fields | numbers)[0]


def watch(held: Assignment) -> Watch:
    """The difference of a run and another, which leads watch."""
    first, other = run(held), {"name": "other", "token": "5" * 43, "file": "o", "table": "o", "size": 1}
    other |= {"queries": 1, "predictions": 1}
    second, _ = Run.objects.get_or_create(campaign=first.campaign, number=2, by=first.by, defaults=other)
    return Watch.objects.get_or_create(run=first, other=second, measure="AxIoU@1")[0]


def predictor(held: Assignment) -> Predictor:
    """A predictor whose file is on its way."""
    campaign = held.batch.query.campaign
    lead, _ = User.objects.get_or_create(username="leo")
    by = campaign.add_member(lead, "lead")
    return Predictor.objects.get_or_create(campaign=campaign, name="guess", defaults={"by": by, "source": "file"})[0]


def predictions_file(held: Assignment) -> PredictionsFile:
    about = {"name": "a.csv", "size": 9, "token": "6" * 32}
    return PredictionsFile.objects.get_or_create(predictor=predictor(held), defaults=about)[0]


def action(held: Assignment) -> Action:
    """What a lead has prepared for one query."""
    campaign = held.batch.query.campaign
    leo, _ = User.objects.get_or_create(username="leo")
    lead = campaign.add_member(leo, "lead")
    return campaign.actions.first() or prepare(lead, "close", Query.objects.filter(pk=held.batch.query_id))


def reopening(held: Assignment) -> Reopening:
    """What a lead has reopened of an annotator's work, of which nothing was there."""
    lead = action(held).lead
    about = {"what": "all work of worker 1", "reason": "again", "lead": lead, "annotator": held.annotator}
    record, made = Reopening.objects.get_or_create(campaign=lead.campaign, defaults=about)
    if made:
        now = {"begun": Now(), "ended": Now()}
        Action.objects.create(campaign=lead.campaign, lead=lead, verb="reopen", reopening=record, **now)
    return record


def saved_view(held: Assignment) -> SavedView:
    about = {"campaign": held.annotator.campaign, "is_shared": True, "choices": "mean_from=3"}
    lead = action(held).lead
    return SavedView.objects.get_or_create(by=lead, listing="queries", name="Shared", defaults=about)[0]


def researcher(held: Assignment) -> Membership:
    user, _ = User.objects.get_or_create(username="rio")
    return held.annotator.campaign.add_member(user, "researcher")


def enlargement(held: Assignment) -> Enlargement:
    """One that a lead can open."""
    lead = held.annotator.campaign.memberships.filter(role="lead").first() or researcher(held)
    campaign, moment = lead.campaign, {"query": "1", "video": "v", "start": 0.0, "end": 1.0, "near": None}
    release = Release.objects.filter(campaign=campaign).first() or freeze(campaign, lead, "CC0-1.0")
    found = {"moments": [moment | {"influence": 1.0, "ranks": {"1": 1}}], "more": 0, "not_closed": 0}
    fields = {"release": release, "lead": lead, "depth": 10, "iou": 0.5, "runs": [1, 2], "found": found}
    return Enlargement.objects.get_or_create(campaign=campaign, number=1, defaults=fields)[0]


def submission(held: Assignment) -> Submission:
    fields = {"name": "next", "by": researcher(held)}
    return Submission.objects.get_or_create(token="2" * 32, defaults=fields)[0]


def arrival(held: Assignment) -> Arrival:
    fields = {"purpose": "videos", "name": "v.json", "size": 9, "submission": submission(held)}
    return Arrival.objects.get_or_create(token="4" * 32, defaults=fields)[0]


def trained_system(held: Assignment) -> TrainedSystem:
    """A researcher's, in training."""
    rio = researcher(held)
    fields = {"by": rio, "name": "seen", "system": "mcn", "options": {}, "features": "i3d", "losses": [[1, 0.5]]}
    numbers = {"clip_seconds": 1.0, "depth": 20}
    rows = TrainedSystem.objects
    return rows.get_or_create(campaign=rio.campaign, number=1, defaults=fields | numbers)[0]


# What stands in an address after the campaign's name; an address that is not here has nothing else.
OBJECTS: dict[str, Callable[[Assignment], list[object]]] = {
    "read-message": lambda held: [letter(held).pk],
    **dict.fromkeys(
        ("action", "action-change", "api-action", "api-action-begun", "api-action-undone"),
        lambda held: [action(held).pk],
    ),
    **dict.fromkeys(
        ("reopening-undo", "api-reopening-undone", "api-reopened-queries"), lambda held: [reopening(held).pk]
    ),
    "api-view": lambda held: [saved_view(held).pk],
    "batch": lambda held: [held.batch_id],
    "review": lambda held: [held.batch_id],
    "handle-flag": lambda held: [flagged(held).pk],
    "practice-clip": lambda held: [practice(held).pk],
    "practise": lambda held: [practice(held).pk],
    "api-practised": lambda held: [practice(held).pk],
    "handle-question": lambda held: [question(held).pk],
    "applicant": lambda held: [applicant(held).pk],
    "api-applicant": lambda held: [applicant(held).pk],
    "kept-answer-take-back": lambda held: [kept(held).pk],
    "api-kept-answer": lambda held: [kept(held).pk],
    "api-question-handled": lambda held: [question(held).pk],
    "adjudicate": lambda held: [held.batch.candidates.order_by("rank")[0].pk],
    "exam-truth": lambda held: [Candidate.objects.get(batch=exam_batch(held)).pk],
    "exam-verdict": lambda held: [worker(held)],
    "example-add": lambda held: [held.candidates_in_order()[0].pk],
    "example-remove": lambda held: [example(held)],
    "corpus-moment-cut": lambda held: [held.candidates_in_order()[0].moment_id],
    "annotator": lambda held: [worker(held)],
    "annotator-change": lambda held: [worker(held)],
    "annotator-creates": lambda held: [worker(held)],
    "invitation-withdraw": lambda held: [invited(held)],
    "invitation-send": lambda held: [invited(held)],
    "api-job": lambda held: [failed(held).pk],
    **{f"api-replaced-{number}": lambda held: [1] for number in range(2, 5)},
    "api-query": lambda held: [held.batch.query_id],
    "api-withdrawal": lambda held: [held.batch.query_id],
    "api-batch": lambda held: [held.batch_id],
    "api-review": lambda held: [held.batch_id],
    "api-grade": lambda held: [held.batch.candidates.order_by("rank")[0].pk],
    "api-flag-handled": lambda held: [flagged(held).pk],
    "api-guideline-version": lambda held: [version(held)],
    "api-member": lambda held: [worker(held)],
    "api-member-change": lambda held: [worker(held)],
    "api-member-role": lambda held: [worker(held)],
    "api-invitation": lambda held: [invited(held)],
    "api-message-read": lambda held: [letter(held).pk],
    "api-release": lambda held: [1],
    "api-release-file": lambda held: [1],
    "api-release-signature": lambda held: [1],
    "api-verification": lambda held: [1],
    "api-run": lambda held: [run(held).number],
    "api-run-file": lambda held: [run(held).number],
    "api-run-scores": lambda held: [run(held).number],
    "api-run-visibility": lambda held: [run(held).number],
    "api-run-entry": lambda held: [run(held).number],
    "api-submission": lambda held: [submission(held).token],
    "api-submission-files": lambda held: [submission(held).token],
    "api-submission-file": lambda held: [submission(held).token, arrival(held).token],
    "api-submission-check": lambda held: [submission(held).token],
    "api-training-set": lambda held: [40],
    "api-webhook": lambda held: [webhook(held).pk],
    "api-webhook-test": lambda held: [webhook(held).pk],
    "api-deliveries": lambda held: [webhook(held).pk],
    "api-delivery-again": lambda held: [webhook(held).pk, delivery(held).pk],
    "webhook-change": lambda held: [webhook(held).pk],
    "webhook-again": lambda held: [webhook(held).pk, delivery(held).pk],
    "api-agreement-annotator": lambda held: [worker(held)],
    "api-exam-batch": lambda held: [exam_batch(held)],
    "api-examinee": lambda held: [worker(held)],
    "api-exam-verdict": lambda held: [worker(held)],
    "api-example": lambda held: [example(held)],
    "api-check-pairs": lambda held: [worker(held)],
    "api-member-creates": lambda held: [worker(held)],
    "api-invitation-mail": lambda held: [invited(held)],
    "api-run-queries": lambda held: [run(held).number],
    "api-run-query": lambda held: [run(held).number],
    "api-run-scatter": lambda held: [run(held).number, "csv"],
    "release": lambda held: [1],
    "release-zip": lambda held: [1],
    "release-file": lambda held: [1, "README.md"],
    "release-changes": lambda held: [1],
    "release-signature": lambda held: [1],
    "run": lambda held: [run(held).number],
    "run-file": lambda held: [run(held).number],
    "run-description": lambda held: [run(held).number],
    "run-queries": lambda held: [run(held).number],
    "run-query": lambda held: [run(held).number],
    "run-figure": lambda held: [run(held).number, "scatter", "csv"],
    "run-visibility": lambda held: [run(held).number],
    "run-entry": lambda held: [run(held).number],
    "public-run": lambda held: [run(held).token],
    "public-run-file": lambda held: [run(held).token],
    "watch-change": lambda held: [watch(held).pk],
    "api-watch": lambda held: [watch(held).pk],
    "api-measure": lambda held: ["AxIoU@20"],
    "predictor-ask": lambda held: [predictor(held).pk],
    "predictor-progress": lambda held: [predictor(held).pk],
    "predictor-grades": lambda held: [predictor(held).pk],
    "predictor-remove": lambda held: [predictor(held).pk],
    "predictor-files": lambda held: [predictor(held).pk],
    "predictor-piece": lambda held: [predictor(held).pk, predictions_file(held).token],
    "api-predictor": lambda held: [predictor(held).pk],
    "api-predictor-grades": lambda held: [predictor(held).pk],
    "api-predictor-files": lambda held: [predictor(held).pk],
    "api-predictor-file": lambda held: [predictor(held).pk, predictions_file(held).token],
    "api-enlargement": lambda held: [enlargement(held).number],
    "api-enlargement-opening": lambda held: [enlargement(held).number],
    "unjudged-open": lambda held: [enlargement(held).number],
    "upload-check": lambda held: [submission(held).token],
    "run-progress": lambda held: [submission(held).token],
    "run-files": lambda held: [submission(held).token],
    "run-piece": lambda held: [submission(held).token, arrival(held).token],
    "system": lambda held: [trained_system(held).number],
    "system-remove": lambda held: [trained_system(held).number],
    "system-curves": lambda held: [trained_system(held).number, "csv"],
    "api-system": lambda held: [trained_system(held).number],
    "api-system-again": lambda held: [trained_system(held).number],
    "api-system-curves": lambda held: [trained_system(held).number, "csv"],
    "api-system-search": lambda held: [trained_system(held).number],
    "training-set": lambda held: [40],
}
# The same of addresses that name a kind of file, which each campaign has.
FILES: dict[str, list[object]] = {
    "steer": ["priority"],
    "export": ["qrels.txt"],
    "figure": ["table-1.csv"],
    "api-export": ["qrels.txt"],
    "leaderboard-file": ["csv"],
    "leaderboard-figure": ["wins", "csv"],
    "measures-file": ["csv"],
    "api-figure": ["table-1.csv"],
    "api-believe-file": ["csv"],
}
# What stands in the addresses that name no campaign.
TOKENS: dict[str, Callable[[Assignment], list[object]]] = {
    **dict.fromkeys(
        ("captions", "captions-work", "corpus-films", "reword", "replaced-csv", "cast-draft"),
        lambda held: [held.annotator.campaign.corpus_id],
    ),
    **dict.fromkeys(
        ("job-again", "job-cancel", "api-any-job", "api-any-job-again", "api-any-job-cancel"),
        lambda held: [failed(held).pk],
    ),
    **dict.fromkeys(("manifest", "offline"), lambda held: ["en"]),
    "caption-accept": lambda held: [held.annotator.campaign.corpus_id, waiting_caption(held)],
    "tour": lambda held: [1],
    "clip": lambda held: [clip_of(held).token],
    "place": lambda held: [*clip_addresses(held)[0].split("/")[3::2]],
    "workplace": lambda held: [held.token],
    "judge": lambda held: [held.token, 1],
    "flag": lambda held: [held.token, 1],
    "own-questions": lambda held: [held.token],
    "ask-at": lambda held: [held.token, 1],
    "api-own-questions": lambda held: [held.token],
    "api-ask-at": lambda held: [held.token, 1],
    "submit": lambda held: [held.token],
    "resume": lambda held: [held.token],
    "draft-data": lambda held: [draft(held).token],
    "draft-reading": lambda held: [draft(held).token, "moments"],
    "draft-problems": lambda held: [draft(held).token],
    "draft-queries": lambda held: [draft(held).token],
    "draft-store": lambda held: [draft(held).token],
    "draft-rules": lambda held: [draft(held).token],
    "draft-create": lambda held: [draft(held).token],
    "draft-check-start": lambda held: [draft(held).token],
    "draft-progress": lambda held: [draft(held).token],
    "draft-make": lambda held: [draft(held).token],
    "draft-remove": lambda held: [draft(held).token],
    "uploads": lambda held: [draft(held).token],
    "upload": lambda held: [draft(held).token, film(held).token],
    "upload-remove": lambda held: [draft(held).token, film(held).token],
    "invitation": lambda held: ["x" * 43],
    "first-link": lambda held: ["x" * 43],
    "account_reset_password_from_key": lambda held: ["1", "x" * 40],
    "account_confirm_email": lambda held: ["x" * 40],
    "mfa_remove_webauthn": lambda held: [1],
    "session-end": lambda held: [1],
    "token-revoke": lambda held: [1],
    "api-clip": lambda held: [clip_of(held).token],
    "api-place": lambda held: [*clip_addresses(held)[0].split("/")[3::2]],
    "api-assignment": lambda held: [held.token],
    "api-judgement": lambda held: [held.token, 1],
    "api-flag": lambda held: [held.token, 1],
    "api-submit": lambda held: [held.token],
    "api-resume": lambda held: [held.token],
    "sso-disconnect": lambda held: [1],
    **dict.fromkeys(
        (
            "api-corpus",
            "api-corpus-jobs",
            "api-moments",
            "api-captions",
            "api-reword",
            "api-captions-waiting",
            "api-replaced",
            "api-cast",
            "api-cast-draft",
        ),
        lambda held: [held.annotator.campaign.corpus_id],
    ),
    **dict.fromkeys(
        ("api-moment", "api-moment-clip"),
        lambda held: [held.annotator.campaign.corpus_id, held.candidates_in_order()[0].moment_id],
    ),
    "api-caption-accept": lambda held: [held.annotator.campaign.corpus_id, waiting_caption(held)],
    **dict.fromkeys(
        (
            *("api-draft-reading", "api-draft-problems"),
            *("api-draft", "api-draft-check", "api-draft-store", "api-draft-plan", "api-draft-draw", "api-draft-make"),
            "api-uploads",
        ),
        lambda held: [draft(held).token],
    ),
    "api-upload": lambda held: [draft(held).token, film(held).token],
}


@dataclass(frozen=True)
class Door:
    """An address with all that it needs; `elsewhere`, in the other campaign, it names the objects of this one."""

    name: str
    address: str
    elsewhere: str
    body: dict[str, object]

    @classmethod
    def to(cls, name: str, held: Assignment) -> Door:
        if name in TOKENS:
            here = elsewhere = reverse(name, args=TOKENS[name](held))
        elif name in ALONE:
            here = elsewhere = reverse(name)
        else:
            rest = OBJECTS[name](held) if name in OBJECTS else FILES.get(name, [])
            here, elsewhere = (reverse(name, args=[campaign, *rest]) for campaign in ("films", "plays"))
        return cls(name, here, elsewhere, content(name, held))

    @property
    def is_api(self) -> bool:
        return self.name.startswith("api-")

    def ask(self, client: Client, method: str, elsewhere: bool = False) -> Any:
        address, send = self.elsewhere if elsewhere else self.address, getattr(client, method.lower())
        if method in READING:
            answer = send(address, self.body if self.name in ASKED or not self.is_api else {})
        elif self.is_api or self.name in JSON:
            answer = send(address, json.dumps(self.body), content_type="application/json")
        else:
            answer = send(address, self.body if method == "POST" else "")
        answer.body = content_of(answer)
        # Clips are the browser's to keep; nothing else is.
        is_clip = self.name.removeprefix("api-") in ("clip", "place")
        stored = "private" if is_clip and answer.status_code == 200 else "no-store"
        assert stored in answer["Cache-Control"], address
        return answer


def content(name: str, held: Assignment) -> dict[str, object]:
    """What is sent to an address, as JSON or as a form."""
    batch = held.batch
    bodies: dict[str, dict[str, object]] = {
        "judge": {"grade": 2, "fence": held.fence, "key": str(uuid4()), "seconds": 1.5},
        "flag": {"reason": "clip", "fence": held.fence, "key": str(uuid4())},
        "submit": {"fence": held.fence},
        "practise": {"grade": "3"},
        "ask": {"text": "Is it?", "key": str(uuid4())},
        "ask-at": {"about": "clip", "text": "Is it?", "key": str(uuid4())},
        "handle-question": {"action": "answer", "text": "It is."},
        "sign-in": {"username": "ada", "password": "wrong"},
        "account_login": {"username": "ada", "password": "wrong"},
        "review": {"verdict": "close"},
        "reword": {"by": "cast"},
        "caption-accept": {"caption": "A woman waves."},
        "release-make": {"licence": "CC0-1.0"},
        "unjudged-propose": {"depth": "10", "iou": "0.5"},
        "unjudged-open": {"taken": "1", "near": "leave"},
        "training-set-make": {"depth": "40"},
        "search-cut": {"moment": str(held.candidates_in_order()[0].moment_id), "q": "a door"},
        "exam-make": {"queries": "1", "depth": "3", "seed": "1"},
        "exam-truth": {"truth": "3"},
        "exam-verdict": {"verdict": "qualify", "reason": "known"},
        "annotator-change": {"verb": "pause"},
        "invite": {"role": "annotator", "hours": "24"},
        "invite-people": {"people": "Amy", "role": "annotator", "hours": "24", "way": "links"},
        "applicant": {"action": "approve"},
        "digest-mail": {"wanted": "no"},
        "send-message": {"to": "all", "text": "Well done."},
        "handle-flag": {"action": "dismiss"},
        "adjudicate": {"grade": "none"},
        "run-files": {"purpose": "run", "name": "run.json", "size": 9},
        "run-visibility": {"visibility": "private"},
        "run-entry": {"entered": "yes"},
        "leaderboard-measure": {"convention": "paper", "measure": "AxIoU@20"},
        "webhook-make": {"address": "https://example.org/", "events": ["query.closed"]},
        "webhook-change": {"action": "disable"},
    }
    bodies["steer"] = {"priority": "first"}
    one = str(held.annotator.worker)
    bodies["api-steering-limits"] = {"who": one, "most_a_day": 400}
    bodies["api-steering-group"] = {"who": one, "group": "night"}
    bodies["api-steering-priority"] = {"priority": "first"}
    bodies["api-steering-share"] = {"group": "night", "percent": 50}
    bodies["api-judgement"] = bodies["judge"]
    bodies["api-flag"] = bodies["flag"]
    bodies["api-submit"] = bodies["submit"]
    bodies["api-applicant"] = bodies["applicant"]
    bodies["api-digest-mail"] = {"wanted": False}
    bodies["api-invitation-links"] = {"people": [{"name": "Amy"}], "role": "annotator", "hours": 24}
    bodies["api-mine-questions"] = bodies["ask"]
    bodies["api-practised"] = {"grade": 3}
    bodies["api-ask-at"] = bodies["ask-at"]
    bodies["api-question-handled"] = {"answer": "It is."}
    bodies["api-review"] = bodies["review"]
    bodies["api-search"] = {"q": "a door"}
    bodies["api-system-search"] = bodies["api-search"]
    bodies["api-systems"] = {"system": "chance", "name": "drawn", "features": "descriptor"}
    bodies["action-prepare"] = {"verb": "close", "which": "ticked", "row": str(batch.query_id)}
    bodies["action-change"] = {"change": "begin"}
    bodies["saved-views"] = {"listing": "queries", "name": "Worst", "choices": "mean_from=3"}
    bodies["api-actions"] = {"verb": "close", "queries": [batch.query_id]}
    bodies["api-views"] = bodies["saved-views"]
    bodies["api-withdrawal"] = {"reason": "not a sentence"}
    bodies["api-flag-handled"] = bodies["handle-flag"]
    bodies["api-grade"] = {"grade": 3, "reason": "known"}
    bodies["api-reopenings"] = {"what": "batch", "id": batch.pk, "reason": "unclear"}
    bodies["api-guideline"] = {"text": "Watch it."}
    bodies["api-member-change"] = {"verb": "pause"}
    bodies["api-member-role"] = {"role": "researcher", "reason": "has finished"}
    bodies["api-invitations"] = {"role": "annotator", "hours": 24}
    bodies["api-invitations-by-mail"] = {"people": [{"address": "a@b.org"}], "role": "annotator", "hours": 24}
    bodies["api-runs"] = {"name": "bert"}
    bodies["api-run-visibility"] = bodies["run-visibility"]
    bodies["api-run-entry"] = {"entered": True}
    bodies["api-submission-files"] = bodies["run-files"]
    bodies["api-training-sets"] = {"depth": 40}
    bodies["api-messages"] = {"text": "Well done."}
    bodies["hours-approve"] = bodies["api-hours"] = {"from": "2026-01-01", "to": "2026-01-31"}
    bodies["watch-begin"] = bodies["api-watches"] = {"run": 8, "other": 9, "measure": "AxIoU@1"}
    bodies["model-judges"] = bodies["api-predictors"] = {"name": "another", "source": "file"}
    bodies["predictor-files"] = {"purpose": "grades", "name": "b.csv", "size": 9}
    bodies["api-predictor-files"] = {"name": "b.csv", "size": 9}
    bodies["api-enlargements"] = {"runs": [1, 2]}
    bodies["api-enlargement-opening"] = {"taken": 1}
    bodies["api-releases"] = {"licence": "CC0-1.0"}
    moment = held.candidates_in_order()[0].moment_id
    bodies["api-exam"] = {"queries": 1, "depth": 3, "seed": 1}
    bodies["api-exam-batch"] = {"truths": [{"rank": 1, "grade": 3}]}
    bodies["api-exam-verdict"] = bodies["exam-verdict"]
    bodies["api-examples"] = {"candidate": held.candidates_in_order()[0].pk, "grade": 4, "why": "w"}
    bodies["api-reopening-cost"] = {"what": "batch", "id": batch.pk}
    bodies["api-member-creates"] = {"may": True}
    bodies["api-search-clip"] = {"moment": moment}
    bodies["api-run-query"] = {"query": "1"}
    bodies["api-measures"] = {"measure": "AxIoU@20"}
    bodies["api-reword"] = bodies["reword"]
    bodies["api-caption-accept"] = {"text": "A woman waves."}
    bodies["api-cast"] = {"names": [{"id": 1}]}
    bodies["api-uploads"] = {"purpose": "film", "name": "a.mp4", "size": 9}
    bodies["api-webhook"] = {"enabled": False}
    bodies["api-webhooks"] = {"address": "https://example.org/", "events": ["query.closed"]}
    return bodies.get(name, {})


def ask(client: Client, name: str, held: Assignment) -> int:
    return int(Door.to(name, held).ask(client, MATRIX[name][0]).status_code)


def door_to(name: str, held: Assignment, bob: Membership, zoe: Membership) -> Door:
    """The address, after what it needs has happened."""
    if "pract" in name:
        practice(held)  # so that there is something to practise with
    if name in ("exam-result", "api-mine-exam"):
        held.annotator.sittings.create(result=Sitting.Result.FAILED, ended=Now(), pairs=3, missed=1)
    if name in ("release", "release-zip", "release-file", "release-changes"):  # which read its file
        freeze(held.annotator.campaign, zoe, "CC0-1.0")
        assert work_off(io.StringIO()) == []
    releases = ("api-release", "api-release-file", "api-verification")
    if name in releases or re.search("leaderboard|believe|measure|signature", name):
        freeze(held.annotator.campaign, zoe, "CC0-1.0")
        clip = Clip.objects.exclude(file="")[0].file
        Release.objects.update(state=Release.State.READY, file=clip.name, signature="a signature")
        ScoringReference.objects.create(release=Release.objects.get(), queries=[["1", "", 4, 20]])
        kinds = ("scores", "orders", "agreement", "stability-two", "noise", "ties")
        rows: dict[str, list[Any]] = {kind: [] for kind in kinds}
        nothing = {"measures": [HEADLINE], "rows": rows}
        Inquiry.objects.create(release=Release.objects.get(), convention="paper", findings=nothing)
    if "rejudged" in name:
        Benchmark.objects.create(campaign=held.annotator.campaign, name="val.json", table="val.npz", depth=10)
    if name in ("training-set", "api-training-set"):
        file = Clip.objects.exclude(file="")[0].file.name
        TrainingSet.objects.create(campaign=held.annotator.campaign, depth=40, file=file)
    if name in ("review", "example-add", "api-review", "api-examples"):
        judge_all(claim(bob), lambda candidate: 2)
        submitting.submit(held, held.fence)
    return Door.to(name, held)


def rows_of(name: str) -> dict[str, tuple[int, ...]]:
    """The matrix's statuses of an address by method, for all people."""
    found = {row[0]: row[1:] for row in (MATRIX[name], ALSO.get(name), AND_ALSO.get(name)) if row}
    if "GET" in found:
        found["HEAD"] = found["GET"]
    # The people of another campaign are strangers to this one.
    return {method: (*statuses, *[statuses[1]] * len(STRANGERS)) for method, statuses in found.items()}


def others(name: str) -> list[str]:
    """The methods that an address has for nobody."""
    return [] if name in EVERY_METHOD else [method for method in METHODS if method not in rows_of(name)]


def refusals_of(name: str, method: str) -> tuple[int, ...]:
    """The statuses of any other method, for all people: first, who are you; then, this is no way to ask."""
    in_json = name.startswith("api-") or (name in JSON and method not in READING)
    signed_out = 405 if name in FOR_ALL else 401 if in_json else 302
    return (signed_out, *[405] * (len(PEOPLE) - 1 + len(STRANGERS)))


Rows = dict[str, list[tuple[Any, ...]]]
READ: dict[str, Any] = {"changes": None, "rows": {}}


def changes() -> tuple[int, int] | None:
    """The connection, and how many rows it has changed so far; only SQLite counts them."""
    connection.ensure_connection()
    count = getattr(connection.connection, "total_changes", None)
    return None if count is None else (id(connection.connection), count)


def everything() -> Rows:
    """Every row of the database, apart from what signing in writes; read again only after a row was changed."""
    now = changes()
    if now is None or now != READ["changes"]:
        READ.update(changes=now, rows=_rows())
    rows: Rows = READ["rows"]
    return rows


def _rows() -> Rows:
    """As the database's driver gives them."""
    found = {}
    with connection.cursor() as cursor:
        for model in apps.get_models():
            if model._meta.app_label not in ("sessions", "usersessions") and model is not CacheEntry:
                cursor.execute(f'SELECT * FROM "{model._meta.db_table}" ORDER BY "{model._meta.pk.column}"')
                found[model.__name__] = cursor.fetchall()
    return found


@pytest.mark.timeout(1200)
def test_the_matrix(held: Assignment, bob: Membership, leo: Membership, people: dict[str, Client], case: Case) -> None:
    cookies = {who: client.cookies.output() for who, client in people.items()}
    for name in MATRIX:
        with case(name):
            READ.update(changes=None)
            the_matrix(name, door_to(name, held, bob, leo), people)
        for who, client in people.items():
            client.cookies = SimpleCookie(cookies[who].replace("Set-Cookie: ", ""))


def the_matrix(name: str, door: Door, people: dict[str, Client]) -> None:
    """Three questions share what the address needs. What ends a session is asked last."""
    before = everything()
    what_is_refused_changes_nothing(name, door, people)
    assert everything() == before
    no_object_of_one_campaign_is_in_another(name, door, people)
    for method, statuses in rows_of(name).items():
        for (who, client), status in zip(people.items(), statuses, strict=True):
            if status < 400 and (method != "HEAD" or who in SOME):
                assert undone(door.ask, client, method).status_code == status, (who, method)


def what_is_refused_changes_nothing(name: str, door: Door, people: dict[str, Client]) -> None:
    """Each person whom the matrix refuses. Another method says the same to everybody, so some ask by one of them."""
    allowed = rows_of(name)
    for method in [*allowed, *others(name)[:1]] if name not in EVERY_METHOD else ():
        statuses = allowed.get(method) or refusals_of(name, method)
        for (who, client), status in zip(people.items(), statuses, strict=True):
            is_asked = who in SOME if method == "HEAD" else who in OUTERMOST or method in allowed
            if is_asked and (status >= 400 or method not in allowed):
                assert door.ask(client, method).status_code == status, (who, method)


def no_object_of_one_campaign_is_in_another(name: str, door: Door, people: dict[str, Client]) -> None:
    """At the addresses of their own campaign they find nothing of this one, whatever key they name."""
    before = everything()
    for who in STRANGERS:
        for method in rows_of(name).keys() - {"HEAD"}:
            status = undone(elsewhere, before, door, people[who], method)
            wanted = {404} if name in OBJECTS and name not in AGAIN_IS_HARMLESS else set(range(500))
            assert status in wanted, (who, method)


def undone(act: Callable[..., Any], *arguments: object) -> Any:
    """What it answers; what it changed is taken back, so that each person finds the same."""
    before, so_far = transaction.savepoint(), changes()
    try:
        return act(*arguments)
    finally:
        transaction.savepoint_rollback(before)
        if changes() != so_far:
            READ.update(changes=None)  # the count stays what it was, although the rows are others


def elsewhere(before: Any, door: Door, client: Client, method: str) -> int:
    """The status of an answer that tells and changes nothing of the first campaign."""
    answer = door.ask(client, method, elsewhere=True)
    assert not re.search(rb"secret (description|caption)|secret-video|A person sits down", answer.body)
    after = everything()
    for model, rows in before.items():
        if model == OF_ONESELF.get(door.name):
            continue
        assert rows == after[model] or {*map(repr, rows)} <= {*map(repr, after[model])}, model
    return int(answer.status_code)


FORMS_THAT_NAME = [
    ("action-prepare", {"candidate": "candidate"}, 404),
    ("action-prepare", {"batch": "batch"}, 404),
    ("action-prepare", {"worker": "worker"}, 404),
    ("send-message", {"to": "worker"}, 404),
    ("undo", {"review": "review"}, 302),
]


@pytest.mark.parametrize(("name", "fields", "status"), FORMS_THAT_NAME)
def test_no_form_reaches_into_another_campaign(
    name: str, fields: dict[str, str], status: int, settled: Batch, ada: Membership, plays: list[Membership]
) -> None:
    """A lead of the other campaign names this one's objects in a form of her own."""
    done = reviewing.review(settled, None, Review.Verdict.CLOSE)
    keys = {
        "candidate": settled.candidates.order_by("rank")[0].pk,
        "batch": settled.pk,
        "worker": ada.worker,
        "query": settled.query_id,
        "review": done.pk,
    }
    lead, before = browser(plays[-1]), everything()
    form = {field: str(keys[what]) for field, what in fields.items()} | {"verb": "reopen", "text": "Well done."}
    answer = lead.post(reverse(name, args=["plays"]), form)
    assert answer.status_code == status
    assert everything() == before


def test_a_form_without_its_token_is_refused(ada: Membership) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(ada.user)
    assert client.post(reverse("claim", args=["films"])).status_code == 403


@pytest.mark.parametrize("address", ["/judge/films/claim", "/api/v1/campaigns/films/claim"])
def test_a_foreign_origin_is_named_as_the_cause(ada: Membership, settings: Any, address: str) -> None:
    settings.CSRF_TRUSTED_ORIGINS = ["https://judge.example.org"]
    client = Client(enforce_csrf_checks=True)
    client.force_login(ada.user)
    answer = client.post(address, headers={"origin": "https://evil.com:8443", "accept": "application/json"})
    assert answer.status_code == 403
    words = answer.json()["detail"]
    assert "comes from the origin https://evil.com:8443. " in words
    assert "from http://testserver, https://judge.example.org only." in words
    assert "SITE_URL" in words


def test_a_role_taken_away_ends_at_once(held: Assignment, ada: Membership) -> None:
    client = browser(ada)
    Membership.objects.filter(pk=ada.pk).update(state=Membership.State.PAUSED)
    assert client.get(reverse("workplace", args=[held.token])).status_code == 404
    assert ask(client, "judge", held) == 404


def test_who_leads_meanwhile_no_longer_judges(held: Assignment, ada: Membership) -> None:
    client = browser(ada)
    Membership.objects.filter(pk=ada.pk).update(role=Membership.Role.LEAD)
    assert ask(client, "judge", held) == 404
    assert ask(client, "submit", held) == 404


def test_a_disabled_user_is_signed_out_mid_lease(held: Assignment, ada: Membership) -> None:
    client = browser(ada)
    User.objects.filter(pk=ada.user_id).update(is_active=False)
    assert ask(client, "judge", held) == 401


def test_an_examples_clip_is_open_to_its_campaign_only(
    batch: Batch, people: dict[str, Client], outsider: User, corpus: Corpus
) -> None:
    moment = Moment.objects.filter(candidates__isnull=True).latest("pk")
    clip = Clip.objects.create(video=moment.video, start=moment.start, end=moment.end, state=Clip.State.READY)
    clip.file.save(f"clips/{clip.token}.mp4", content=ContentFile(b"0123456789"))
    address = reverse("clip", args=[clip.token])
    assert people["annotator"].get(address).status_code == 404
    campaign = batch.query.campaign
    Example.objects.create(campaign=campaign, query="q", moment=moment, clip=clip, grade=4, why="w")
    answers = {who: client.get(address) for who, client in people.items()}
    assert content_of(answers["annotator"]) == content_of(answers["lead"]) == b"0123456789"
    assert content_of(answers["other annotator"]) == content_of(answers["researcher"])
    statuses = {who: answer.status_code for who, answer in answers.items()}
    members = ("annotator", "other annotator", "researcher", "lead")
    closed_to = dict.fromkeys(("outsider", *STRANGERS), 404)
    assert statuses == {"stranger": 302} | closed_to | dict.fromkeys(members, 200)
    bob = Membership.objects.filter(user__username="bob")
    bob.update(state=Membership.State.PAUSED)
    assert content_of(people["other annotator"].get(address)) == b"0123456789"
    bob.update(state=Membership.State.LEFT)
    assert people["other annotator"].get(address).status_code == 404


def test_clips_close_with_the_lease(held: Assignment, ada: Membership) -> None:
    """Whoever comes back after it opens her work again, which gives her a new one if the batch is still hers."""
    client = browser(ada)
    expire(held)
    assert ask(client, "place", held) == 404
    page = client.get(reverse("workplace", args=[held.token]), follow=True)
    assert "You were away for a long time" in page.content.decode()
    assert client.post(reverse("claim", args=["films"])).headers["Location"].endswith(f"/{held.token}/")
    assert (ask(client, "place", held), ask(client, "workplace", held)) == (200, 200)


def test_clips_close_with_the_batch(held: Assignment, ada: Membership) -> None:
    client = browser(ada)
    assert ask(client, "place", held) == 200
    submitting.submit(held, held.fence)
    assert ask(client, "place", held) == 404


@pytest.mark.parametrize(
    ("byte_range", "status", "body", "content_range"),
    [
        ("bytes=0-3", 206, b"0123", "bytes 0-3/10"),
        ("bytes=8-", 206, b"89", "bytes 8-9/10"),
        ("bytes=-3", 206, b"789", "bytes 7-9/10"),
        ("bytes=5-99", 206, b"56789", "bytes 5-9/10"),
        ("bytes=10-", 416, b"", "bytes */10"),
        ("bytes=7-3", 416, b"", "bytes */10"),
        ("bytes=-", 200, b"0123456789", None),
        ("lines=1-2", 200, b"0123456789", None),
    ],
)
def test_ranges_of_clips(
    held: Assignment, leo: Membership, byte_range: str, status: int, body: bytes, content_range: str | None
) -> None:
    clip = Clip.objects.get(
        video=held.candidates_in_order()[0].moment.video, start=held.candidates_in_order()[0].moment.start
    )
    answer = browser(leo).get(reverse("clip", args=[clip.token]), headers={"range": byte_range})
    content = content_of(answer)
    assert (answer.status_code, content, answer.get("Content-Range")) == (status, body, content_range)


def test_too_many_wrong_passwords_lock_the_name_out(ada: Membership, settings: object) -> None:
    client, wrong = Client(), {"username": "ada", "password": "wrong"}
    answers = [client.post(reverse("sign-in"), wrong).status_code for _ in range(11)]
    assert answers[0] == 200
    assert answers[-1] == 429


def test_a_wrong_present_password_locks_out_as_at_signing_in(ada: Membership) -> None:
    """An open browser is no way to find the password."""
    ada.user.set_password("a-long-word-7")
    ada.user.save()
    client = browser(ada)
    new = {"password1": "another-word-7", "password2": "another-word-7"}
    address = reverse("account_change_password")
    answers = [client.post(address, {"oldpassword": "wrong"} | new) for _ in range(11)]
    assert (answers[0].status_code, answers[-1].status_code) == (200, 429)
    assert client.post(address, {"oldpassword": "a-long-word-7"} | new).status_code == 429
    signing_in = {"username": "ada", "password": "a-long-word-7"}
    assert Client().post(reverse("sign-in"), signing_in).status_code == 429
    ada.user.refresh_from_db()
    assert ada.user.check_password("a-long-word-7")


# What a paused member keeps besides their own account: to learn, and what everybody sees.
STILL = {"tutorial", "api-guideline", "api-examples", "public-run"}


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", ["rio", "leo"])
def test_a_paused_researcher_or_lead_is_an_outsider(
    name: str, held: Assignment, bob: Membership, leo: Membership, people: dict[str, Client], case: Case
) -> None:
    own = Membership.objects.filter(user__username=name)
    client = browser(own.get())
    cookies = client.cookies.output()
    for address in set(MATRIX) - STILL:
        with case(address):
            door = door_to(address, held, bob, leo)
            own.update(state=Membership.State.PAUSED)
            client.cookies = SimpleCookie(cookies.replace("Set-Cookie: ", ""))
            for method, (_, outsider, *_others) in rows_of(address).items():
                assert undone(door.ask, client, method).status_code == outsider, method
            own.update(state=Membership.State.ACTIVE)
