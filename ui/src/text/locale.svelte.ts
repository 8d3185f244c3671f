// Which language the UI speaks, and tables of its texts.

export type Language = "en" | "zh";

const KEY = "tokbar.language";

function fromSystem(): Language {
  return navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en";
}

function kept(): Language | null {
  const value = localStorage.getItem(KEY);
  return value === "en" || value === "zh" ? value : null;
}

class Locale {
  chosen = $state<Language | null>(kept());
  readonly language = $derived<Language>(this.chosen ?? fromSystem());
  /** For `Intl` and for the `lang` attribute. */
  readonly tag = $derived(this.language === "zh" ? "zh-CN" : "en-US");

  /** `null` follows the system. */
  choose(language: Language | null): void {
    this.chosen = language;
    if (language === null) localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, language);
  }
}

export const locale = new Locale();

// A parameter type must take any function, whatever it is given.
export type Texts = { readonly [key: string]: string | ((...given: any[]) => string) };

/** The same keys, each as a text or a function of the same values. */
type Translated<T extends Texts> = { readonly [K in keyof T]: T[K] extends string ? string : T[K] };

export interface Table<T extends Texts> {
  readonly en: T;
  readonly zh: Translated<T>;
  /** In the language of the moment: read it where it is shown, so that it changes with the language. */
  readonly now: Translated<T>;
}

/** A feature's texts in both languages. */
export function texts<T extends Texts>(en: T, zh: NoInfer<Translated<T>>): Table<T> {
  return {
    en,
    zh,
    get now() {
      return locale.language === "zh" ? zh : (en as Translated<T>);
    },
  };
}
