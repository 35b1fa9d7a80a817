import type { Task } from "./task.ts";

/** Creates the action of a command. The action imports its task with `load` when the command runs. */
export type CreateAction = (load: () => Promise<Task>) => (...args: readonly unknown[]) => Promise<void>;
