// Draws assets/app and assets/tray as PNG, and the app's icon as ICNS: `npm run icons`. What it writes is committed.

import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { chromium } from "@playwright/test";

const assets = fileURLToPath(new URL("../../assets", import.meta.url));
const executablePath = process.env.TOKBAR_CHROMIUM ?? "/usr/bin/chromium";

/** Types of ICNS entries that hold PNG, with their pixels. */
const ICNS = [
  ["icp4", 16],
  ["icp5", 32],
  ["icp6", 64],
  ["ic07", 128],
  ["ic08", 256],
  ["ic09", 512],
  ["ic10", 1024],
  ["ic11", 32],
  ["ic12", 64],
  ["ic13", 256],
  ["ic14", 512],
];

/** Each entry is its type, its length with these eight bytes, and its PNG; the whole has the same head. */
function icns(images) {
  const entries = ICNS.map(([type, size]) => {
    const png = images.get(size);
    const head = Buffer.alloc(8);
    head.write(type, 0, "latin1");
    head.writeUInt32BE(png.length + 8, 4);
    return Buffer.concat([head, png]);
  });
  const body = Buffer.concat(entries);
  const head = Buffer.alloc(8);
  head.write("icns", 0, "latin1");
  head.writeUInt32BE(body.length + 8, 4);
  return Buffer.concat([head, body]);
}

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });

async function draw(svg, size) {
  const page = await browser.newPage({ viewport: { width: size, height: size } });
  const url = `data:image/svg+xml;base64,${Buffer.from(svg).toString("base64")}`;
  await page.setContent(`<body style="margin:0"><img src="${url}" style="display:block;width:${size}px;height:${size}px">`);
  await page.waitForFunction(() => document.images[0]?.complete);
  const png = await page.screenshot({ omitBackground: true });
  await page.close();
  return png;
}

const app = readFileSync(join(assets, "app/icon.svg"));
const images = new Map();
for (const size of [16, 32, 64, 128, 256, 512, 1024]) images.set(size, await draw(app, size));
for (const size of [32, 128, 256, 512]) writeFileSync(join(assets, `app/icon-${size}.png`), images.get(size));
writeFileSync(join(assets, "app/icon.icns"), icns(images));

mkdirSync(join(assets, "tray"), { recursive: true });
for (const name of readdirSync(join(assets, "tray")).filter((file) => file.endsWith(".svg"))) {
  const svg = readFileSync(join(assets, "tray", name));
  const stem = name.slice(0, -".svg".length);
  writeFileSync(join(assets, "tray", `${stem}.png`), await draw(svg, 18));
  writeFileSync(join(assets, "tray", `${stem}@2x.png`), await draw(svg, 36));
}
await browser.close();
