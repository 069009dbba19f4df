"""Benchmarks against other trainers: `python -m benchmarks --help`. Not part of the wheel.

__main__.py        the command line: run, encoding, scaling, table
runner.py          what is measured: tasks, libraries, the order of the runs, the time they may take
gates.py           first of all: equal text must give equal words and merges
measure.py         starts one child process and watches the memory of its tree
child.py           one library, one task, one corpus: one warm-up call, one timed call, one JSON line
adapters/          one file per library, all with the same functions
corpora.py         texts by name, with size and sha256
peers.py           the environment that other libraries live in
scaling.py         1…N workers: wall, user, CPU %, peak memory

encoding_runner.py, encoding_child.py, encoders/, encoding_tables.py     the same for encoding
vocabs.py          published vocabs, as ours and as tiktoken's
floors.py          what encoding is held to, and what a run reached
exact_encoding.py  whole corpora against tiktoken's ids
readme_table.py    results/*.json → the table in README.md
"""
