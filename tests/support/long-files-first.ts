import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * Short files that take half a minute and more. Without the durations of an earlier run, Vitest starts the largest files first, and
 * these would run alone at the end.
 */
const longFiles =
  /\/(api\/(admission|verification)-model|cli\/many-issued-keys|security\/slow-sockets)\.test\.ts$/;

/** Starts {@link longFiles} before all others. */
export class LongFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification) => longFiles.test(moduleId);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}
