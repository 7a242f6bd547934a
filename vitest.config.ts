/**
 * How the tests run. A test that fails once has failed: nothing is ever retried.
 *
 * They come in two projects. `quick` needs nothing but this process: no server, and hardly a
 * program; its files share their worker, because starting one would take longer than most of them.
 * `whole` is the rest, each file in a worker of its own.
 */
import { configDefaults, defineConfig } from 'vitest/config'
import { LongestFirst } from './test/longest-first.ts'

const everything = ['src/**/*.test.ts', 'test/**/*.test.ts', 'examples/**/*.test.ts']

const quick = [
  'src/**/*.test.ts',
  'test/conformance/**/*.sqlite.test.ts',
  'test/conformance/channels/channels.test.ts',
  'test/conformance/engines/embedded.test.ts',
  'test/{github,http,outbox,simulator}/*.test.ts',
  'test/{scripts,tidy}.test.ts',
]

/** Of those, what starts programs or a database. */
const notQuick = [
  'src/cli/main.test.ts',
  'src/cli/simulate/simulate-command.test.ts',
  'src/stores/migrations.test.ts',
  'src/stores/sql-store/{claim,step}-batches.test.ts',
  'src/stores/drivers/postgres.test.ts',
]

export default defineConfig({
  test: {
    environment: 'node',
    pool: 'forks',
    // Node runs our TypeScript itself, as it does for users; through Vite it runs more slowly.
    experimental: { viteModuleRunner: false },
    // One more than the cores of a small machine: much of the time is spent waiting for servers.
    maxWorkers: 3,
    testTimeout: 20_000,
    hookTimeout: 20_000,
    teardownTimeout: 20_000,
    retry: 0,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        extends: true,
        test: {
          name: 'quick',
          include: quick,
          exclude: [...configDefaults.exclude, ...notQuick],
          isolate: false,
          globalSetup: 'test/run-folders.ts',
        },
      },
      {
        extends: true,
        test: {
          name: 'whole',
          include: [...everything.filter((pattern) => !quick.includes(pattern)), ...notQuick],
          exclude: [
            ...configDefaults.exclude,
            ...quick.filter((pattern) => !everything.includes(pattern)),
          ],
          globalSetup: ['test/run-folders.ts', 'test/postgres/global-setup.ts'],
        },
      },
    ],
  },
})
