/** The address of a link that may be followed: http and https alone; `undefined` for any other. */
export function toSafeLink(address: string | undefined): string | undefined {
  if (address === undefined || !/^https?:\/\//i.test(address)) {
    return undefined;
  }
  return URL.canParse(address) ? address : undefined;
}

/** Images that can hold no program and ask for nothing. */
export const isSafeImage = (mimeType: string): boolean =>
  /^image\/(png|jpeg|gif|webp|avif)$/i.test(mimeType);

/** A `data:` address of an image as the file that it stands for; `undefined` for any other address. */
export function toImageFile(address: string): Blob | undefined {
  const [, mimeType = "", base64] = /^data:([\w/+.-]+);base64,([\w+/=\s-]*)$/.exec(address) ?? [];
  if (base64 === undefined || !isSafeImage(mimeType)) {
    return undefined;
  }
  try {
    const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
    return new Blob([bytes], { type: mimeType });
  } catch {
    return undefined; // No base64: it is shown as an image that is not there.
  }
}
