"""The fixtures of the browser tests: the page shared by a test run."""

from tests.browser.conftest import app as app
from tests.browser.conftest import run as run
from tests.browser.conftest import session as session
