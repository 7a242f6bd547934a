/**
 * Goal: a handler does its run, and its steps happen once.
 * Method: a real store in memory, the real work loop, handlers of the test.
 */
import { pino } from 'pino'
import { afterEach, describe, expect, it } from 'vitest'
import type { RunContext, RunHandler } from '../../src/run-handler.ts'
import { StepNotDone } from '../../src/step-errors.ts'
import { workWorld, type WorkWorld, type WorkWorldOptions } from './work-world.ts'

let world: WorkWorld | undefined

afterEach(async () => {
  await world?.close()
  world = undefined
})

async function start(handler: RunHandler, more: Partial<WorkWorldOptions> = {}) {
  world = await workWorld({ handlers: { job: handler }, ...more })
  return world
}

async function runOnce(handler: RunHandler, more: Partial<WorkWorldOptions> = {}) {
  const opened = await start(handler, more)
  const { run } = await opened.claim('job', 'k')
  return await opened.ended(run?.id ?? '')
}

describe('how a run ends', () => {
  it('with what the handler returns', async () => {
    const run = await runOnce(() => ({ verdict: 'neutral', summary: 'fine', result: { a: 1 } }))
    expect(run).toMatchObject({ state: 'succeeded', verdict: 'neutral', summary: 'fine' })
    expect(run.result).toBe('{"a":1}')
  })

  it('as succeeded when it returns nothing', async () => {
    expect((await runOnce(() => undefined)).state).toBe('succeeded')
  })

  it('as failed with the error that it throws', async () => {
    const run = await runOnce(() => {
      throw new TypeError('no such model')
    })
    expect(run).toMatchObject({ state: 'failed', errorText: 'TypeError: no such model' })
  })

  it('as failed when it throws something that is no error', async () => {
    const run = await runOnce(() => {
      // eslint-disable-next-line @typescript-eslint/only-throw-error -- it is the point of the test
      throw { status: 500 }
    })
    expect(run.errorText).toContain('{"status":500}')
  })

  it('as failed with the field that is wrong in what it returns', async () => {
    const run = await runOnce((() => ({ verdict: 'good' })) as unknown as RunHandler)
    expect(run).toMatchObject({ state: 'failed', errorCode: 'bad_result' })
    expect(run.errorText).toContain('verdict')
  })
})

describe('a call that nobody awaits', () => {
  it('does not count as a rejection that nobody handles', async () => {
    const unhandled: unknown[] = []
    const note = (reason: unknown): void => void unhandled.push(reason)
    process.on('unhandledRejection', note)
    const run = await runOnce(async (r) => {
      void r.step('a', { retries: 0 }, () => Promise.reject(new Error('of a step')))
      void r.status('x'.repeat(101))
      void r.publish('p', {} as never)
      await r.step('b', () => new Promise((resolve) => setImmediate(resolve)))
    })
    process.off('unhandledRejection', note)
    expect(run.state).toBe('succeeded')
    expect(unhandled).toEqual([])
  })

  it('of a step that had not even begun is named in the log', async () => {
    const said: unknown[] = []
    const warn = (about: object, text?: string): void => void said.push({ ...about, text })
    const log = { debug: () => undefined, info: () => undefined, warn, error: () => undefined }
    const handler: RunHandler = async (r) => {
      await r.step('awaited', () => 1)
      void r.step('forgotten', () => 2)
    }
    const { id } = await runOnce(handler, { log })
    const text = 'A handler ended before these steps; they stop, or are not done at all'
    expect(said).toEqual([{ run_id: id, steps: ['forgotten'], text }])
  })
})

describe('a step', () => {
  it('returns what its function returns, as JSON keeps it', async () => {
    const run = await runOnce(async (r) => {
      const made = await r.step('a', () => ({ when: new Date(0), nothing: undefined }))
      return { result: made }
    })
    expect(run.result).toBe('{"when":"1970-01-01T00:00:00.000Z"}')
  })

  it('gets a key that only its name, round and run decide', async () => {
    const keys: string[] = []
    const handler = async (r: RunContext): Promise<void> => {
      await r.step('a', ({ key }) => void keys.push(key))
      await r.step('b', ({ key }) => void keys.push(key))
    }
    await runOnce(handler)
    expect(keys[0]).toMatch(/^step_[\w-]{32}$/)
    expect(new Set(keys).size).toBe(2)
  })

  it('used twice in one attempt is an error that says so', async () => {
    const run = await runOnce(async (r) => {
      await r.step('a', () => 1)
      await r.step('a', () => 2)
    })
    expect(run).toMatchObject({ state: 'failed', errorCode: 'step_name_used' })
  })

  it('begun inside another is an error that names both', async () => {
    const run = await runOnce(async (r) => {
      await r.step('outer', { retries: 0 }, () => r.step('inner', () => 1))
    })
    expect(run.errorText).toMatch(/"inner" was begun inside the step "outer"/)
  })

  it('beside another at the same time is fine', async () => {
    const run = await runOnce(async (r) => {
      const both = await Promise.all([r.step('a', () => 1), r.step('b', () => 2)])
      return { result: both }
    })
    expect(run.result).toBe('[1,2]')
  })

  it('of which the result is larger than 256 KB fails, and says what to do', async () => {
    const run = await runOnce(async (r) => {
      await r.step('big', () => 'x'.repeat(262_144))
    })
    expect(run).toMatchObject({ state: 'failed', errorCode: 'step_result_too_large' })
    expect(run.errorText).toContain('Store it elsewhere')
  })

  it('whose result is no JSON fails, and says so', async () => {
    const run = await runOnce(async (r) => {
      await r.step('bad', () => 1n)
    })
    expect(run.errorCode).toBe('step_result_not_json')
  })

  it.each([null, 7, undefined])('with %s for its options is refused', async (options) => {
    const run = await runOnce(async (r) => {
      await r.step('a', options as unknown as object, () => 1)
    })
    expect(run).toMatchObject({ state: 'failed', errorCode: 'step_option' })
  })

  it('with its options after the function is refused with the right order', async () => {
    const run = await runOnce(async (r) => {
      await r.step('a', (() => 1) as never, { retries: 1 } as never)
    })
    expect(run.errorText).toContain('The order is run.step(name, options, function)')
  })

  it('with an unknown option is refused, with the nearest one', async () => {
    const run = await runOnce(async (r) => {
      await r.step('a', { retires: 1 } as object, () => 1)
    })
    expect(run.errorText).toContain('Did you mean "retries"?')
  })
})

describe('a step that throws', () => {
  it('is tried again, and then its result counts', async () => {
    let calls = 0
    const run = await runOnce(async (r) => {
      const result = await r.step('a', { retries: 1 }, () => {
        if (++calls === 1) throw new Error('once')
        return calls
      })
      return { result }
    })
    expect(run).toMatchObject({ state: 'succeeded', result: '2' })
  })

  it('says in the log which try failed and when the next one is', async () => {
    const lines: string[] = []
    const log = pino({ base: null }, { write: (line: string) => void lines.push(line) })
    let calls = 0
    const work: RunHandler = async (r) => {
      await r.step('model', { retries: 2 }, () => {
        if (++calls < 3) throw new Error(`no answer ${calls}`)
        return calls
      })
    }
    const run = await runOnce(work, { log })
    const tries = lines
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter(({ msg }) => msg === 'A try of a step failed; trying again')
    const about = { level: 40, run_id: run.id, step: 'model', tries_max: 3 }
    expect(tries).toMatchObject([
      { ...about, tries: 1, next_try_ms: 1000, err: { message: 'Error: no answer 1' } },
      { ...about, tries: 2, next_try_ms: 2000, err: { message: 'Error: no answer 2' } },
    ])
  })

  it('for the last time fails for good, and the handler may catch that', async () => {
    const run = await runOnce(async (r) => {
      const failed = await r
        .step('a', { retries: 0 }, () => Promise.reject(new Error('no')))
        .then(
          () => 'done',
          (error: unknown) => (error as Error).message,
        )
      return { result: failed }
    })
    expect(run.result).toBe('"the step \\"a\\" failed: Error: no"')
  })

  it('with the policy hold waits for a person, unless it says that nothing was done', async () => {
    const run = await runOnce(async (r) => {
      const first = r.step('a', { inDoubt: 'hold', retries: 0 }, () => {
        throw new StepNotDone('refused')
      })
      await first.catch(() => undefined)
      await r.step('b', { inDoubt: 'hold' }, () => Promise.reject(new Error('cut off')))
    })
    expect(run.state).toBe('waiting')
    const steps = await world?.store.steps.list(run.id, null)
    expect(steps?.map(({ name, state }) => [name, state])).toEqual([
      ['a', 'failed'],
      ['b', 'held'],
    ])
  })

  it('with the policy confirm is asked for twice before it is done again', async () => {
    const asked: string[] = []
    let calls = 0
    const run = await runOnce(async (r) => {
      const confirm = (): 'not-done' => {
        asked.push('?')
        return 'not-done'
      }
      const result = await r.step('a', { inDoubt: 'confirm', confirm, retries: 1 }, () => {
        if (++calls === 1) throw new Error('cut off')
        return calls
      })
      return { result }
    })
    expect(run.result).toBe('2')
    expect(asked).toHaveLength(2)
  })

  it('with the policy confirm is not done again when it was done', async () => {
    let calls = 0
    const run = await runOnce(async (r) => {
      const confirm = () => ({ done: 'found' })
      const result = await r.step('a', { inDoubt: 'confirm', confirm }, () => {
        calls++
        throw new Error('cut off')
      })
      return { result }
    })
    expect(run.result).toBe('"found"')
    expect(calls).toBe(1)
  })
})
