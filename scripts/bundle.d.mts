/** Writes the module of a thread of the SDK and everything that it imports into one file. */
export function bundleThread(source: string, file: string): Promise<void>;
