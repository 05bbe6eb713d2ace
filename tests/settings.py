"""The settings of the tests, and of the servers that they start: quick passwords, and nobody is asked to wait."""

from config.settings import *  # noqa: F403

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
DEVICE = "cpu"  # whose figures are exact; tests/systems/test_devices.py has GPUs
API_RATE = ""  # tests/api/test_answers.py sets one
