/** Goal: a step that a remote worker or a command gives to a person is in the log as a warning. */
import { expect, test } from 'vitest'
import { unannounced } from '../domain/run.ts'
import type { StepAction } from '../domain/step.ts'
import type { Log } from '../log.ts'
import { openStore, systemMachine } from '../open-store.ts'
import { hashLeaseToken } from '../secrets.ts'
import { createRuns } from './create-runs.ts'

test('a held step is logged as a warning with the command that says what to do', async () => {
  const store = await openStore({ database: { kind: 'sqlite', path: ':memory:' } })
  const said: unknown[] = []
  const none = (): void => undefined
  const warn = (...line: unknown[]): void => void said.push(line)
  const log: Log = { debug: none, info: none, error: none, warn }
  const limits = { attempts: 3, timeoutMs: 60_000, pendingTimeoutMs: 60_000 }
  const policy = { announcement: unannounced, onNewer: 'queue', ...limits } as const
  const runs = createRuns({
    ...systemMachine,
    ...{ store, log, leaseMs: 60_000, policyOf: () => policy, headSource: null },
  })
  const { run, lease } = await runs.claim({ kind: 'job', type: 'pay', key: 'k' }, 'test')
  const runId = run?.id ?? ''
  const leaseHash = hashLeaseToken(lease?.token ?? '')
  const act = (action: StepAction) => {
    const start = { name: 'charge', startId: 's1', codeVersion: 'v1' }
    return runs.actOnStep({ ...start, runId, leaseHash, actor: 'test', action })
  }
  await act({ do: 'begin', policy: 'hold' })
  expect(said).toEqual([])
  await act({ do: 'hold' })
  expect(said).toEqual([
    [
      { run_id: runId, step: 'charge' },
      "A run waits for a person's decision about its step. To see what to do: holdfast why " +
        runId,
    ],
  ])
  await store.close()
})
