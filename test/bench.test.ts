/**
 * Goal: the benchmarks still run, and a run costs no more calls to GitHub than they promise.
 * Method: the real program, once, with sizes so small that its times mean nothing.
 */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

it('the benchmarks measure every part', { timeout: 120_000 }, async () => {
  const main = join(import.meta.dirname, '..', 'bench', 'main.ts')
  const { VITEST: _vitest, ...env } = process.env
  const run = promisify(execFile)(process.execPath, [main, '--smoke'], { env })
  const { stdout, stderr } = await run
  expect(stdout).toContain('calls per run, ours: 23 (1 create, 20 edits, 2 statuses, 0 reads)  ok')
  for (const part of ['SQLite', 'PostgreSQL', 'webhooks']) expect(stdout).toContain(part)
  for (const part of ['embedded, p99', 'BullMQ, p99']) expect(stdout).toContain(`wake-up, ${part}`)
  expect(stderr).toContain('only ours, because DBOS on PostgreSQL and Restate are left out')
  expect(stdout).not.toContain('NaN')
})
