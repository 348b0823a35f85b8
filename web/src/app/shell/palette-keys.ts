/** The keys that open the palette, as they are printed on this machine's keyboard. */
export const paletteKeys = /Mac|iPhone|iPad/.test(navigator.userAgent) ? "⌘K" : "Ctrl K";
