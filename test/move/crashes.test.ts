/**
 * Goal: a move that dies at any moment loses nothing, and the same command finishes it. At no
 * moment can both stores be opened.
 * Method: let it die after every commit, look at both stores, and run it again. `kills` does the
 * same with real processes.
 */
import { describe, expect, it } from 'vitest'
import type { MoveProgress } from '../../src/stores/move/move-terms.ts'
import { pull } from './filled-store.ts'
import { at, useMoveWorld } from './move-world.ts'

const world = useMoveWorld()

it('dies after each commit, one after the other, and is complete in the end', async () => {
  await world().fill()
  await world().dieAt(at('begun'))
  expect(await world().openable()).toEqual({ source: true, target: false })
  const tables = ['audit', 'author', 'budget', 'delivery', 'delivery_attempt', 'head_check']
  for (const table of tables) {
    // An earlier try has copied the tables before it, so this is the first thing that it does.
    const [first] = await world().dieAt(at('copying'))
    expect(first).toMatchObject({ what: 'copying', table })
    expect(await world().openable()).toEqual({ source: true, target: false })
  }
  const rest = await world().dieAt(at('verifying'))
  expect(rest.filter(({ what }) => what === 'copying')).not.toEqual([])
  expect(await world().openable()).toEqual({ source: true, target: false })
  const compared = await world().dieAt(at('copied'))
  expect(compared.filter(({ what }) => what === 'copying')).toEqual([])
  expect(await world().openable()).toEqual({ source: true, target: false })
  expect(await world().dieAt(at('marked'))).toEqual([{ what: 'marked' }])
  expect(await world().openable()).toEqual({ source: false, target: false })
  expect(await world().dieAt(at('released'))).toEqual([{ what: 'released' }])
  expect(await world().openable()).toEqual({ source: false, target: true })
  const answer = await world().move()
  expect(answer).toMatchObject({ outcome: 'already' })
  expect(answer.tables.find(({ table }) => table === 'run')?.rows).toBe(7)
  expect(await world().there('SELECT count(*)::int AS n FROM run')).toEqual([{ n: 7 }])
  const target = await world().target()
  expect((await target.runs.claim(pull(1, 'a'), null)).reason).toBe('duplicate')
}, 60_000)

it('continues inside a large table', async () => {
  await world().fill()
  world().here(`INSERT INTO audit (at, type, actor, data)
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3500)
    SELECT i, 'run.claimed', 'test', '{}' FROM n`)
  const rows = (steps: readonly MoveProgress[]) =>
    steps.flatMap((step) => (step.what === 'copying' ? [step.rows] : []))
  expect(rows(await world().dieAt(at('copying')))).toEqual([1000])
  expect(rows(await world().dieAt(at('copying')))).toEqual([2000])
  expect(rows(await world().dieAt((step) => step.what === 'copying' && step.rows > 3000))).toEqual([
    3000,
    expect.any(Number),
  ])
  expect((await world().move()).outcome).toBe('moved')
})

describe('a source that was used between two tries', () => {
  it.each(['copying', 'copied'] as const)('by a server, after %s, is refused', async (what) => {
    await world().fill()
    await world().dieAt(at(what))
    const server = world().source()
    await server.upkeep.beat()
    await server.close()
    await expect(world().move()).rejects.toMatchObject({
      code: 'source_changed',
      hint: expect.stringContaining('--undo'),
    })
    expect(await world().openable()).toEqual({ source: true, target: false })
    expect(await world().undo()).toMatchObject({ outcome: 'undone' })
    expect((await world().move()).outcome).toBe('moved')
  })

  it('by a program that embeds the library is refused', async () => {
    await world().fill()
    await world().dieAt(at('copying'))
    const program = world().source(undefined, false)
    await program.runs.claim(pull(99, 'a'), null)
    await program.close()
    await expect(world().move()).rejects.toMatchObject({ code: 'source_changed' })
  })

  it.each([
    ['verifying', 'move_mismatch'],
    ['copied', 'source_changed'],
  ] as const)('without a trace, after %s, is found by comparing', async (what, code) => {
    await world().fill()
    await world().dieAt(at(what))
    world().here('UPDATE run SET lease_expires_at = lease_expires_at + 1')
    await expect(world().move()).rejects.toMatchObject({ code })
    expect(await world().openable()).toEqual({ source: true, target: false })
  })
})

describe('a target that was changed is found by comparing', () => {
  it.each([
    ['another value', 'UPDATE run SET attempt = attempt + 1 WHERE pr = 1', 'run'],
    [
      'a missing row',
      'DELETE FROM marker_key WHERE id = (SELECT min(id) FROM marker_key)',
      'marker',
    ],
    ['a missing last row', 'DELETE FROM author', 'author'],
    ['one row more', "INSERT INTO author VALUES ('app', 1, 1)", 'author'],
    ['one row more at the end', "INSERT INTO author VALUES ('zzz', 1, 1)", 'author'],
    ['a row in an empty table', "INSERT INTO told_name VALUES ('a', 'b')", 'told_name'],
    ['another byte', "UPDATE inbox_body SET body = body || '\\x00'::bytea", 'inbox_body'],
    ['another place in the order', 'UPDATE audit SET seq = 1000 WHERE id = 3', 'audit: id 3'],
    ['an empty text for none', "UPDATE run SET worker = '' WHERE pr = 1", 'run'],
  ])('%s', async (_what, statement, place) => {
    await world().fill()
    await world().dieAt(at('verifying'))
    await world().there(statement)
    await expect(world().move()).rejects.toMatchObject({
      code: 'move_mismatch',
      message: expect.stringContaining(place),
    })
    expect(await world().openable()).toEqual({ source: true, target: false })
  })

  it('another store that began there meanwhile is noticed', async () => {
    await world().fill()
    await world().dieAt(at('verifying'))
    await world().there("INSERT INTO store_state VALUES ('mode', 'live')")
    await expect(world().move()).rejects.toMatchObject({ code: 'target_changed' })
    expect(await world().openable()).toEqual({ source: true, target: false })
  })

  it('rows that are there before they are copied are noticed', async () => {
    await world().fill()
    await world().dieAt(at('begun'))
    await world().there("INSERT INTO author VALUES ('user', 7, 1)")
    await expect(world().move()).rejects.toMatchObject({
      code: 'target_changed',
      message: expect.stringContaining('author'),
    })
  })
})
