from tests.support.ui import calm as calm
