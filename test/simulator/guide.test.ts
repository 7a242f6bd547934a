/**
 * Goal: the example of the simulator's guide runs as it stands and prints what it says.
 * Method: it is cut out of the page and run by Node, and the comments at its prints are its output.
 */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { clone, shellEnv } from '../package/install-package.ts'

it('the guide to the simulator tells the truth', async () => {
  const page = readFileSync(join(clone, 'docs/guides/simulator.md'), 'utf8')
  const example = /```ts\n(.*?)```/s.exec(page)?.[1] ?? ''
  const promised = [...example.matchAll(/console\.log\(.*\) \/\/ (.+)$/gm)].map((line) => line[1])
  expect(promised.length).toBeGreaterThan(2)
  const args = ['--input-type=module-typescript', '--eval', example]
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, {
    cwd: clone,
    env: shellEnv,
  })
  expect([stdout.trim().split('\n'), stderr]).toEqual([promised, ''])
})
