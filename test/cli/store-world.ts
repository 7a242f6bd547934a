/** A command's environment over a real store in its own folder, in which a test can create runs. */
import { systemScheduler } from '../../src/scheduler.ts'
import { openStore, systemMachine } from '../../src/open-store.ts'
import { createRuns, type RunsService } from '../../src/runs/create-runs.ts'
import { makeLog } from '../../src/cli/serve/log.ts'
import { loadSettings } from '../../src/settings/load-settings.ts'
import { runPolicy } from '../../src/settings/run-types/run-policy.ts'
import type { Store } from '../../src/store.ts'
import { FakeWorld } from './fake-world.ts'

export interface StoreWorld {
  readonly world: FakeWorld
  readonly store: Store
  readonly runs: RunsService
  /** Runs a command and returns only what this command printed, with its exit code. */
  readonly command: (...argv: readonly string[]) => Promise<Done>
  readonly close: () => Promise<void>
}

export interface Done {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

export async function storeWorld(): Promise<StoreWorld> {
  const world = new FakeWorld()
  world.openStore = (settings, options) =>
    openStore(settings, options?.migrate === undefined ? {} : { migrate: options.migrate })
  // A following command waits between two looks.
  Object.assign(world.scheduler, systemScheduler)
  const settings = await loadSettings({ env: world.env, cwd: world.cwd })
  const store = await openStore(settings)
  const runs = createRuns({
    ...systemMachine,
    store,
    log: makeLog('silent', world.terminal),
    leaseMs: 60_000,
    policyOf: (type, kind) => runPolicy(settings, type, kind),
    headSource: null,
  })
  return {
    world,
    store,
    runs,
    command: async (...argv) => {
      world.stdout = ''
      world.stderr = ''
      const code = await world.run(...argv)
      return { code, stdout: world.stdout, stderr: world.stderr }
    },
    close: () => store.close(),
  }
}

export const sha = (letter: string): string => letter.repeat(40)
