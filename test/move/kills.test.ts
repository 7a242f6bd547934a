/**
 * Goal: SIGKILL at any moment of a move leaves two stores of which at most one can be opened, and
 * the next process finishes the move.
 * Method: real processes that kill themselves in the middle, and the locks that the system frees.
 */
import { afterEach, expect, it } from 'vitest'
import { startChild, type Child } from '../chaos/child.ts'
import { pull } from './filled-store.ts'
import type { MoveConfig } from './move-program.ts'
import { useMoveWorld } from './move-world.ts'

const world = useMoveWorld()
let children: Child[] = []
afterEach(async () => {
  await Promise.all(children.map((child) => child.kill()))
  children = []
})

async function start(what: string, nth: number, dies = true): Promise<Child> {
  const { path, database } = world()
  const config: MoveConfig = { path, url: database.url, at: { what, nth }, dies }
  const child = startChild('../move/move-program.ts', config)
  children.push(child)
  await child.ready
  child.go()
  return child
}

async function fill(): Promise<void> {
  await world().fill()
  world().here(`INSERT INTO audit (at, type, actor, data)
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12000)
    SELECT i, 'run.claimed', 'test', '{}' FROM n`)
}

it('is killed after each of its commits, and finished by the next process', async () => {
  await fill()
  const deaths = [
    ['begun', 1, true],
    ['copying', 1, true],
    ['copying', 5, true],
    ['copying', 12, true],
    ['verifying', 3, true],
    ['copied', 1, true],
    ['marked', 1, false],
    ['released', 1, false],
  ] as const
  for (const [what, nth, isSourceOpen] of deaths) {
    const child = await start(what, nth)
    await child.ended
    expect(child.process.signalCode, what).toBe('SIGKILL')
    const target = what === 'released'
    expect(await world().openable(), what).toEqual({ source: isSourceOpen, target })
  }
  const last = await start('none', 1)
  expect(await last.report).toEqual({ outcome: 'already' })
  const [{ n } = { n: 0 }] = await world().there(
    'SELECT count(*)::int AS n, min(seq)::int AS first FROM audit',
  )
  expect(n).toBeGreaterThan(12_000)
  const target = await world().target()
  expect((await target.runs.claim(pull(2, 'a'), null)).reason).toBe('duplicate')
}, 120_000)

it('is killed in the middle of a transaction, and finished by the next process', async () => {
  await fill()
  for (let round = 0; round < 6; round++) {
    const child = await start('copying', 2, false)
    expect(await child.report).toEqual({ at: 'copying' })
    // It has begun the next batch by now, or has finished it.
    await child.kill()
    expect(await world().openable()).toEqual({ source: true, target: false })
  }
  const last = await start('none', 1)
  expect(await last.report).toEqual({ outcome: 'moved' })
  expect(await world().openable()).toEqual({ source: false, target: true })
}, 120_000)
