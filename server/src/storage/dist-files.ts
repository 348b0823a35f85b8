/**
 * The output folder of the build. This module is compiled into the folder `storage` of the output folder, or bundled
 * into a file directly in the output folder or in its folder `chunks`.
 */
const outputFolder = new URL(
  /\/(?:storage\/dist-files|chunks\/[\w-]+)\.[jt]s$/.test(import.meta.url) ? "../" : "./",
  import.meta.url,
);

/**
 * Returns the URL of a file of the build.
 *
 * @param name - path in the output folder, without a leading slash.
 */
export const toDistFileUrl = (name: string): URL => new URL(name, outputFolder);
