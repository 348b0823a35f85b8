/** The project in which calls of the playground are recorded. */
export const playgroundProject = "playground";

/**
 * The project in which the calls of judges are recorded. The SDK records the calls of evaluators in the same project.
 */
export const evaluatorProject = "evaluators";

/**
 * The projects whose runs are not those of an application: their costs and latencies are left out of the totals of the
 * overview.
 */
export const ownProjects: readonly string[] = [playgroundProject, evaluatorProject];
