"""For type checkers: the methods that definitions put on Tensor."""


class Methods: ...
