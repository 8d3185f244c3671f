// Numbers, sizes and times as people read them, in the language of the moment.

import { locale } from "./locale.svelte";

const formats = new Map<string, Intl.NumberFormat>();

function number(value: number, options: Intl.NumberFormatOptions): string {
  const key = `${locale.tag} ${JSON.stringify(options)}`;
  let format = formats.get(key);
  if (!format) {
    format = new Intl.NumberFormat(locale.tag, options);
    formats.set(key, format);
  }
  // No minus before nothing.
  return format.format(value + 0);
}

export function count(value: number): string {
  return number(value, { maximumFractionDigits: 0 });
}

/** Three figures at most: 108, 36.2, 0.14. */
export function figure(value: number): string {
  const digits = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return number(value, { maximumFractionDigits: digits, minimumFractionDigits: value > 0 && value < 10 ? digits : 0 });
}

/** Tokens per second, as steady as their digits: 108, 23, 9.5. */
export function rate(value: number): string {
  return value >= 20 ? count(value) : tenths(value);
}

/** 2.6. */
export function tenths(value: number): string {
  return number(value, { maximumFractionDigits: 1, minimumFractionDigits: 1 });
}

export function percent(part: number): string {
  return `${number(100 * part, { maximumFractionDigits: 0 })} %`;
}

/** Decimal units, as the system counts memory and files: 5.1 GB, 98 MB. */
export function bytes(value: number): string {
  if (value >= 1e12) return `${number(value / 1e12, { maximumFractionDigits: 2 })} TB`;
  if (value >= 1e9) return `${number(value / 1e9, { maximumFractionDigits: 1, minimumFractionDigits: value < 1e10 ? 1 : 0 })} GB`;
  if (value >= 1e6) return `${number(value / 1e6, { maximumFractionDigits: 0 })} MB`;
  if (value >= 1e3) return `${number(value / 1e3, { maximumFractionDigits: 0 })} kB`;
  return `${number(value, { maximumFractionDigits: 0 })} B`;
}

/** Contexts are counted in powers of two: 32k, 128k, 900. */
export function context(n: number): string {
  return n >= 1024 ? `${number(n / 1024, { maximumFractionDigits: 0 })}k` : count(n);
}

/** One or two units: 12 min, 3 h 20 min, 9 s. */
export function duration(seconds: number): string {
  const s = Math.max(0, Math.round(seconds));
  const zh = locale.language === "zh";
  const unit = zh ? { d: " 天", h: " 小时", m: " 分钟", s: " 秒" } : { d: " d", h: " h", m: " min", s: " s" };
  if (s < 60) return `${s}${unit.s}`;
  if (s < 3600) return `${Math.round(s / 60)}${unit.m}`;
  if (s < 86400) {
    const minutes = Math.floor((s % 3600) / 60);
    return `${Math.floor(s / 3600)}${unit.h}${minutes ? ` ${minutes}${unit.m}` : ""}`;
  }
  return `${Math.floor(s / 86400)}${unit.d}`;
}

/** 0.14 s below ten seconds, else as a duration. */
export function seconds(value: number): string {
  return value < 10 ? `${figure(value)} ${locale.language === "zh" ? "秒" : "s"}` : duration(value);
}

export function milliseconds(value: number): string {
  return `${number(value, { maximumFractionDigits: value < 10 ? 1 : 0 })} ms`;
}

export function clock(at: Date): string {
  return at.toLocaleTimeString(locale.tag, { hour: "2-digit", minute: "2-digit", hour12: false });
}

export function dateAndClock(at: Date): string {
  return at.toLocaleString(locale.tag, { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", hour12: false });
}
