"""Reeljudge's settings, with PostgreSQL's connections in a pool or its statements prepared, as the environment says."""

from config.settings import *  # noqa: F403
from config.settings import DATABASE, env

if connections := env.int("BENCH_POOL", default=0):
    DATABASE["CONN_MAX_AGE"] = 0  # the pool keeps them
    DATABASE["OPTIONS"]["pool"] = {"min_size": 4, "max_size": connections}
if env.bool("BENCH_PREPARED", default=False):
    DATABASE["OPTIONS"] |= {"server_side_binding": True, "prepare_threshold": 5}
