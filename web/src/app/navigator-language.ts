/**
 * A Chromium on a system whose locale is POSIX says that its language is `en-US@posix`, which its own
 * `Intl` refuses. The charts' library asks `Intl` for it as it is loaded; it gets English then.
 */
export function repairNavigatorLanguage(navigator: { readonly language: string }): void {
  try {
    Intl.getCanonicalLocales(navigator.language);
  } catch {
    Object.defineProperty(navigator, "language", { value: "en-US", configurable: true });
  }
}
