"""The sentences a person gets: an expected error names the thing that is wrong and how to mend it."""


class UserError(Exception):
    """Bad input or a machine that lacks something: one clear sentence, exit status 2, nothing lost.

    Attributes:
        stage: where it was noticed ("network", "target", "workspace", "measure", "library", "setup", ...).
    """

    def __init__(self, stage: str, sentence: str) -> None:
        super().__init__(sentence)
        self.stage = stage

    def __reduce__(self) -> tuple[type["UserError"], tuple[str, str]]:
        """Pickle both parts: the default would call the constructor with the sentence alone."""
        return (type(self), (self.stage, str(self)))


class Interrupted(Exception):
    """The watcher asked for a stop; everything measured so far is committed. Exit status 130."""
