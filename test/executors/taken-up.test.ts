/**
 * Goal: a run that is taken up again does nothing twice that has a result, and settles the rest by
 * the step's policy.
 * Method: a holder that "dies": it leases the run and begins steps straight on the store, and its
 * runs are given back as the next owner of the file does it. Then the real work loop takes them up.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openStore } from '../../src/open-store.ts'
import type { Log } from '../../src/log.ts'
import type { StepAction, StepPolicy } from '../../src/domain/step.ts'
import type { RunContext, RunHandler, StepCall, StepOptions } from '../../src/run-handler.ts'
import { hashLeaseToken } from '../../src/secrets.ts'
import type { Store } from '../../src/store.ts'
import { workWorld, type WorkWorld } from './work-world.ts'

let store: Store
let world: WorkWorld | undefined

beforeEach(async () => {
  store = await openStore({ database: { kind: 'sqlite', path: ':memory:' } })
})

afterEach(async () => {
  await world?.close()
  world = undefined
  await store.close()
})

/** A run whose holder began these steps, stored these results, and died. */
async function cutOff(began: Readonly<Record<string, StepAction | null>>, policy: StepPolicy) {
  const dead = await workWorld({ handlers: {}, store })
  const { run } = await dead.claim('job', 'k')
  const request = { worker: 'dead/1', type: 'job', count: 1, askedOnly: false, lastIfAsked: false }
  const [leased] = await dead.runs.leaseMany(request, 'executor:dead/1')
  const leaseHash = hashLeaseToken(leased?.lease.token ?? '')
  const act = (name: string, action: StepAction) =>
    store.steps.act({
      ...{ runId: run?.id ?? '', leaseHash, actor: 'executor:dead/1', name, action },
      ...{ startId: `dead ${name}`, codeVersion: 'v0' },
    })
  for (const [name, end] of Object.entries(began)) {
    await act(name, { do: 'begin', policy })
    if (end !== null) await act(name, end)
  }
  await dead.close()
  await store.runs.takeOverExecutors()
  return { runId: run?.id ?? '', late: act }
}

async function takeUp(runId: string, handler: RunHandler, log?: Log) {
  world = await workWorld({ handlers: { job: handler }, store, ...(log && { log }) })
  return await world.ended(runId)
}

const auditTypes = async (runId: string): Promise<string[]> =>
  (await world?.audit(runId))?.map(({ type }) => type).filter((type) => /step/.test(type)) ?? []

/** The step with a confirm that docs/guides/executing.md shows, as a handler. */
async function guideExample(): Promise<(run: RunContext, payments: object) => Promise<object>> {
  const guide = readFileSync(join(import.meta.dirname, '../../docs/guides/executing.md'), 'utf8')
  const blocks = [...guide.matchAll(/```ts\n(.*?)```/gs)].map(([, code = '']) => code)
  const [example = ''] = blocks.filter((code) => code.includes("'not-done'"))
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-guide-'))
  const file = join(folder, 'example.mjs')
  const start = 'export default async function (run, payments) {'
  writeFileSync(file, `${start}\n${example}\nreturn { result: payment }\n}\n`)
  try {
    return ((await import(pathToFileURL(file).href)) as { default: never }).default
  } finally {
    rmSync(folder, { recursive: true })
  }
}

describe('a step with a stored result', () => {
  it('is not done again, and its result is used', async () => {
    const { runId } = await cutOff({ a: { do: 'record', result: '"stored"' } }, 'repeat')
    let calls = 0
    const run = await takeUp(runId, async (r) => ({ result: await r.step('a', () => ++calls) }))
    expect(run).toMatchObject({ state: 'succeeded', result: '"stored"', attempt: 2 })
    expect(calls).toBe(0)
  })

  it('that failed throws the stored error again', async () => {
    const failure = { do: 'fail', errorCode: 'step_failed', errorText: 'no' } as const
    const { runId } = await cutOff({ a: failure }, 'repeat')
    const run = await takeUp(runId, async (r) => {
      await r.step('a', () => 1)
    })
    expect(run).toMatchObject({ state: 'failed', errorCode: 'step_failed' })
    expect(run.errorText).toBe('the step "a" failed: no')
  })

  it('that the new code does not ask for is audited with both versions', async () => {
    const { runId } = await cutOff({ old: { do: 'record', result: '1' } }, 'repeat')
    await takeUp(runId, () => undefined)
    const rows = await world?.audit(runId)
    const row = rows?.find(({ type }) => type === 'step.not_asked_for')
    expect(row?.data).toMatchObject({ code_version: 'v1' })
    expect(JSON.stringify(row?.data)).toContain('v0')
  })
})

describe('a step in doubt', () => {
  const doing =
    (options: StepOptions, calls: string[]): RunHandler =>
    async (r: RunContext) => {
      const result = await r.step('a', options, ({ key }) => {
        calls.push(key)
        return 'again'
      })
      return { result }
    }

  it('is repeated with the same key, and the audit says so', async () => {
    const { runId } = await cutOff({ a: null }, 'repeat')
    const calls: string[] = []
    const run = await takeUp(runId, doing({}, calls))
    expect([run.state, run.result, calls.length]).toEqual(['succeeded', '"again"', 1])
    expect(await auditTypes(runId)).toEqual(['step.in_doubt', 'step.taken_over'])
  })

  it('is not repeated if its confirm finds it', async () => {
    const { runId } = await cutOff({ a: null }, 'confirm')
    const calls: string[] = []
    const confirm = () => ({ done: 'found' })
    const run = await takeUp(runId, doing({ inDoubt: 'confirm', confirm }, calls))
    expect([run.result, calls.length]).toEqual(['"found"', 0])
    expect(await auditTypes(runId)).toEqual(['step.in_doubt', 'step.confirmed'])
  })

  it('is repeated if its confirm says twice that it was not done', async () => {
    const { runId } = await cutOff({ a: null }, 'confirm')
    const calls: string[] = []
    let asked = 0
    const confirm = () => (++asked < 3 ? ('not-done' as const) : { done: 'too late' })
    const run = await takeUp(runId, doing({ inDoubt: 'confirm', confirm }, calls))
    expect([run.result, calls.length, asked]).toEqual(['"again"', 1, 2])
  })

  it.each([
    ['finds the payment', { id: 7 }, ['find']],
    ['does not find it twice', null, ['find', 'find', 'create']],
  ])('is settled by the confirm of the guide, which %s', async (_what, found, calls) => {
    const { runId } = await cutOff({ charge: null }, 'confirm')
    const example = await guideExample()
    const asked: { readonly verb: string; readonly key: string }[] = []
    const payments = {
      find: async ({ key }: StepCall) => (asked.push({ verb: 'find', key }), found),
      create: async ({ key }: StepCall) => (asked.push({ verb: 'create', key }), { id: 7 }),
    }
    const run = await takeUp(runId, (r) => example(r, payments))
    expect([run.state, run.result]).toEqual(['succeeded', '{"id":7}'])
    expect(asked.map(({ verb }) => verb)).toEqual(calls)
    expect(new Set(asked.map(({ key }) => key)).size).toBe(1)
  })

  it('is held if its confirm cannot tell three times', async () => {
    const { runId } = await cutOff({ a: null }, 'confirm')
    const confirm = () => Promise.reject(new Error('GitHub is down'))
    const run = await takeUp(runId, doing({ inDoubt: 'confirm', confirm }, []))
    expect(run.state).toBe('waiting')
  })

  const fails = (): never => {
    throw new Error('cannot be read')
  }
  const unusable: readonly (readonly [string, () => unknown])[] = [
    ['a field that throws', () => Object.defineProperty({}, 'done', { get: fails })],
    ['a Proxy that throws', () => new Proxy({}, { has: fails })],
    ['a value that is no JSON', () => ({ done: 1n })],
    ['a value that is too large', () => ({ done: 'x'.repeat(262_144) })],
    ['something else', () => 'perhaps'],
  ]
  it.each(unusable)('is held if the answer of its confirm is %s', async (_, answer) => {
    const { runId } = await cutOff({ a: null }, 'confirm')
    const calls: string[] = []
    const confirm = answer as () => 'not-done'
    const run = await takeUp(runId, doing({ inDoubt: 'confirm', confirm }, calls))
    expect([run.state, calls.length]).toEqual(['waiting', 0])
  })

  it('is held for a person, who lets it be repeated', async () => {
    const { runId } = await cutOff({ a: null }, 'hold')
    const calls: string[] = []
    const run = await takeUp(runId, doing({ inDoubt: 'hold' }, calls))
    expect([run.state, run.attempt, calls.length]).toEqual(['waiting', 2, 0])
    const decision = { runId, name: 'a', actor: 'mona', decision: { do: 'repeat' } } as const
    const { run: pending } = await store.steps.decide(decision, null)
    expect([pending.state, pending.attempt]).toEqual(['pending', 2])
    const done = await world?.ended(runId)
    expect([done?.state, done?.result, calls.length]).toEqual(['succeeded', '"again"', 1])
  })

  it('is held for a person, and the log warns of it with the command', async () => {
    const { runId } = await cutOff({ a: null }, 'hold')
    const said: string[] = []
    const note =
      (level: string) =>
      (_about: unknown, text = '') =>
        void said.push(`${level}: ${text}`)
    const [info, warn, error] = [note('info'), note('warn'), note('error')]
    const log: Log = { debug: () => undefined, info, warn, error }
    await takeUp(runId, doing({ inDoubt: 'hold' }, []), log)
    await world?.work.stop(0)
    expect(said).toEqual([
      'info: Working on a run',
      "warn: A run waits for a person's decision about its step. To see what to do: " +
        `holdfast why ${runId}`,
      'info: A run was held',
    ])
  })

  it('is held for a person, who says what it came to', async () => {
    const { runId } = await cutOff({ a: null }, 'hold')
    await takeUp(runId, doing({ inDoubt: 'hold' }, []))
    const decision = { do: 'confirm', result: '"by hand"' } as const
    await store.steps.decide({ runId, name: 'a', actor: 'mona', decision }, null)
    expect((await world?.ended(runId))?.result).toBe('"by hand"')
  })

  it('that was held goes on by itself when its late result comes', async () => {
    const { runId, late } = await cutOff({ a: null }, 'hold')
    await takeUp(runId, doing({ inDoubt: 'hold' }, []))
    await expect(late('a', { do: 'record', result: '"late"' })).rejects.toThrow(/not held/)
    expect((await world?.ended(runId))?.result).toBe('"late"')
  })

  it('that was taken over ignores the late result of the first', async () => {
    const { runId, late } = await cutOff({ a: null }, 'repeat')
    const run = await takeUp(runId, doing({}, []))
    await expect(late('a', { do: 'record', result: '"late"' })).rejects.toThrow()
    expect(run.result).toBe('"again"')
    expect((await store.steps.get(runId, 'a'))?.result).toBe('"again"')
    expect(await auditTypes(runId)).toContain('step.late')
  })
})
