"""The five screens, their dialogs, and the model of a watched run."""
