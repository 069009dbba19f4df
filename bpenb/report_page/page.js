"use strict";
// Pointing at a token, or walking to it, shows its row of the table of tokens, and the merges behind it.
(() => {
  const passage = document.getElementById("passage");
  const panel = document.getElementById("panel");
  const live = document.getElementById("live");
  const hint = document.getElementById("hint");
  const tokens = [...passage.querySelectorAll(".t")];
  const marked = new Set();
  let at = 0;

  const make = (parent, tag, text, kind) => {
    const element = parent.appendChild(document.createElement(tag));
    if (text !== undefined) element.textContent = text;
    if (kind) element.className = kind;
    return element;
  };
  const idsOf = (token) => (token.dataset.ids || token.hash.slice(2)).split(" ");
  const rowOf = (id) => {
    const cells = document.getElementById("t" + id).cells;
    const [, token, bytes, rank, frequency] = [...cells].map((cell) => cell.textContent);
    const parts = [...cells[5].querySelectorAll("a")].map((link) => link.hash.slice(2));
    return { id, token, bytes, rank, frequency, parts };
  };

  const grow = (list, id) => {
    const row = rowOf(id);
    const item = make(list, "li");
    item.style.flexGrow = row.bytes.split(" ").length;
    const label = make(item, "b", row.token.replaceAll(" ", "␣"));
    if (row.parts.length) {
      make(label, "small", row.rank);
      const below = make(item, "ul");
      for (const part of row.parts) grow(below, part);
    } else item.className = "byte";
  };

  const describe = (id, isFirst) => {
    const row = rowOf(id);
    if (!isFirst) make(panel, "hr");
    make(make(panel, "p", undefined, "big"), "span", row.token, "spelled");
    const facts = make(panel, "dl", undefined, "facts");
    for (const [name, value] of [["id", id], ["bytes", row.bytes], ["rank", row.rank],
      ["frequency", row.frequency]]) {
      make(facts, "dt", name);
      make(facts, "dd", value).dataset.fact = name;
    }
    make(panel, "h3", row.parts.length ? "Merge tree: its merges, by rank" : "Merge tree: no merge, it is a leaf");
    const tree = make(panel, "div", undefined, "tree");
    tree.tabIndex = 0;
    tree.setAttribute("role", "group");
    tree.setAttribute("aria-label", "merge tree");
    grow(make(tree, "ul"), id);
    return `${row.token}: id ${id}, bytes ${row.bytes}, rank ${row.rank}, frequency ${row.frequency}`;
  };

  const clear = () => {
    for (const token of marked) token.classList.remove("shown", "same");
    marked.clear();
  };
  const show = (token) => {
    if (token.classList.contains("shown") && !panel.hidden) return;
    clear();
    for (const other of tokens) {
      if (other.hash === token.hash && other.dataset.ids === token.dataset.ids) {
        other.classList.add(other === token ? "shown" : "same");
        marked.add(other);
      }
    }
    panel.hidden = false;
    panel.replaceChildren();
    panel.scrollTop = 0;
    const ids = idsOf(token);
    if (ids.length > 1) make(panel, "p", `${ids.length} tokens share characters here`, "hint");
    live.textContent = ids.map((id, n) => describe(id, n === 0)).join("; ");
  };
  const close = () => {
    clear();
    live.textContent = "";
    panel.replaceChildren(hint);
    panel.hidden = matchMedia("(max-width: 60rem)").matches;
  };

  const go = (position) => {
    tokens[at].tabIndex = -1;
    at = Math.max(0, Math.min(tokens.length - 1, position));
    tokens[at].tabIndex = 0;
    tokens[at].focus();
  };
  // The token of the next line that is nearest to this one.
  const beside = (step) => {
    const here = tokens[at].getClientRects()[0];
    let best = at, line = null, least = Infinity;
    for (let i = at + step; i >= 0 && i < tokens.length; i += step) {
      const box = tokens[i].getClientRects()[0];
      if (!box || Math.abs(box.top - here.top) < box.height / 2) continue;
      if (line === null) line = box.top;
      if (Math.abs(box.top - line) > box.height / 2) break;
      if (Math.abs(box.left - here.left) < least) [best, least] = [i, Math.abs(box.left - here.left)];
    }
    return best;
  };
  const keys = {
    ArrowRight: () => at + 1, ArrowLeft: () => at - 1, ArrowDown: () => beside(1), ArrowUp: () => beside(-1),
    Home: () => 0, End: () => tokens.length - 1,
  };

  for (const mark of passage.querySelectorAll('.c[data-c="NUL"]')) mark.textContent = "\0";
  tokens.forEach((token, i) => {
    token.removeAttribute("title");
    token.tabIndex = i ? -1 : 0;
  });
  passage.addEventListener("pointerover", (event) => {
    const token = event.target.closest(".t");
    if (token && event.pointerType === "mouse") show(token);
  });
  passage.addEventListener("focusin", (event) => {
    const token = event.target.closest(".t");
    if (!token) return;
    tokens[at].tabIndex = -1;
    at = tokens.indexOf(token);
    token.tabIndex = 0;
    show(token);
  });
  passage.addEventListener("click", (event) => {
    const token = event.target.closest(".t");
    if (!token || !event.detail || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();  // Enter, which is no click, follows the link to the row
    token.focus();
    show(token);
  });
  passage.addEventListener("keydown", (event) => {
    if (!(event.key in keys) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    go(keys[event.key]());
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") close();
  });
  document.documentElement.classList.add("js");
  close();
})();
