/**
 * Goal: the examples of the guides for programs run as they stand and print what they say.
 * Method: it is cut out of the page and run by Node, and the comments at its prints are its output.
 */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { clone, shellEnv } from '../package/install-package.ts'

it.each(['simulator', 'library'])('the guide %s.md tells the truth', async (guide) => {
  const page = readFileSync(join(clone, `docs/guides/${guide}.md`), 'utf8')
  const example = /```ts\n(.*?)```/s.exec(page)?.[1] ?? ''
  const promised = [...example.matchAll(/console\.log\(.*\) \/\/ (.+)$/gm)].map((line) => line[1])
  expect(promised.length).toBeGreaterThan(2)
  const args = ['--input-type=module-typescript', '--eval', example]
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, {
    cwd: clone,
    // One of them opens a store that is away, which is a warning.
    env: { ...shellEnv, NODE_NO_WARNINGS: '1' },
  })
  expect([stdout.trim().split('\n'), stderr]).toEqual([promised, ''])
})
