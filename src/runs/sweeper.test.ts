// Goal: one pass of the sweeper sweeps all runs that are due, also if one of them fails.
import { expect, it } from 'vitest'
import type { Run } from '../domain/run.ts'
import { systemScheduler } from '../scheduler.ts'
import { createSweeper } from './sweeper.ts'

const minute = 60_000
const hour = 60 * minute
const say = (): void => undefined
const log = { debug: say, info: say, warn: say, error: say }

/** A store with these due runs; `sweep` says what happens to each. */
function sweeperOver(due: string[], sweep: (id: string) => Run | null, serves = true) {
  const reported: string[][] = []
  const asked: string[] = []
  const served: { at: number | null } = { at: null }
  const store = {
    now: () => hour,
    upkeep: { watch: async () => undefined, servedAt: async () => served.at },
    runs: {
      due: async (limit: number) => due.slice(0, limit),
      sweep: async (id: string) => {
        asked.push(id)
        const run = sweep(id)
        due.splice(due.indexOf(id), 1)
        return run === null ? null : { ...run, id }
      },
    },
  }
  const onSwept = (runs: readonly Run[]): void => void reported.push(runs.map(({ id }) => id))
  const sweeper = createSweeper({ store, scheduler: systemScheduler, log, serves, onSwept })
  return { sweeper, reported, asked, served }
}

const swept = { state: 'failed', errorCode: 'no_worker' } as Run

it('the sweeper sweeps due runs and reports them', async () => {
  const { sweeper, reported } = sweeperOver(['a', 'b'], () => swept)
  await sweeper.kick()
  expect(reported).toEqual([['a', 'b']])
})

it('a run that cannot be swept does not stop the others', async () => {
  const { sweeper, reported } = sweeperOver(['a', 'bad', 'c'], (id) => {
    if (id === 'bad') throw new Error('no')
    return swept
  })
  await sweeper.kick()
  expect(reported).toEqual([['a', 'c']])
})

it('the sweeper continues in batches until no run is due', async () => {
  const due = Array.from({ length: 250 }, (_, n) => `run ${n}`)
  const { sweeper, reported } = sweeperOver(due, () => swept)
  await sweeper.kick()
  expect(reported.map(({ length }) => length)).toEqual([100, 100, 50])
})

it('the sweeper tries a failing run once per pass, and gets to the runs behind it', async () => {
  const due = Array.from({ length: 250 }, (_, n) => `run ${n}`)
  const { sweeper, reported, asked } = sweeperOver(due, (id) => {
    if (Number(id.slice(4)) < 150) throw new Error('no')
    return swept
  })
  await sweeper.kick()
  expect(reported.flat()).toHaveLength(100)
  expect(asked).toHaveLength(250)
})

it('the sweeper does nothing while a server is active on the store', async () => {
  const { sweeper, asked, served } = sweeperOver(['a'], () => swept, false)
  served.at = hour - 9 * minute
  await sweeper.kick()
  expect(asked).toEqual([])
})

it('the sweeper works when the last server has been away for long', async () => {
  const { sweeper, asked, served } = sweeperOver(['a'], () => swept, false)
  served.at = hour - 11 * minute
  await sweeper.kick()
  expect(asked).toEqual(['a'])
})
