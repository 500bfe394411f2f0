"""The page that the tests of one pytest run share."""

from __future__ import annotations

import pytest

from tests.browser.app import AppPage, AppSession, BootError
from tests.environment import SetupError

_SESSION = pytest.StashKey[AppSession]()


def app_session(config: pytest.Config) -> AppSession:
    """The session of this run, closed when pytest ends."""
    if _SESSION not in config.stash:
        session = config.stash[_SESSION] = AppSession()
        config.add_cleanup(session.close)
    return config.stash[_SESSION]


def shared_app(config: pytest.Config) -> AppPage:
    """The shared page; ends the whole run, with what was logged, if it does not boot."""
    try:
        return app_session(config).shared
    except (BootError, SetupError) as error:
        pytest.exit(str(error), returncode=pytest.ExitCode.INTERNAL_ERROR)
