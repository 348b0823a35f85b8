/** Port of the local server where none is given. */
export const defaultPort = 1984;
