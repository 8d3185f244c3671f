import { expect, test } from "vitest";

import { blocks, html } from "./markdown";

test("blocks join to the text, and grow at the end only", () => {
  const text = "# Title\n\nSome *words*.\n\n```rust\nlet a = 1;\n\nlet b = 2;\n```\n\n- one\n- two\n";
  expect(blocks(text)).toHaveLength(4);
  for (let end = 1; end < text.length; end++) {
    const [now, later] = [blocks(text.slice(0, end)), blocks(text.slice(0, end + 1))];
    // What stands two blocks before the end does not change any more.
    expect(later.slice(0, Math.max(0, now.length - 2)), `at ${end}`).toEqual(now.slice(0, Math.max(0, now.length - 2)));
  }
});

test.each([
  ["**bold** and `code`", "<strong>bold</strong> and <code>code</code>"],
  ["<script>alert(1)</script>", "&#60;script&#62;"],
  ["a <img src=x onerror=alert(1)> b", "&#60;img"],
  ["[ok](https://example.com)", 'href="https://example.com"'],
  ["```js\n<b>\n```", "&#60;b&#62;"],
  ["| a | b |\n|--|--:|\n| 1 | 2 |", 'align="right"'],
])("%s is drawn", (block, expected) => {
  // The same signs may be written in two ways.
  const plain = (text: string) => text.replaceAll("&#60;", "&lt;").replaceAll("&#62;", "&gt;");
  expect(plain(html(block))).toContain(plain(expected));
});

test.each([
  "[x](javascript:alert(1))",
  "[x](JaVaScRiPt:alert(1))",
  "[x](data:text/html,hi)",
  "[x](file:///etc/passwd)",
  "![x](http://tracker.example/pixel.png)",
  '<a href="javascript:alert(1)">x</a>',
  '<iframe src="https://example.com"></iframe>',
  '<svg onload="alert(1)"></svg>',
  "<style>*{display:none}</style>",
  '<form action="https://example.com"><input name="a"></form>',
  "```\"><img src=x onerror=alert(1)>\ncode\n```",
  "<math><mtext><table><mglyph><style><!--</style><img title=\"--&gt;&lt;img src=1 onerror=alert(1)&gt;\">",
])("%s does nothing", (block) => {
  const holder = document.createElement("div");
  holder.innerHTML = html(block);
  expect(holder.querySelector("script, iframe, svg, style, form, img, object, embed, math")).toBeNull();
  for (const element of holder.querySelectorAll("*")) {
    for (const attribute of element.attributes) {
      expect(attribute.name).not.toMatch(/^on|^style$/);
      if (attribute.name === "href") expect(attribute.value).toMatch(/^(https?:|mailto:)/);
    }
  }
});
