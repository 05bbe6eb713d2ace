"""The settings of the tests, and of the servers that they start: passwords are hashed quickly."""

from config.settings import *  # noqa: F403

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
