"""Reeljudge's settings with the address of the bare view, and without middleware unless `BARE_MIDDLEWARE` is on."""

from config.settings import *  # noqa: F403
from config.settings import MIDDLEWARE, REDIS_URL, env

ROOT_URLCONF = "benchmarks.bare.urls"
if not env.bool("BARE_MIDDLEWARE", default=False):
    # The first says how long an answer is, and allauth does not start without the second, which does next to nothing.
    MIDDLEWARE = ["django.middleware.common.CommonMiddleware", "allauth.account.middleware.AccountMiddleware"]
    REDIS_URL = "none"  # so that `serve` starts no worker for it
