"""What a wheel holds beside the libraries: the apps, in one folder that `reeljudge-server` puts on Python's path."""

import re
import shutil
import tomllib
from pathlib import Path

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from setuptools import setup
from setuptools.command.build_py import build_py

HERE = Path(__file__).parent
PACKAGES = tomllib.loads((HERE / "pyproject.toml").read_text())["tool"]["importlinter"]["root_packages"]
# The libraries have other names in a wheel than in a checkout.
LIBRARIES = {"metrics": "reeljudge", "systems": "reeljudge.systems"}
IMPORT = re.compile(rf"^(\s*from )({'|'.join(LIBRARIES)})\b", re.MULTILINE)


class BuildWithServer(build_py):  # type: ignore[misc]
    """Copies the apps as well, with the libraries' names in their imports, and compiles the translations."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:  # whoever installs a checkout so has its manage.py
            return
        server = Path(self.build_lib) / "reeljudge" / "_server"
        shutil.rmtree(server, ignore_errors=True)
        for name in sorted({*PACKAGES, "locale", "static", "templates"} - LIBRARIES.keys()):
            shutil.copytree(HERE / name, server / name, ignore=shutil.ignore_patterns("__pycache__", "*.mo"))
        shutil.copy(HERE / "manage.py", server)
        for module in server.rglob("*.py"):
            code = module.read_text(encoding="utf-8")
            module.write_text(IMPORT.sub(lambda found: found[1] + LIBRARIES[found[2]], code), encoding="utf-8")
        for words in server.glob("locale/*/LC_MESSAGES/django.po"):
            with words.open("rb") as source, words.with_suffix(".mo").open("wb") as compiled:
                write_mo(compiled, read_po(source, locale=words.parts[-3]))


# What a machine needs beside the program lies in share/reeljudge of its virtual environment.
DEPLOY = ("reeljudge*", "systemd/*", "nginx/*", "prometheus/rules.yml", "grafana/*")
FILES = [(f"share/reeljudge/{Path(each).parent}", sorted(map(str, Path("deploy").glob(each)))) for each in DEPLOY]

setup(cmdclass={"build_py": BuildWithServer}, data_files=FILES)
