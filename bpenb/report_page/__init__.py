"""The report page: one HTML file that shows a tokenizer, and what it makes of texts.

texts → inspecting        figures of every token and every word
      → growth.py         bytes per token with fewer merges
      → passage.py        the beginning of the texts, token by token
training report → phases.py
                   all of it → plots.py, svg.py    plots as inline SVG, by matplotlib
                             → tokens.py           a row for each token that can be pointed at
                             → page.py, markup.py  HTML; with page.css and page.js

door.py asks for it. The page needs no network, runs no script but its own, and obeys nothing in a text.
"""

from bpenb.report_page.door import write_report

__all__ = ["write_report"]
