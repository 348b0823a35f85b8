/**
 * The path below which a proxy publishes the server, such as `/millrace`; empty at the root of a host. The server
 * writes it into `index.html`.
 */
export const basePath: string =
  globalThis.document?.querySelector('meta[name="millrace-base-path"]')?.getAttribute("content") ??
  "";

/** The URL that programs need in order to reach the server. */
export const readServerUrl = (): string => globalThis.location.origin + basePath;

/** The path of a URL without the base path. The routes and the API begin there. */
export const withoutBasePath = (pathname: string): string =>
  pathname === basePath || pathname.startsWith(`${basePath}/`)
    ? pathname.slice(basePath.length)
    : pathname;
