/**
 * Goal: the example workflows do in GitHub Actions what they say.
 * Method: their own command lines run in a shell, with the event files and variables of GitHub
 * Actions, against a real server that publishes to the simulator.
 */
import { spawn } from 'node:child_process'
import { copyFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { isAlive } from '../executors/commands-world.ts'
import { databases } from '../scenarios/server-data.ts'
import { context, repo, ScenarioGitHub } from '../scenarios/scenario-github.ts'
import { at, sha } from '../scenarios/client.ts'
import { ExecWorld, installIn } from './exec-world.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 })

const root = join(import.meta.dirname, '..', '..')
const examples = join(root, 'examples', 'github-actions')

let world: ExecWorld
let github: ScenarioGitHub
let workerToken = ''

beforeAll(async () => {
  world = await ExecWorld.open(databases[0]!.makeData)
  github = await ScenarioGitHub.open(world.data)
  await github.start()
  const made = await github.server.admin.post('/v1/tokens', { scope: 'worker' })
  workerToken = made.body.token
  installIn(world.data.folder)
  copyFileSync(join(examples, 'review.sh'), world.path('review.sh'))
  world.write('package.json', '{ "scripts": { "docs": "echo built >>built.txt" } }')
})
afterAll(async () => {
  await github.server.stop()
  await github.goAway()
  await world.close()
})

/** The command lines of a workflow that start Holdfast. */
function linesOf(workflow: string): string[] {
  const lines = readFileSync(join(examples, workflow), 'utf8').matchAll(/^ +run: (.*holdfast.*)$/gm)
  return [...lines].map((match) => match[1] ?? '')
}

/** Starts them as a job of GitHub Actions does: in a file, with one shell for the step. */
function startJob(workflow: string, event: string, payload: object) {
  const lines = linesOf(workflow)
  expect(lines).toHaveLength(1)
  world.write('event.json', JSON.stringify(payload))
  world.write('step.sh', lines.join('\n'))
  const { PATH = '', HOME = '' } = process.env
  const env = {
    ...{ PATH, HOME, CI: 'true', GITHUB_ACTIONS: 'true', GITHUB_EVENT_NAME: event },
    GITHUB_EVENT_PATH: world.path('event.json'),
    GITHUB_STEP_SUMMARY: world.path('step-summary.md'),
    ...{ HOLDFAST_URL: github.server.url, HOLDFAST_TOKEN: workerToken },
  }
  const child = spawn('bash', ['-e', world.path('step.sh')], {
    cwd: world.data.folder,
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const exited = new Promise<number | null>((resolve) => child.once('close', resolve))
  const ended = text(child.stderr).then(async (stderr) => ({ code: await exited, stderr }))
  return { child, ended }
}

const job = (workflow: string, event: string, payload: object) =>
  startJob(workflow, event, payload).ended

const repository = () => ({ id: github.github.repository(repo).id, full_name: repo })

/** The event file for a head of a pull request. */
const reviewed = (number: number, action: string, head: string, second: number) => ({
  ...{ action, number, repository: repository() },
  pull_request: {
    ...{ number, updated_at: at(second) },
    ...{ head: { sha: sha(head) }, base: { sha: sha('main') } },
  },
  sender: { login: 'mona', id: 1, type: 'User' },
})

it('the review is done once for a head, and shown on the pull request and in the job', async () => {
  github.pull(5)
  const payload = reviewed(5, 'opened', 'head of 5', 0)
  const first = await job('review.yml', 'pull_request', payload)
  expect([first.code, first.stderr]).toEqual([0, expect.stringContaining('Done: review of')])
  const head = sha('head of 5').slice(0, 7)
  expect(await world.written('step-summary.md')).toBe(`## Review\n\nNo findings in ${head}.`)
  const again = await job('review.yml', 'pull_request', payload)
  expect([again.code, again.stderr]).toEqual([0, expect.stringContaining('Nothing to do: run_')])
  const [run, ...others] = await github.runs(5)
  expect(others).toEqual([])
  expect(run).toMatchObject({
    state: 'succeeded',
    attempt: 1,
    round: 1,
    head_sha: sha('head of 5'),
  })
  await github.published()
  expect(github.github.latestStatus(repo, sha('head of 5'), context)?.state).toBe('success')
  expect(github.github.comments(repo, 5).map(({ body }) => body)).toEqual([
    expect.stringContaining(`No findings in ${head}.`),
  ])
})

it('the review of the next head names that head, not the one before', async () => {
  github.pull(6)
  const first = await job('review.yml', 'pull_request', reviewed(6, 'opened', 'head of 6', 0))
  github.github.push(repo, 6, sha('next'))
  const second = await job('review.yml', 'pull_request', reviewed(6, 'synchronize', 'next', 60))
  expect([first.code, second.code]).toEqual([0, 0])
  expect((await github.runs(6))[1]).toMatchObject({
    ...{ head_sha: sha('next'), previous: { head_sha: sha('head of 6') } },
    summary: `## Review\n\nNo findings in ${sha('next').slice(0, 7)}.\n`,
  })
})

it('a cancelled job stops the review, although GitHub signals only the shell', async () => {
  github.pull(7)
  world.write('review.sh', '#!/bin/sh\necho $$ >pid; while [ -e pid ]; do sleep 0.05; done\n')
  const { child, ended } = startJob(
    'review.yml',
    'pull_request',
    reviewed(7, 'opened', 'head of 7', 0),
  )
  const pid = Number(await world.written('pid'))
  child.kill('SIGINT')
  expect(await ended).toEqual({ code: 130, stderr: expect.stringContaining('interrupted') })
  expect(isAlive(pid)).toBe(false)
  expect(await github.runs(7)).toMatchObject([{ state: 'failed', error: { code: 'interrupted' } }])
})

it('the documentation is built once for a push', async () => {
  const payload = {
    ...{ ref: 'refs/heads/main', before: sha('before'), after: sha('pushed') },
    ...{ repository: repository(), sender: { login: 'mona', id: 1, type: 'User' } },
  }
  for (const expected of ['Done: docs of acme/widgets refs/heads/main', 'Nothing to do']) {
    const { code, stderr } = await job('docs.yml', 'push', payload)
    expect([code, stderr]).toEqual([0, expect.stringContaining(expected)])
  }
  expect(await world.written('built.txt')).toBe('built')
})
