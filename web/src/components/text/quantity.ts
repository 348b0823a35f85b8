// `toLocaleString` would create a formatter each time, which takes longer than to render a cell of a table.
const countFormat = new Intl.NumberFormat("en");

/** Formats a count with its noun: `1 example`, `1,200 examples`. */
export const pluralize = (count: number, noun: string): string =>
  `${countFormat.format(count)} ${noun}${count === 1 ? "" : "s"}`;

const units = ["bytes", "kB", "MB", "GB", "TB"] as const;

/** Formats a size in decimal units: `512 bytes`, `1.5 kB`, `23 MB`. */
export function formatBytes(sizeBytes: number): string {
  let size = sizeBytes;
  let unit = 0;
  while (size >= 999.5 && unit < units.length - 1) {
    size /= 1_000;
    unit += 1;
  }
  const text = unit === 0 || size >= 9.95 ? size.toFixed(0) : size.toFixed(1);
  return `${text} ${units[unit]}`;
}
