/**
 * Replaces an invalid browser language by English. On a system with the POSIX locale, Chromium reports the
 * language `en-US@posix`, for which its own `Intl` throws. The chart library passes the language to `Intl`
 * when it is loaded.
 */
export function repairNavigatorLanguage(navigator: { readonly language: string }): void {
  try {
    Intl.getCanonicalLocales(navigator.language);
  } catch {
    Object.defineProperty(navigator, "language", { value: "en-US", configurable: true });
  }
}
