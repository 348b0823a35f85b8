/** The facts of an API description, as JSON text with one fact a line. */
export function condense(api: unknown): string;
