"""One file per library, at most 40 lines, all with the same names; what it cannot do is None.

    version() -> str
    count(path, special, pattern) -> function that returns the counts by word
    train(path, vocab_size, special) -> function that returns the merges
    save(path, vocab_size, special, out)     a whole run, `python -m benchmarks.adapters.NAME …`
    TWIN                                     how bpenb must be called to make the same merges

`count` and `train` are timed. What they return is called afterwards: a result that is a library's
own object is not turned into Python objects on the clock.
"""
