/**
 * Escapes a name for use inside the quotes of `Content-Disposition: form-data; name="..."`: quotes
 * and line breaks are percent-encoded (WHATWG HTML, multipart/form-data encoding algorithm).
 */
export const escapePartName = (name: string): string =>
  name.replaceAll('"', "%22").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
