/** Writes a thread of the SDK and all that it imports into one file. */
export function bundleThread(source: string, file: string): Promise<void>;
