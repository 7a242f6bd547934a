/**
 * Goal: what the documentation shows is true.
 * Method: every example runs as its reader would run it, in a process of its own.
 */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const run = promisify(execFile)

async function output(example: string): Promise<string> {
  const path = fileURLToPath(new URL(example, import.meta.url))
  return (await run(process.execPath, [path])).stdout
}

it('the gate works once, skips the copy, and stops what a force-push overtook', async () => {
  expect(await output('gate.ts')).toBe(
    [
      'first delivery: work (new)',
      'second delivery: skip (duplicate)',
      'force-push: work (superseded-prior)',
      'the old run hears: superseded',
      'its late completion: superseded',
      'the new run: succeeded',
      '',
    ].join('\n'),
  )
})
