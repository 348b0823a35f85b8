/** Saves a file in the browser's downloads folder. */
export function saveFile(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // Delay the revocation, because the browser may start to read the URL only after the click event.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
