/**
 * Log levels, from the one that logs nothing to the one that logs everything. Each level includes
 * those before it.
 */
export const logLevels = ["silent", "error", "warn", "info", "debug"] as const;

/** One of {@link logLevels}. */
export type LogLevel = (typeof logLevels)[number];

/** Log level of one message. */
export type MessageLevel = Exclude<LogLevel, "silent">;

/** Whether a message of one level is logged at a given log level. */
export const isLogged = (level: MessageLevel, logLevel: LogLevel): boolean =>
  logLevels.indexOf(level) <= logLevels.indexOf(logLevel);
