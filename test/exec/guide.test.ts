/**
 * Goal: the lines of the guide to `exec` work as they are shown, and stop their script when their
 * job is stopped.
 * Method: each line is taken out of docs/guides/exec.md and runs in a shell, as cron or a job does,
 * in a project that has Holdfast installed. The signal goes to Holdfast and to nothing else.
 */
import { spawn } from 'node:child_process'
import { chmodSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { isAlive } from '../executors/commands-world.ts'
import { sha } from '../scenarios/client.ts'
import { databases, publishNothing } from '../scenarios/server-data.ts'
import { adminToken } from '../scenarios/server.ts'
import { ExecWorld, installIn } from './exec-world.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const guide = readFileSync(join(import.meta.dirname, '../../docs/guides/exec.md'), 'utf8')
const shown = [...guide.matchAll(/^(?: *run: )?((?:exec )?\S*holdfast exec .*)$/gm)]
/** GitHub replaces its own expressions before a shell sees the line. */
const lines = shown.map(([, line = '']) => line.replace(/\$\{\{.*?\}\}/, ''))

let world: ExecWorld

beforeEach(async () => {
  world = await ExecWorld.open(databases[0]!.makeData)
  publishNothing(world.data)
  await world.serve()
  installIn(world.data.folder)
  const payload = {
    ...{ action: 'opened', number: 5, repository: { id: 1, full_name: 'acme/widgets' } },
    pull_request: {
      ...{ number: 5, updated_at: '2026-01-31T12:00:00Z' },
      ...{ head: { sha: sha('head') }, base: { sha: sha('main') } },
    },
  }
  world.write('event.json', JSON.stringify(payload))
  for (const script of ['review.sh', 'backup.sh', 'make']) {
    world.write(script, '#!/bin/sh\necho $$ >pid; while [ -e pid ]; do sleep 0.05; done\n')
    chmodSync(world.path(script), 0o755)
  }
})
afterEach(() => world.close())

it('shows a line for a start, for GitHub Actions twice, for Jenkins and for cron', () => {
  expect(lines).toHaveLength(5)
  expect(lines.filter((line) => line.includes('npx'))).toEqual([])
})

it.each(lines)('stops its script: %s', async (line) => {
  const { PATH = '', HOME = '' } = process.env
  const env = {
    ...{ PATH: `${world.data.folder}:${PATH}`, HOME },
    ...{ GITHUB_EVENT_PATH: 'event.json', GITHUB_EVENT_NAME: 'pull_request' },
    ...{ CHANGE_ID: '5', BASE: sha('main'), GIT_COMMIT: sha('head') },
    ...{ HOLDFAST_URL: world.server.url, HOLDFAST_TOKEN: adminToken },
  }
  // The shell's place is taken, so that only Holdfast gets the signal.
  const child = spawn('bash', ['-euo', 'pipefail', '-c', line.replace(/^(exec )?/, 'exec ')], {
    ...{ cwd: world.data.folder, env },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const code = new Promise<number | null>((resolve) => child.once('close', resolve))
  const said = text(child.stderr)
  const pid = Number(await world.written('pid'))
  child.kill('SIGTERM')
  expect([await code, await said]).toEqual([143, expect.stringContaining('interrupted')])
  expect(isAlive(pid)).toBe(false)
  expect(await world.runs()).toMatchObject([{ state: 'failed', error: { code: 'interrupted' } }])
})
