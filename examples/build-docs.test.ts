/**
 * Goal: the example job builds once for every push, one after the other, and shows its results.
 * Method: the example's own files on a real server and the simulated GitHub. A page that is a pipe
 * keeps the first build waiting.
 */
import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { sha } from '../test/scenarios/client.ts'
import { Hooks, type HookRun } from '../test/scenarios/hooks.ts'
import { repo, ScenarioGitHub } from '../test/scenarios/scenario-github.ts'
import { databases } from '../test/scenarios/server-data.ts'
import { until } from '../test/scenarios/until.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

let github: ScenarioGitHub
let hooks: Hooks
const inFolder = (path: string): string => join(github.serverData.folder, path)

beforeEach(async () => {
  const data = await databases[0]!.makeData()
  cpSync(join(import.meta.dirname, 'build-docs'), data.folder, { recursive: true })
  github = await ScenarioGitHub.open(data)
  await github.start({ DOCS_TITLE: 'Widgets' })
  hooks = new Hooks(github.server)
})
afterEach(() => github.close())

/** Returns the run. */
async function push(commit: string, ref = 'refs/heads/main'): Promise<HookRun | null> {
  const repository = { id: github.github.repository(repo).id, full_name: repo }
  const sender = { login: 'mona', id: 1, type: 'User' }
  const payload = { ref, before: sha('before'), after: sha(commit), repository, sender }
  const { run_ids: ids } = await hooks.settle({ event: 'push', payload, guid: randomUUID() })
  const runs = await hooks.runs(repo)
  return runs.find(({ id }) => ids.includes(id)) ?? null
}

const ended = (run: HookRun | null) =>
  until(
    () => github.server.admin.run(run?.id ?? ''),
    ({ state }) => !['pending', 'running'].includes(state),
  )

const reports = async (run: HookRun | null): Promise<readonly string[]> => {
  const { body } = await github.server.admin.get(`/v1/runs/${run?.id}/audit`)
  const rows = body.items as unknown as { type: string; data: { status: string } }[]
  const reported = rows.filter(({ type }) => type === 'run.agent.status_reported')
  return reported.map(({ data }) => data.status)
}

it('builds the pages of a push, and shows the commit status, a summary and a result', async () => {
  writeFileSync(inFolder('docs/more.md'), '# More\n\n1 < 2\n')
  const run = await push('one')
  expect(await ended(run)).toMatchObject({
    state: 'succeeded',
    summary: `Built 2 pages of \`${sha('one').slice(0, 7)}\`.\n`,
    result: { pages: 2, commit: sha('one') },
  })
  expect(readFileSync(inFolder('site/more.html'), 'utf8')).toBe(
    '<title>Widgets</title>\n<h1>More</h1>\n\n1 &lt; 2\n',
  )
  expect((await reports(run)).toSorted()).toEqual(['building the pages', 'built 2 pages'])
  await github.statusBecomes('one', 'success', 'docs/job')
  // The input of this one names the commit before, too.
  const next = await ended(await push('two'))
  expect(next).toMatchObject({ previous: { head_sha: sha('one') }, result: { commit: sha('two') } })
})

it('builds one push after the other, and other branches never', async () => {
  const pipe = inFolder('docs/slow.md')
  execFileSync('mkfifo', [pipe])
  const first = await push('one')
  await until(
    () => reports(first),
    (texts) => texts.length > 0,
  )
  const second = await push('two')
  expect(await push('three', 'refs/heads/topic')).toBeNull()
  expect((await github.server.admin.run(second?.id ?? '')).state).toBe('pending')
  // Opens when the first build reads it. The second one finds a file in its place.
  const held = await open(pipe, 'w')
  rmSync(pipe)
  writeFileSync(pipe, '# Slow\n')
  await held.writeFile('# Slow\n')
  await held.close()
  expect(await ended(first)).toMatchObject({ state: 'succeeded', result: { commit: sha('one') } })
  expect(await ended(second)).toMatchObject({ state: 'succeeded', result: { commit: sha('two') } })
})

it('has nothing to do without pages, and says when it fails', async () => {
  rmSync(inFolder('docs/start.md'))
  expect(await ended(await push('one'))).toMatchObject({ state: 'skipped' })
  writeFileSync(inFolder('docs/start.md'), '# Start\n')
  expect((await ended(await push('three'))).summary).toMatch(/^Built 1 page of /)
  writeFileSync(inFolder('build.sh'), 'echo no compiler; exit 3\n')
  expect(await ended(await push('two'))).toMatchObject({
    state: 'failed',
    error: { code: 'command_failed', text: 'exit code 3\nno compiler' },
  })
  await github.statusBecomes('two', 'failure', 'docs/job')
})
