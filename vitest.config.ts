/**
 * How the tests run. A test that fails once has failed: nothing is ever retried.
 */
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    environment: 'node',
    include: ['src/**/*.test.ts', 'test/**/*.test.ts', 'examples/**/*.test.ts'],
    globalSetup: ['test/temporary-folder.ts', 'test/postgres/global-setup.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 20_000,
    hookTimeout: 20_000,
    teardownTimeout: 20_000,
    retry: 0,
  },
})
