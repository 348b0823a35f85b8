// A browser that was started under the locale C says that its language is `en-US@posix`, which Intl
// refuses, and with it the charts' library when it is loaded. Imported before that.
try {
  Intl.getCanonicalLocales(navigator.language);
} catch {
  Object.defineProperty(navigator, "language", { value: "en-US", configurable: true });
}
