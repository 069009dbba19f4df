"""Token ids on disk: the only writer of tokens.

npy.py, stdout.py    one .npy, to a file or to standard output
token_format.py      the formats of training files, and the layout of a dataset
output_plan.py       what the files are called, and what may be replaced
split_writer.py      the shards of a split; shard_writer.py one of them; document_ends.py its index
part_file.py         a file that grows under a hidden name; checksum.py its checksum
manifest.py          what a dataset is made of
opening.py           any of it, opened again; reader.py reads it; token_file.py one file of it;
                     document_index.py its documents
verify.py            a dataset held against its manifest
decoding.py          ids to text, with the place of what is wrong
"""

from bpenb.dataset.decoding import decode_named_blocks
from bpenb.dataset.manifest import FileRecord, Manifest, SplitRecord, input_digest, model_digest
from bpenb.dataset.npy import NpyWriter, id_dtype, read_ids
from bpenb.dataset.opening import find_manifest, iterate_ids, open_dataset
from bpenb.dataset.output_plan import (
    OutputPlan,
    SplitPlan,
    file_and_sides,
    name_outputs,
    plan_outputs,
    publish_dataset,
)
from bpenb.dataset.reader import DatasetReader
from bpenb.dataset.shard_writer import ShardWriter
from bpenb.dataset.split_writer import SplitWriter
from bpenb.dataset.stdout import open_target
from bpenb.dataset.token_format import TOKEN_FORMATS, TokenFormat, TokenLayout, find_format
from bpenb.dataset.verify import DatasetCheck, check_tokenizer, verify_dataset

__all__ = [
    "TOKEN_FORMATS",
    "DatasetCheck",
    "DatasetReader",
    "FileRecord",
    "Manifest",
    "NpyWriter",
    "OutputPlan",
    "ShardWriter",
    "SplitPlan",
    "SplitRecord",
    "SplitWriter",
    "TokenFormat",
    "TokenLayout",
    "check_tokenizer",
    "decode_named_blocks",
    "file_and_sides",
    "find_format",
    "find_manifest",
    "id_dtype",
    "input_digest",
    "iterate_ids",
    "model_digest",
    "name_outputs",
    "open_dataset",
    "open_target",
    "plan_outputs",
    "publish_dataset",
    "read_ids",
    "verify_dataset",
]
