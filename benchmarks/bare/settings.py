"""Reeljudge's settings with the address of the bare view, and without middleware unless `BARE_MIDDLEWARE` is on."""

from config.settings import *  # noqa: F403
from config.settings import MIDDLEWARE, REDIS_URL, env

ROOT_URLCONF = "benchmarks.bare.urls"
if not env.bool("BARE_MIDDLEWARE", default=False):
    MIDDLEWARE = ["django.middleware.common.CommonMiddleware"]  # it says how long an answer is
    REDIS_URL = "none"  # so that `serve` starts no worker for it
