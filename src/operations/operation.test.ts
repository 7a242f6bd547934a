import { describe, expect, test } from 'vitest'
import type { Delivery } from '../domain/outbox/delivery.ts'
import type { Run } from '../domain/run.ts'
import type { Caller } from './caller.ts'
import { localCaller } from './caller.ts'
import { operation, type Named } from './operation.ts'
import type { ReachStore } from './reach.ts'

/** What was looked up in the store. */
const lookups: string[] = []

const deliveries = new Map([
  ['of a run', { runId: 'run_1' } as Delivery],
  ['of no run', { runId: null } as Delivery],
  ['of a purged run', { runId: 'run_purged' } as Delivery],
])

const store: ReachStore = {
  runs: {
    get: async (id) => {
      lookups.push(id)
      return id === 'run_purged' ? null : ({ id, type: 'review', subjectId: 'sub_1' } as Run)
    },
    subject: async () => null,
  },
  repositories: { names: async () => new Map(), getByName: async () => null },
  outbox: { delivery: async (id) => deliveries.get(id) ?? null },
}

const ports = { store }
const answer = async (_ports: typeof ports, _caller: Caller, { id }: Named) => id
const onRun = operation({ scopes: ['operator', 'run'], within: 'run' }, answer)
const onDelivery = operation({ scopes: ['operator'], within: 'delivery' }, answer)
const onAll = operation({ scopes: ['operator'] }, answer)
const onWhatItPasses = operation({ scopes: ['operator'], within: 'itself' }, answer)

function token(scope: string, types: readonly string[] | null = null): Caller {
  const limits = { repositories: null, types }
  return { kind: 'token', actor: 'token:t', scope, tokenId: 't', expiresAt: null, limits }
}

const runToken: Caller = {
  kind: 'run',
  actor: 'run:run_1',
  runId: 'run_1',
  leaseHash: 'hash',
  tokenId: null,
}

const input = { id: 'run_1' }

describe('an operation, whichever way it is called', () => {
  test.each([token('worker'), token('read'), token('bot:operator'), token('nobody')])(
    'refuses a caller without its scope before it looks anything up: %o',
    async (caller) => {
      lookups.length = 0
      await expect(onRun(ports, caller, input)).rejects.toMatchObject({ code: 'forbidden' })
      await expect(onAll(ports, caller, input)).rejects.toMatchObject({ code: 'forbidden' })
      expect(lookups).toEqual([])
    },
  )

  test('accepts its scopes, an admin, and the process that opened the store', async () => {
    for (const caller of [token('operator'), token('admin'), localCaller('cli')]) {
      expect(await onRun(ports, caller, input)).toBe('run_1')
      expect(await onAll(ports, caller, input)).toBe('run_1')
    }
  })

  test('accepts a run token only for its own run', async () => {
    expect(await onRun(ports, runToken, input)).toBe('run_1')
    const other = onRun(ports, runToken, { id: 'run_2' })
    await expect(other).rejects.toMatchObject({ code: 'forbidden' })
    await expect(onAll(ports, runToken, input)).rejects.toMatchObject({ code: 'forbidden' })
  })

  test('keeps a limited token within its limits', async () => {
    const outside = { code: 'outside_token_limits' }
    const docsOnly = token('operator', ['docs'])
    await expect(onRun(ports, docsOnly, input)).rejects.toMatchObject(outside)
    expect(await onRun(ports, token('operator', ['review']), input)).toBe('run_1')
    expect(await onWhatItPasses(ports, docsOnly, input)).toBe('run_1')
  })

  test('shows a limited token only deliveries of its runs, none without a run', async () => {
    const limited = token('operator', ['review'])
    expect(await onDelivery(ports, limited, { id: 'of a run' })).toBe('of a run')
    const messageToSomebody = onDelivery(ports, limited, { id: 'of no run' })
    await expect(messageToSomebody).rejects.toMatchObject({ code: 'outside_token_limits' })
    expect(await onDelivery(ports, token('operator'), { id: 'of no run' })).toBe('of no run')
  })

  test('shows a limited token nothing of a run that was purged', async () => {
    const limited = token('operator', ['review'])
    const purged = onRun(ports, limited, { id: 'run_purged' })
    await expect(purged).rejects.toMatchObject({ code: 'run_not_found' })
    const itsComment = onDelivery(ports, limited, { id: 'of a purged run' })
    await expect(itsComment).rejects.toMatchObject({ code: 'outside_token_limits' })
    for (const id of ['run_purged', 'of a purged run']) {
      expect(await onRun(ports, token('operator'), { id })).toBe(id)
      expect(await onDelivery(ports, token('operator'), { id })).toBe(id)
    }
  })

  test('is closed to limited tokens if it does not say how it respects limits', async () => {
    lookups.length = 0
    const limited = onAll(ports, token('operator', ['review']), input)
    await expect(limited).rejects.toMatchObject({ code: 'outside_token_limits' })
    expect(lookups).toEqual([])
  })
})
