/** Condenses an API description to JSON text with one operation or shape per line. */
export function condense(api: unknown): string;
