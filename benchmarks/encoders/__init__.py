"""One file per library that encodes, at most 40 lines, all with the same names; what it cannot do is None.

    version() -> str
    load(path) -> a tokenizer                    of what `prepare` in encoding_runner.py made for it
    encode_file(tokenizer, path, out)            a text file → a file of ids
    encode_batch(tokenizer, documents)           documents → the library's own object
    flat(batch) -> array of all its ids

`flat` is not timed: a library may give its ids as it likes. Run as a module with TOKENIZER FILE OUT, a
peer does all of it in one process.
"""
