"""The tiny encoder of the tests of retrieval, whose token vectors systems read."""

from tests.retrieval.conftest import simcse as simcse
