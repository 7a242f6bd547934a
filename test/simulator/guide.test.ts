/**
 * Goal: the examples in the guides for programs run unchanged and print what the guides say.
 * Method: Node runs the first example of each page that prints; the comment after each
 * `console.log` must be its output.
 */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { clone, shellEnv } from '../package/install-package.ts'

it.each(['simulator', 'library'])('the example in %s.md prints what it says', async (guide) => {
  const page = readFileSync(join(clone, `docs/guides/${guide}.md`), 'utf8')
  const examples = [...page.matchAll(/```ts\n(.*?)```/gs)].map((block) => block[1] ?? '')
  const example = examples.find((text) => promisedBy(text).length > 0) ?? ''
  const promised = promisedBy(example)
  expect(promised.length).toBeGreaterThan(2)
  const args = ['--input-type=module-typescript', '--eval', example]
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, {
    cwd: clone,
    // One example opens a store that cannot be reached, which prints a warning.
    env: { ...shellEnv, NODE_NO_WARNINGS: '1' },
  })
  expect([stdout.trim().split('\n'), stderr]).toEqual([promised, ''])
})

const promisedBy = (example: string): readonly (string | undefined)[] =>
  [...example.matchAll(/console\.log\(.*\) \/\/ (.+)$/gm)].map((line) => line[1])
