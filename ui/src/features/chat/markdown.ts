// Markdown of a model as safe HTML. What a model writes is hostile: its HTML is shown as text, nothing is fetched from
// elsewhere, and what comes out passes a sanitiser besides.

import DOMPurify from "dompurify";
import { Marked, type Tokens } from "marked";

const TAGS = [
  "a", "blockquote", "br", "button", "code", "del", "div", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "input", "li",
  "ol", "p", "pre", "span", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
];
const ATTRIBUTES = ["align", "checked", "class", "data-copy", "disabled", "href", "rel", "start", "target", "type", "tabindex"];

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
}

/** Only addresses that a person would follow; never scripts or files. */
function safeHref(href: string): string | null {
  return /^(https?:|mailto:)/i.test(href.trim()) ? href.trim() : null;
}

const marked = new Marked({
  gfm: true,
  breaks: true,
  async: false,
  renderer: {
    html({ text }: Tokens.HTML | Tokens.Tag): string {
      return escape(text);
    },
    image({ href, text }: Tokens.Image): string {
      const safe = safeHref(href);
      const words = escape(text || href);
      return safe ? `<a href="${escape(safe)}" target="_blank" rel="noopener noreferrer">${words}</a>` : words;
    },
    link({ href, tokens }: Tokens.Link): string {
      const safe = safeHref(href);
      const words = this.parser.parseInline(tokens);
      return safe ? `<a href="${escape(safe)}" target="_blank" rel="noopener noreferrer">${words}</a>` : words;
    },
    code({ text, lang }: Tokens.Code): string {
      const language = escape((lang ?? "").split(/\s/)[0] ?? "");
      return `<div class="code"><div class="bar"><span>${language}</span><button type="button" data-copy></button></div><pre tabindex="0"><code>${escape(text)}</code></pre></div>`;
    },
    table(token: Tokens.Table): string {
      const cell = (inner: Tokens.TableCell, tag: string) => {
        const align = inner.align ? ` align="${inner.align}"` : "";
        return `<${tag}${align}>${this.parser.parseInline(inner.tokens)}</${tag}>`;
      };
      const head = token.header.map((inner) => cell(inner, "th")).join("");
      const rows = token.rows.map((row) => `<tr>${row.map((inner) => cell(inner, "td")).join("")}</tr>`).join("");
      return `<div class="table" tabindex="0"><table><thead><tr>${head}</tr></thead><tbody>${rows}</tbody></table></div>`;
    },
  },
});

/** The text's blocks, each of which renders by itself: while a stream grows, only the last one changes. */
export function blocks(text: string): string[] {
  return marked.lexer(text).flatMap((token) => (token.type === "space" ? [] : [token.raw]));
}

export function html(block: string): string {
  const raw = marked.parse(block) as string;
  return DOMPurify.sanitize(raw, { ALLOWED_TAGS: TAGS, ALLOWED_ATTR: ATTRIBUTES, ALLOW_DATA_ATTR: false });
}
