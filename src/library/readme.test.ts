/**
 * Goal: the program in the README hides none of its own errors, and ignores only a lost run.
 * Method: the program itself, as the README has it, with a review that fails in several ways.
 */
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { claim } from '../../test/library/claim.ts'
import { openHoldfast } from './open-holdfast.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))
const readme = readFileSync(join(root, 'README.md'), 'utf8')
const shown = /## Or inside your program\n\n```ts\n(.*?)```/s.exec(readme)?.[1] ?? ''

let folder: string
let databaseUrl: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-readme-library-'))
  databaseUrl = `sqlite:${join(folder, 'bot.db')}`
})

afterEach(() => rmSync(folder, { recursive: true }))

/** `review`: the body of the function that the README leaves to its reader. */
async function runShown(review: string): Promise<{ readonly stdout: string }> {
  expect(shown).toContain("'sqlite:bot.db'")
  const program = `
    import { ConflictError as Conflict } from 'holdfast'
    const { repo, prNumber, baseSha, headSha } = ${JSON.stringify(claim)}
    const [deliveryId, action, beforeSha] = ['guid-1', 'opened', undefined]
    const pullRequest = { updated_at: '1970-01-01T00:00:00Z' }
    async function reviewPullRequest({ signal }) { ${review} }
    ${shown.replace("'sqlite:bot.db'", JSON.stringify(databaseUrl))}
    await holdfast.close()
    console.log('went on')`
  const args = ['--input-type=module-typescript', '--eval', program]
  return await run(process.execPath, args, { cwd: root, timeout: 30_000 })
}

async function nextReason(): Promise<string> {
  const holdfast = await openHoldfast({ databaseUrl })
  const { reason } = await holdfast.checkAndClaimRun(claim)
  await holdfast.close()
  return reason
}

test.each([
  ['the review fails', "throw new Error('no model')", 'no model'],
  ['a call was wrong', "throw new Conflict('content_differs', 'other content')", 'other content'],
])('if %s, the program reports it, and the run has failed', async (_what, review, message) => {
  await expect(runShown(review)).rejects.toThrow(message)
  expect(await nextReason()).toBe('retry')
})

test('if a newer head took over, the program continues without a message', async () => {
  const review = `
    const newer = { repo, prNumber, baseSha, headSha: 'c'.repeat(40), eventAt: new Date(1000) }
    await holdfast.checkAndClaimRun(newer)
    return { verdict: 'success', text: 'Fine.' }`
  expect((await runShown(review)).stdout).toBe('went on\n')
  expect(await nextReason()).toBe('stale-event')
})

test('if all goes well, the run is completed', async () => {
  const { stdout } = await runShown("return { verdict: 'success', text: 'Fine.' }")
  expect(stdout).toBe('went on\n')
  expect(await nextReason()).toBe('duplicate')
})
