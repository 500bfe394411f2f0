"""The page shared by the tests of one pytest run."""

from __future__ import annotations

import pytest

from tests.browser.app import LATE_TIER_UP_FLAG, AppPage, AppSession, BootError
from tests.environment import SetupError

_SESSION = pytest.StashKey[AppSession]()


def app_session(config: pytest.Config) -> AppSession:
    """Return the session of this run, closed when pytest ends."""
    if _SESSION not in config.stash:
        session = config.stash[_SESSION] = AppSession(flags=[LATE_TIER_UP_FLAG])
        config.add_cleanup(session.close)
    return config.stash[_SESSION]


def shared_app(config: pytest.Config) -> AppPage:
    """Return the shared page; ends the whole run, with the page's log, if it does not boot."""
    try:
        return app_session(config).shared
    except (BootError, SetupError) as error:
        pytest.exit(str(error), returncode=pytest.ExitCode.INTERNAL_ERROR)
