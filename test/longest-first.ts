/**
 * The order of test files: slow ones come first, so that at the end no worker is idle while another
 * runs a slow file. `npm test` prints the slowest files; update this list with them.
 */
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** The slowest first. Files that are not listed come after them, in Vitest's order. */
const long = [
  'test/simulation/simulation.test.ts',
  'test/chaos/publish-kills.test.ts',
  'test/chaos/intake-kills.test.ts',
  'test/chaos/work/storm.test.ts',
  'test/exec/stopping.test.ts',
  'test/scenarios/executing.test.ts',
  'test/scenarios/command-line.test.ts',
  'test/exec/two-at-once.test.ts',
  'test/chaos/storm.test.ts',
  'test/conformance/runs/runs.postgres.test.ts',
  'test/conformance/channels/publisher.postgres.test.ts',
  'test/simulation/mutations.test.ts',
  'test/exec/stopping.test.ts',
  'test/exec/two-at-once.test.ts',
  'test/exec/standalone.test.ts',
  'test/scenarios/unreadable-values.test.ts',
  'test/scenarios/restart.test.ts',
  'test/executors/blocked-loop.test.ts',
  'test/executors/guard-loss.test.ts',
  'test/scenarios/publishing-absence.test.ts',
  'test/chaos/publish-stopped.test.ts',
  'test/chaos/publish-two-servers.test.ts',
  'test/move/crashes.test.ts',
  'test/conformance/engines/bullmq-outages.test.ts',
  'test/scenarios/odd-functions.test.ts',
  'test/scenarios/holding.test.ts',
  'test/scenarios/steps.test.ts',
  'test/move/moved-store.test.ts',
  'test/chaos/two-servers.test.ts',
  'test/executors/stopping.test.ts',
  'test/scenarios/webhook-absence.test.ts',
  'test/conformance/outbox/outbox.postgres.test.ts',
  'test/conformance/upkeep/upkeep.postgres.test.ts',
  'test/conformance/engines/bullmq-processes.test.ts',
  'test/scenarios/queue.test.ts',
  'test/conformance/engines/bullmq-trouble.test.ts',
  'test/chaos/claims-at-once.test.ts',
  'test/conformance/audit/why.postgres.test.ts',
  'test/scenarios/stopping-work.test.ts',
  'test/exec/guide.test.ts',
  'test/readme.test.ts',
  'test/package.test.ts',
]

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const at = long.findIndex((path) => moduleId.endsWith(`/${path}`))
      return at === -1 ? long.length : at
    }
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b))
  }
}
