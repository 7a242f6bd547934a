/** Goal: `run.github` sends nothing for a run that is over, also if its client was kept. */
import { expect, it } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import type { HeldRun } from '../../src/executor.ts'
import { HandledRun } from '../../src/executors/handler/handled-run.ts'
import { openRunGitHub } from '../../src/executors/handler/run-github.ts'
import type { RunClientOptions, RunGitHub } from '../../src/github/run-client.ts'

async function opened() {
  const renewals: string[] = []
  const held = {
    run: { repo: 'acme/widgets', type: 'review', scope: 'acme/widgets' },
    signal: new AbortController().signal,
    ensureLive: async () => void renewals.push('asked'),
    askStore: <T>(ask: () => Promise<T>) => ask(),
  }
  const run = new HandledRun(held as unknown as HeldRun)
  const made: RunClientOptions[] = []
  const github = await openRunGitHub(run, {
    makeClient: (options) => {
      made.push(options)
      return {} as RunGitHub
    },
    connection: {} as RunClientOptions['connection'],
    permissionsOf: () => ({}),
    blocks: { blockedUntil: async () => null, block: async () => undefined },
    store: { repositories: { get: async () => null } },
    clock: systemClock,
  })
  github()
  return { run, github, client: made[0]!, renewals }
}

it('asks for a live lease before each request', async () => {
  const { client, renewals } = await opened()
  await client.ensureLive()
  expect(renewals).toEqual(['asked'])
})

it('throws after the handler has ended', async () => {
  const { run, github, client, renewals } = await opened()
  run.end()
  const ended = expect.objectContaining({ name: 'StopWork', code: 'ended' })
  expect(github).toThrow(ended)
  expect(() => client.checkHeld()).toThrow(ended)
  await expect(client.ensureLive()).rejects.toEqual(ended)
  expect(client.signal.reason).toEqual(ended)
  expect(renewals).toEqual([])
})
