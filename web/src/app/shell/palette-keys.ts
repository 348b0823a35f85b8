/** The shortcut of the palette, as written on the keyboards of this operating system. */
export const paletteKeys = /Mac|iPhone|iPad/.test(navigator.userAgent) ? "⌘K" : "Ctrl K";
