"""From a model to files, and back.

    save_folder   one folder with every format       load_model         a folder, or one file
    check_folder  would it be refused?               load_vocab_merges  GPT-2's two files
    export_model  the files of one program           check_export       are its arguments right?
    self_made_ids tokens that BPE makes of their own bytes
    save_sweep    a folder of such folders           check_sweep_folder would it be refused?

For tokenizers on characters (bpenb/classic), which have files of their own: is_classic, write_folder,
check_replaceable, settled, read_json, read_text, expect, checked_id, parse_specials, object_lines,
pair_lines, added_tokens.

One module for each format: hf_json (with hf_split, hf_added, hf_config), gpt2_files, tiktoken_file (with
boundaries and tiktoken_snippet), gguf_file, byte_counts, settings, folder (with replacing), sweep_folder.
Pickle is never read.
"""

from bpenb.formats.boundaries import self_made_ids
from bpenb.formats.classic_kind import CLASSIC_FILES, SETTINGS, is_classic
from bpenb.formats.export import EXPORT_KINDS, check_export, export_model
from bpenb.formats.folder import check_folder, read_training_report, save_folder
from bpenb.formats.hf_added import added_tokens
from bpenb.formats.json_lines import object_lines, pair_lines
from bpenb.formats.loading import load_model, load_vocab_merges
from bpenb.formats.reading import checked_id, expect, read_json, read_text
from bpenb.formats.replacing import check_replaceable, settled, write_folder
from bpenb.formats.settings import CLASSIC_FORMAT, parse_specials
from bpenb.formats.sweep_folder import check_sweep_folder, save_sweep

__all__ = [
    "CLASSIC_FILES",
    "CLASSIC_FORMAT",
    "EXPORT_KINDS",
    "SETTINGS",
    "added_tokens",
    "check_export",
    "check_folder",
    "check_replaceable",
    "check_sweep_folder",
    "checked_id",
    "expect",
    "export_model",
    "is_classic",
    "load_model",
    "load_vocab_merges",
    "object_lines",
    "pair_lines",
    "parse_specials",
    "read_json",
    "read_text",
    "read_training_report",
    "save_folder",
    "save_sweep",
    "self_made_ids",
    "settled",
    "write_folder",
]
